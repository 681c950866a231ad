// Tests of the example bot with the test runner of Node.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startPlatform } from "hubbub-rehearsal";
import { startBot } from "../bot.mjs";

let platform;
let bot;

before(async () => {
  platform = await startPlatform({ world: fileURLToPath(new URL("../world.toml", import.meta.url)) });
  // An application must respond within three seconds of platform time. With a frozen clock, slow machines meet this limit.
  await platform.clock.freeze();
  bot = await startBot({
    token: platform.botToken("dice-bot"),
    api: `${platform.web}/api`,
    cdn: platform.cdn,
    roleId: platform.guild("Tavern").roles.players,
  });
});

after(async () => {
  await bot?.destroy();
  await platform?.close();
});

test("The panel counts clicks", async () => {
  const alice = platform.person("alice");

  const { message } = await alice.run("panel", { title: "Press me" });

  assert.equal(message.content, "Press me");
  assert.equal((await alice.click("Count")).message.content, "pressed 1 times");
  assert.equal((await alice.click("Count", { message })).message.content, "pressed 2 times");
});

test("A user sends feedback", async () => {
  const bob = platform.person("bob");

  const { modal } = await bob.run("feedback");
  assert.equal(modal.title, "Feedback");

  assert.equal((await bob.submit({ Text: "More dice" })).message.content, "Thank you: More dice");
});

test("A reaction gives the role", async () => {
  const [alice, bob] = [platform.person("alice"), platform.person("bob")];
  const rules = await alice.say("React with 🎲 to play");

  await bob.react(rules, "🎲");

  const { roles } = await bob.expect("GUILD_MEMBER_UPDATE", { user: { username: "bob" } });
  assert.deepEqual(roles, [platform.guild("Tavern").roles.players]);
});

test("The bot reconnects", async () => {
  await platform.faults.closeSession("dice-bot");
  await platform.faults.fail("POST", "/interactions/{interaction_id}/{interaction_token}/callback", 503);

  const { message } = await platform.person("alice").run("panel", { title: "Still there" });

  assert.equal(message.content, "Still there");
});
