// Steps of a library's bot: they run in order, and each writes its result as one line of JSON. The first argument of a bot is
// JSON with the keys token, api, guild, channel, voice, role and image, a PNG in Base64. A bot ends when its stdin is closed.

export const settings = JSON.parse(process.argv[2]);
export const image = Buffer.from(settings.image, "base64");
// The emoji of the reaction for which a user gets the role.
export const emoji = "🎉";
// Start and end of the scheduled event that a bot creates.
export const eventStart = new Date(Date.now() + 30 * 86_400_000).toISOString();
export const eventEnd = new Date(Date.parse(eventStart) + 7_200_000).toISOString();

// Write a line of JSON to stdout.
export function report(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

export async function runSteps(steps) {
  for (const [step, run] of Object.entries(steps)) {
    try {
      report({ step, result: await run() });
    } catch (error) {
      report({ step, error: `${error.stack}` });
    }
  }
  report({ step: "done", result: null });
}

process.stdin.on("end", () => process.exit(0)).resume();
