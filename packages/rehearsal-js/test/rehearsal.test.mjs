// Tests of the package with a platform: messages, expectations, clock, invites, faults, snapshots, worlds, operations,
// interactions, voice and purchases.

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ExpectationFailed, RehearsalError, RequestRejected, startPlatform } from "hubbub-rehearsal";
import { COMMAND } from "./programs.mjs";

const DEMO_WORLD = fileURLToPath(new URL("../../../src/hubbub/server/worlds/demo.toml", import.meta.url));
const EMPTY_WORLD = fileURLToPath(new URL("empty.toml", import.meta.url));
const WORLD = fileURLToPath(new URL("../examples/world.toml", import.meta.url));
/** An Ogg Opus file with three packets of 20 ms. */
const OGG_FILE = Buffer.from(
  [
    "T2dnUwACAAAAAAAAAAABAAAAAAAAAJqRqaEBE09wdXNIZWFkAQIAAIC7AAAAAABPZ2dTAAAAAAAAAAAAAAEAAAABAAAAko1oGgEW",
    "T3B1c1RhZ3MGAAAAaHViYnViAAAAAE9nZ1MAAMADAAAAAAAAAQAAAAIAAAB+6DNpAQT8AAAAT2dnUwAAgAcAAAAAAAABAAAAAwAA",
    "APZwZDQBBPwBAQFPZ2dTAARACwAAAAAAAAEAAAAEAAAA4GjonQEE/AICAg==",
  ].join(""),
  "base64",
);
let basePlatform;
let emptySnapshot;

before(async () => {
  basePlatform = await startPlatform({ command: COMMAND, world: EMPTY_WORLD });
  emptySnapshot = await basePlatform.snapshot();
  await basePlatform.loadWorld(DEMO_WORLD);
});
after(() => basePlatform?.close());

/** Start a fork of the platform for one test, and close it after the test. */
async function fork(context, options) {
  const platform = await basePlatform.fork(options);
  context.after(() => platform.close());
  return platform;
}

test("People exchange messages and reactions", async context => {
  const platform = await fork(context);
  const [alice, bob] = [platform.person("alice"), platform.person("bob")];
  await bob.connect();

  const sentMessage = await alice.say("hello", { files: { "a.txt": "text" }, embeds: [{ title: "Card" }] });
  assert.equal(sentMessage.attachments[0].filename, "a.txt");
  assert.equal(sentMessage.embeds[0].title, "Card");
  assert.equal((await bob.expectMessage({ author: "alice", content: "hello" })).id, sentMessage.id);

  const reply = await bob.reply(sentMessage, "hi");
  assert.equal((await alice.expect("MESSAGE_CREATE", { content: "hi" })).id, reply.id);
  assert.equal((await bob.edit(reply, "hi!")).content, "hi!");
  await alice.react(reply, "👍");
  assert.equal((await bob.expect("MESSAGE_REACTION_ADD")).message_id, reply.id);
  await bob.delete(reply);
  assert.deepEqual(
    (await alice.read({ limit: 2 })).map(message => message.id),
    [sentMessage.id],
  );
  await alice.expectNone("GUILD_BAN_ADD");
  assert.ok((await bob.events("MESSAGE_CREATE")).length > 0);
  assert.equal((await alice.in("@bob").say("only you")).content, "only you");
});

test("An expectation that is not met lists what differs", async context => {
  const platform = await fork(context);
  const bob = platform.person("bob");
  await bob.connect();
  await platform.person("alice").say("helo");
  await assert.rejects(bob.expectMessage({ content: "hello", timeoutMs: 200 }), error => {
    assert.ok(error instanceof ExpectationFailed);
    assert.deepEqual(error.differences, [{ path: "content", expected: "hello", received: "helo" }]);
    assert.ok(error.received.some(({ event, data }) => event === "MESSAGE_CREATE" && data.content === "helo"));
    return true;
  });
  await assert.rejects(bob.expect("MESAGE_CREATE"), /did you mean 'MESSAGE_CREATE'/);
});

