// Runs one discord.js client for a test. The first argument is a JSON object with the keys token, api, cdn and options.
// Each line on stdin is a request, {"id", "step", "args"}. The lines on stdout are results, {"id", "result"} or
// {"id", "error"}, and events of the client, {"event", "data"}. The end of stdin ends the client.

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
  ws: { buildStrategy },
});

// Set the compression of the gateway connections. With ZlibStream the library uses zlib-stream if the zlib-sync package is
// installed, and compressed payloads otherwise. It compresses by default if that package is installed, so an uncompressed
// connection must be configured.
function buildStrategy(manager) {
  manager.options.compression = settings.options?.compresses ? CompressionMethod.ZlibStream : null;
  return new SimpleShardingStrategy(manager);
}

function writeLine(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

for (const [event, toPlainData] of Object.entries(events)) {
  client.on(event, (...args) => {
    const data = toPlainData(...args);
    if (data !== undefined) writeLine({ event, data });
  });
}

async function handleRequest({ id, step, args }) {
  try {
    const runStep = steps[step] ?? (await import("./voice.mjs")).voiceSteps[step];
    writeLine({ id, result: (await runStep(client, args)) ?? null });
  } catch (error) {
    writeLine({
      id,
      error: { name: error.name, code: error.code ?? null, status: error.status ?? null, message: error.stack },
    });
  }
}

createInterface({ input: process.stdin })
  .on("line", line => handleRequest(JSON.parse(line)))
  .on("close", async () => {
    await client.destroy();
    process.exit(0);
  });

try {
  await client.login(settings.token);
} catch (error) {
  writeLine({ event: "loginFailed", data: { code: error.code, message: error.message } });
}
