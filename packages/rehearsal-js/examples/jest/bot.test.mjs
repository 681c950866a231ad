// Tests of the example bot with Jest.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { startPlatform } from "hubbub-rehearsal";
import { startBot } from "../bot.mjs";

let platform;
let bot;

beforeAll(async () => {
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

afterAll(async () => {
  await bot?.destroy();
  await platform?.close();
});

test("The panel counts clicks", async () => {
  const alice = platform.person("alice");

  const { message } = await alice.run("panel", { title: "Press me" });

  expect(message.content).toBe("Press me");
  expect((await alice.click("Count")).message.content).toBe("pressed 1 times");
  expect((await alice.click("Count", { message })).message.content).toBe("pressed 2 times");
});

test("A user sends feedback", async () => {
  const bob = platform.person("bob");

  const { modal } = await bob.run("feedback");
  expect(modal.title).toBe("Feedback");

  expect((await bob.submit({ Text: "More dice" })).message.content).toBe("Thank you: More dice");
});

test("A reaction gives the role", async () => {
  const [alice, bob] = [platform.person("alice"), platform.person("bob")];
  const rules = await alice.say("React with 🎲 to play");

  await bob.react(rules, "🎲");

  const { roles } = await bob.expect("GUILD_MEMBER_UPDATE", { user: { username: "bob" } });
  expect(roles).toEqual([platform.guild("Tavern").roles.players]);
});

test("The bot reconnects", async () => {
  await platform.faults.closeSession("dice-bot");
  await platform.faults.fail("POST", "/interactions/{interaction_id}/{interaction_token}/callback", 503);

  const { message } = await platform.person("alice").run("panel", { title: "Still there" });

  expect(message.content).toBe("Still there");
});