test("A rejected request has its cause", async context => {
  const platform = await fork(context);
  await assert.rejects(platform.person("bob", { channel: "staff" }).say("hello"), error => {
    assert.ok(error instanceof RequestRejected);
    assert.equal(error.status, 403);
    assert.match(error.cause, /bob lacks the permission VIEW_CHANNEL in #staff/);
    assert.match(
      error.message,
      /403 Missing Access \(code 50001\)\n {2}bob lacks the permission VIEW_CHANNEL in #staff\.$/,
    );
    return true;
  });
  await assert.rejects(platform.person("alice").say("x".repeat(3000)), /content: Must be 2000 or fewer/);
  await assert.rejects(platform.clock.set("soon"), error => error.code === 50035 && "now" in error.errors);
});

test("The clock is controlled", async context => {
  const platform = await fork(context, { now: new Date("2031-05-01T12:00:00Z") });
  assert.equal((await platform.clock.freeze()).running, false);
  const { now_ms: start } = await platform.clock.get();
  assert.equal((await platform.clock.advance({ minutes: 30, seconds: 1 })).now_ms, start + 1_801_000);
  assert.equal((await platform.clock.advance(500)).now_ms, start + 1_801_500);
  assert.match((await platform.clock.set("2032-01-01T00:00:00Z")).now, /^2032-01-01/);
  assert.equal((await platform.clock.resume()).running, true);
  await assert.rejects(platform.clock.advance({ weeks: 1 }), /weeks is not one of/);
});

test("Invites expire with the clock", async context => {
  const platform = await fork(context);
  const dora = await platform.addPerson("dora", { globalName: "Dora" });
  const invite = await platform.person("alice").invite({ max_age: 1800 });
  await platform.clock.advance({ minutes: 31 });
  await assert.rejects(dora.join(invite), /Unknown Invite/);
  const acceptedInvite = await dora.join(await platform.person("alice").invite());
  assert.equal(acceptedInvite.guild.name, "Town Square");
  await dora.befriend("bob");
});

test("Faults fail requests and close sessions", async context => {
  const platform = await fork(context);
  const alice = platform.person("alice");
  await platform.faults.fail("POST", "/channels/{channel_id}/messages", 503, { user: "alice" });
  await assert.rejects(alice.say("hello"), error => error.status === 503);
  assert.equal((await alice.say("again")).content, "again");

  await platform.faults.rateLimit("POST", "/channels/{channel_id}/messages", 2.5);
  const [activeFault] = await platform.faults.list();
  assert.equal(activeFault.fault.retry_after, 2.5);
  await platform.faults.remove(activeFault.id);
  await platform.faults.drop("GET");
  await platform.faults.delay("GET", undefined, 5);
  await platform.faults.clear();
  assert.deepEqual(await platform.faults.list(), []);

  assert.equal((await platform.faults.closeSession("alice")).affected_sessions, 1);
  await alice.say("after a resume");
  await assert.rejects(platform.faults.closeSession("nobody"), /no user "nobody"; it has: alice, bob/);
});

test("Snapshots are restored, and forks are separate", async context => {
  const platform = await fork(context);
  const alice = platform.person("alice");
  const snapshot = await platform.snapshot();
  await alice.say("later");
  const copy = await platform.fork({ snapshot, rateLimits: "real" });
  assert.deepEqual(await copy.person("alice").read(), []);
  assert.notEqual(copy.web, platform.web);
  assert.equal((await copy.rateLimits()).mode, "real");
  await copy.close();
  await copy.close();
  await snapshot.restore();
  assert.deepEqual(await alice.read(), []);
  await snapshot.delete();
});

test("Worlds are loaded from a file and from an object", async context => {
  const platform = await fork(context, { snapshot: emptySnapshot });
  assert.deepEqual(Object.keys((await platform.loadWorld(WORLD, { seed: 3 })).guilds), ["Tavern"]);
  await platform.loadWorld({ users: { zoe: {} } });
  assert.equal((await platform.person("zoe").get()).name, "zoe");
  assert.ok(platform.botToken("dice-bot"));
  await assert.rejects(platform.loadWorld({ guilds: { Empty: {} } }), /guilds.Empty/);
  assert.throws(() => platform.application("dice-bt"), RehearsalError);
  assert.throws(() => platform.guild("Inn"), /it has: Tavern/);
});

test("Every operation of the control API can be called by its name", async context => {
  const platform = await fork(context);
  const { id } = platform.ready.users.bob;
  const { token } = await platform.control.call("create_token", { path: { user_id: id } });
  assert.ok(token);
  await platform.setTrace(true);
  await platform.person("alice").say("traced");
  await platform.settle();
  assert.equal((await platform.trace({ event: "MESSAGE_CREATE" })).events.length, 1);
  assert.equal((await platform.sessions()).length, 1);
  assert.deepEqual(await platform.mail(), []);
  assert.ok(Array.isArray((await platform.report()).findings));
  await assert.rejects(platform.control.call("no_such_operation"), /no operation no_such_operation/);
  assert.equal((await platform.person("bob").request("GET", "/users/@me")).username, "bob");
  const granted = await platform.person("bob").authorize("demo-game", {
    scopes: ["identify"],
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
  });
  assert.ok(granted.parameters.code);
});

/** Answer each interaction of an application over HTTP with the initial response that `respond` returns. */
async function serveInteractions(context, platform, name, respond) {
  const x = Buffer.from(platform.application(name).public_key, "hex").toString("base64url");
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const signedData = Buffer.concat([Buffer.from(request.headers["x-signature-timestamp"]), body]);
    const signature = Buffer.from(request.headers["x-signature-ed25519"], "hex");
    if (!verify(null, signedData, publicKey, signature)) return response.writeHead(401).end();
    const interaction = JSON.parse(body);
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(interaction.type === 1 ? { type: 1 } : respond(interaction)));
  });
  await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}/`;
  await sendAsBot(platform, name, "PATCH", "/applications/@me", { interactions_endpoint_url: url });
}

async function sendAsBot(platform, name, method, path, body) {
  const response = await fetch(platform.api + path, {
    method,
    headers: { Authorization: `Bot ${platform.botToken(name)}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${response.status} ${path}`);
}

test("People complete options and choose values", async context => {
  const platform = await fork(context);
  const select = {
    type: 3,
    custom_id: "color",
    placeholder: "Color",
    options: [
      { label: "Red", value: "red" },
      { label: "Blue", value: "blue" },
    ],
  };
  await serveInteractions(context, platform, "demo-bot", ({ type, data }) => {
    if (type === 4) return { type: 8, data: { choices: [{ name: "Bern", value: "bern" }] } };
    if (type === 3) return { type: 4, data: { content: `chose ${data.values.join(" and ")}` } };
    return { type: 4, data: { content: "Choose", components: [{ type: 1, components: [select] }] } };
  });
  const city = { type: 3, name: "city", description: "City", autocomplete: true };
  const command = { name: "paint", description: "Paint", options: [city] };
  await sendAsBot(
    platform,
    "demo-bot",
    "POST",
    `/applications/${platform.application("demo-bot").id}/commands`,
    command,
  );
  const alice = platform.person("alice");

  const [choice] = await alice.complete("paint", "city", "Be");
  assert.equal(choice.value, "bern");
  const { message } = await alice.run("paint", { city: choice.value });
  assert.equal(message.content, "Choose");
  assert.equal((await alice.choose("color", "blue")).message.content, "chose blue");
  assert.equal((await alice.choose("Color", ["red"], { message })).message.content, "chose red");
});

test("People join calls, play and hear", async context => {
  const platform = await fork(context);
  const [alice, bob] = [platform.person("alice"), platform.person("bob")];
  await bob.joinVoice("Lounge");
  const credentials = await alice.joinVoice("Lounge", { selfDeaf: true });
  assert.deepEqual(Object.keys(credentials).sort(), ["endpoint", "session_id", "token"]);
  await bob.expect("VOICE_STATE_UPDATE", { user_id: platform.ready.users.alice.id, self_deaf: true });

  assert.deepEqual(await alice.play(OGG_FILE), { frames: 3, duration_ms: 60 });
  const heard = await bob.hear({ user: "alice" });
  assert.deepEqual([heard.user, heard.frames], ["alice", 3]);
  assert.equal(heard.file.subarray(0, 4).toString(), "OggS");

  await alice.leaveVoice();
  await bob.expect("VOICE_STATE_UPDATE", { user_id: platform.ready.users.alice.id, channel_id: null });
  await assert.rejects(alice.leaveVoice(), /alice is not in a voice channel/);
});

test("People buy SKUs", async context => {
  const platform = await fork(context, { snapshot: emptySnapshot });
  await platform.loadWorld({
    users: { zoe: {} },
    applications: { shop: { owner: "zoe" } },
    skus: { Crown: { application: "shop", type: "durable", price: 100 } },
  });
  const { entitlement } = await platform.person("zoe").buy("Crown");
  assert.equal(entitlement.user_id, platform.ready.users.zoe.id);
  await assert.rejects(platform.person("zoe").buy("Crwon"), /did you mean 'Crown'/);
});
