// Compiled, not run: types of the package as a TypeScript program uses them.

import { type Message, type Platform, RequestRejected, connectPlatform, startPlatform } from "hubbub-rehearsal";

export async function useTypes(): Promise<void> {
  const platform: Platform = await startPlatform({ command: ["hubbub"], now: new Date(), rateLimits: "report" });
  const alice = platform.person("alice");
  const message: Message = await alice.say("hello", { embeds: [{ title: "Card" }] });
  const { message: response, modal } = await alice.run("panel", { title: "x" }, { channel: "general", timeoutMs: 100 });
  const text: string | undefined = response?.content ?? modal?.title;
  await alice.click("Count", { message });
  const event = await alice.expect<{ content: string }>("MESSAGE_CREATE", { content: text });
  const trimmed: string = event.content.trim();
  await platform.clock.advance({ minutes: 1 });
  await platform.faults.fail("POST", "/channels/{channel_id}/messages", 503, { times: null, user: "demo-bot" });
  const { now_ms: now } = await platform.control.call("get_clock");
  await platform.control.call("create_token", { path: { user_id: platform.ready.users.alice.id } });
  await platform.control.call("advance_clock", { body: { ms: now } });
  const fork = await platform.fork({ snapshot: await platform.snapshot() });
  await fork.close();
  await (await connectPlatform()).close();
  const error: unknown = trimmed;
  if (error instanceof RequestRejected) console.log(error.status, error.cause);

  // @ts-expect-error The control API has no such operation.
  await platform.control.call("get_clok");
  // @ts-expect-error The body is required.
  await platform.control.call("advance_clock");
  // @ts-expect-error The unit does not exist.
  await platform.clock.advance({ weeks: 1 });
  // @ts-expect-error A message has no such field.
  message.contents;
}
