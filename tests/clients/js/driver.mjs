// Runs one discord.js client for the tests beside it. The first argument is JSON: token, api, cdn, options of the client.
// Each line on stdin, {"id", "step", "args"}, requests a step. Lines on stdout are its result, {"id", "result"} or
// {"id", "error"}, and the client's events, {"event", "data"}. The end of stdin ends the client.

import { createInterface } from "node:readline";
import { Client, GatewayIntentBits, Partials } from "discord.js";
import { CompressionMethod, SimpleShardingStrategy } from "@discordjs/ws";
import { events } from "./events.mjs";
import { steps } from "./steps.mjs";

const settings = JSON.parse(process.argv[2]);
const client = new Client({
  intents: Object.values(GatewayIntentBits).filter(bit => typeof bit === "number"),
  partials: [Partials.Channel, Partials.Message, Partials.Reaction, Partials.GuildMember, Partials.User],
  ...settings.options?.client,
  rest: { api: settings.api, cdn: settings.cdn, version: "10" },
  ws: { buildStrategy: strategy },
});

// With compression: zlib-stream if the zlib-sync package is installed, compressed payloads otherwise. The library compresses
// by default if it finds that package, so uncompressed connections have to be configured.
function strategy(manager) {
  manager.options.compression = settings.options?.compresses ? CompressionMethod.ZlibStream : null;
  return new SimpleShardingStrategy(manager);
}

function writeLine(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

for (const [event, describe] of Object.entries(events)) {
  client.on(event, (...args) => {
    const data = describe(...args);
    if (data !== undefined) writeLine({ event, data });
  });
}

async function run({ id, step, args }) {
  try {
    const doing = steps[step] ?? (await import("./voice.mjs")).voiceSteps[step];
    writeLine({ id, result: (await doing(client, args)) ?? null });
  } catch (error) {
    writeLine({
      id,
      error: { name: error.name, code: error.code ?? null, status: error.status ?? null, message: error.stack },
    });
  }
}

createInterface({ input: process.stdin })
  .on("line", line => run(JSON.parse(line)))
  .on("close", async () => {
    await client.destroy();
    process.exit(0);
  });

try {
  await client.login(settings.token);
} catch (error) {
  writeLine({ event: "loginFailed", data: { code: error.code, message: error.message } });
}
