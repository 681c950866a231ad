// Tests of the small bot with the library named in BOT_LIBRARY, written with the rehearsal package. `test_rehearsal_js.py`
// runs them. With REHEARSAL_READY_FILE the platform runs already, otherwise the package starts it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connectPlatform, startPlatform } from "../../../packages/rehearsal-js/src/index.js";
import { STARTERS } from "./small_bots.mjs";

const { BOT_LIBRARY, REHEARSAL_READY_FILE, SMALL_BOT_WORLD } = process.env;
let platform;
let stopBot;

before(async () => {
  platform = REHEARSAL_READY_FILE ? await connectPlatform() : await startPlatform({ world: SMALL_BOT_WORLD });
  await platform.clock.freeze();
  const tavern = platform.guild("Tavern");
  stopBot = await STARTERS[BOT_LIBRARY]({
    token: platform.botToken("small-bot"),
    api: platform.api,
    applicationId: platform.application("small-bot").id,
    guildId: tavern.id,
    roleId: tavern.roles.players,
    voiceId: tavern.channels.Cellar,
  });
});

after(async () => {
  await stopBot?.();
  await platform?.close();
});

test("The bot answers a command", async () => {
  const { message } = await platform.person("alice").run("greet", { name: "Ann" });
  assert.equal(message.content, "hello Ann");
});

test("A button edits its message", async () => {
  const alice = platform.person("alice");
  await alice.run("panel");
  assert.equal((await alice.click("Press")).message.content, "pressed");
});

test("A modal is answered", async () => {
  const alice = platform.person("alice");
  assert.equal((await alice.run("ask")).modal.title, "Question");
  assert.equal((await alice.submit({ Answer: "42" })).message.content, "answer: 42");
});

test("A reaction gives a role", async () => {
  const [alice, bob] = [platform.person("alice"), platform.person("bob")];
  await bob.react(await alice.say("React to play"), "🎲");
  const { roles } = await bob.expect("GUILD_MEMBER_UPDATE", { user: { username: "bob" } });
  assert.deepEqual(roles, [platform.guild("Tavern").roles.players]);
});

test("The bot joins a voice channel", async () => {
  const alice = platform.person("alice");
  assert.equal((await alice.run("join")).message.content, "joined");
  const { channel_id } = await alice.expect("VOICE_STATE_UPDATE", {
    user_id: platform.application("small-bot").bot.id,
  });
  assert.equal(channel_id, platform.guild("Tavern").channels.Cellar);
});
