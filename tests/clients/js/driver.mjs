// Runs one discord.js client for the tests beside it. The first argument is JSON: token, api, cdn, options of the client.
// Each line on stdin, {"id", "step", "args"}, asks for a step; lines on stdout are its answer, {"id", "result"} or
// {"id", "error"}, and what the client was told, {"event", "data"}. The end of stdin ends the client.

import { createInterface } from 'node:readline';
import { Client, GatewayIntentBits, Partials } from 'discord.js';
import { CompressionMethod, SimpleShardingStrategy } from '@discordjs/ws';
import { events } from './events.mjs';
import { steps } from './steps.mjs';

const settings = JSON.parse(process.argv[2]);
const client = new Client({
  intents: Object.values(GatewayIntentBits).filter((bit) => typeof bit === 'number'),
  partials: [Partials.Channel, Partials.Message, Partials.Reaction, Partials.GuildMember, Partials.User],
  ...settings.options?.client,
  rest: { api: settings.api, cdn: settings.cdn, version: '10' },
  ws: { buildStrategy: strategy },
});

// Compressed: zlib-stream where the zlib-sync package is installed, compressed payloads where it is not. By itself the library
// compresses wherever it finds that package, so that plain has to be said.
function strategy(manager) {
  manager.options.compression = settings.options?.compresses ? CompressionMethod.ZlibStream : null;
  return new SimpleShardingStrategy(manager);
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

for (const [event, tell] of Object.entries(events)) {
  client.on(event, (...args) => {
    const data = tell(...args);
    if (data !== undefined) say({ event, data });
  });
}

async function run({ id, step, args }) {
  try {
    const doing = steps[step] ?? (await import('./voice.mjs')).voiceSteps[step];
    say({ id, result: (await doing(client, args)) ?? null });
  } catch (error) {
    say({ id, error: { name: error.name, code: error.code ?? null, status: error.status ?? null, message: error.stack } });
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => run(JSON.parse(line)))
  .on('close', async () => {
    await client.destroy();
    process.exit(0);
  });

try {
  await client.login(settings.token);
} catch (error) {
  say({ event: 'loginFailed', data: { code: error.code, message: error.message } });
}
