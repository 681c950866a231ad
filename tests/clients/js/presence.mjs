// A program with unmodified @xhayper/discord-rpc, which `tests/agent/test_discord_rpc.py` runs. It sets an activity, and clears
// it at the end of stdin. Lines on stdout are {"name", "data"}.
import { Client } from "@xhayper/discord-rpc";

const client = new Client({ clientId: process.argv[2], transport: { type: "ipc" } });
const writeLine = (name, data) => console.log(JSON.stringify({ name, data }));

client.on("ready", async () => {
  writeLine("ready", client.user.username);
  const activity = await client.user.setActivity({
    state: "In a puddle",
    details: "Jumping",
    startTimestamp: 1794999000000,
    partyId: "party-1",
    partySize: 1,
    partyMax: 4,
    buttons: [{ label: "Watch", url: "https://puddle.example" }],
  });
  writeLine("activity_set", activity);
  await client.subscribe("ACTIVITY_JOIN");
  writeLine("subscribed", null);
});

process.stdin.resume();
process.stdin.on("end", async () => {
  await client.user.clearActivity();
  writeLine("cleared", null);
  await client.destroy();
  process.exit(0);
});

await client.login();
