// Unmodified @xhayper/discord-rpc: shows an activity until the end of its input.
import { Client } from "@xhayper/discord-rpc";

const client = new Client({ clientId: process.argv[2], transport: { type: "ipc" } });
const say = (name, data) => console.log(JSON.stringify({ name, data }));

client.on("ready", async () => {
  say("ready", client.user.username);
  const kept = await client.user.setActivity({
    state: "In a puddle",
    details: "Jumping",
    startTimestamp: 1794999000000,
    partyId: "party-1",
    partySize: 1,
    partyMax: 4,
    buttons: [{ label: "Watch", url: "https://puddle.example" }],
  });
  say("shown", kept);
  await client.subscribe("ACTIVITY_JOIN");
  say("subscribed", null);
});

process.stdin.resume();
process.stdin.on("end", async () => {
  await client.user.clearActivity();
  say("cleared", null);
  await client.destroy();
  process.exit(0);
});

await client.login();
