/** A running platform and its parts: starting, connecting, people, worlds, snapshots, forks, clock, faults and diagnostics. */

import { readFile } from "node:fs/promises";
import { ControlClient } from "./control.js";
import { PlatformNotStarted, RehearsalError } from "./errors.js";
import { Person } from "./person.js";
import { startProcess } from "./process.js";

const UNIT_MS = { milliseconds: 1, seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

/** Start a platform in a process of its own. */
export async function startPlatform({ channel, ...options } = {}) {
  const platformProcess = await startProcess(options);
  return new Platform(platformProcess.ready, {
    channel,
    stop: () => platformProcess.stop(),
    log: () => platformProcess.log(),
  });
}

/** Connect to a platform that is already running, by its ready document or the path of its ready file. */
export async function connectPlatform(ready = process.env.REHEARSAL_READY_FILE, { channel } = {}) {
  if (ready === undefined) {
    throw new TypeError("Pass a ready document or the path of a ready file, or set REHEARSAL_READY_FILE.");
  }
  if (typeof ready !== "string") return new Platform(ready, { channel });
  try {
    return new Platform(JSON.parse(await readFile(ready, "utf8")), { channel });
  } catch (error) {
    throw new PlatformNotStarted(`The ready file ${ready} cannot be read.`, "", { cause: error });
  }
}

/** A running platform: its URLs, the people of its world, its clock, faults and snapshots. */
export class Platform {
  #stop;
  #log;

  constructor(ready, { channel = "general", stop = async () => {}, log = () => "" } = {}) {
    if (!ready.control) throw new RehearsalError("This platform has no control API. Start it with hubbub dev.");
    this.ready = ready;
    this.channel = channel;
    this.control = new ControlClient(ready.control, ready.control_token);
    this.clock = new Clock(this.control);
    this.faults = new Faults(this);
    this.#stop = stop;
    this.#log = log;
  }

  get api() {
    return this.ready.api;
  }

  get gateway() {
    return this.ready.gateway;
  }

  get web() {
    return this.ready.web;
  }

  get cdn() {
    return this.ready.cdn;
  }

  /** Return the person with a name. An unknown name fails at the first action. */
  person(name, { channel = this.channel } = {}) {
    return new Person(this.control, name, channel);
  }

  /** Return an application of the world with its credentials. */
  application(name) {
    return requireNamed(this.ready.applications, "application", name);
  }

  /** Return the token of an application's bot; throw a RehearsalError if it has none. */
  botToken(name) {
    const { bot } = this.application(name);
    if (!bot) throw new RehearsalError(`The application ${name} has no bot.`);
    return bot.token;
  }

  /** Return a guild of the world with the IDs of its channels and roles. */
  guild(name) {
    return requireNamed(this.ready.guilds, "guild", name);
  }

  /** Create a user without guilds; return the person. */
  async addPerson(username, { globalName, password } = {}) {
    await this.control.call("create_person", { body: { username, global_name: globalName, password } });
    await this.refresh();
    return this.person(username);
  }

  /** Read the ready document again, with worlds and users that were added. */
  async refresh() {
    this.ready = { ...this.ready, ...(await this.control.call("get_ready_document")) };
    return this.ready;
  }

  /** Add a world: the path of a world file, or an object of the same shape. */
  async loadWorld(world, { seed } = {}) {
    const request = { query: { seed } };
    if (typeof world === "string") {
      request.data = await readFile(world, "utf8");
      request.contentType = "application/toml";
    } else {
      request.body = world;
    }
    const addedObjects = await this.control.call("load_world", request);
    await this.refresh();
    return addedObjects;
  }

  // Snapshots and forks

  /** Take a snapshot of data, files and time. */
  async snapshot() {
    return new Snapshot(this.control, await this.control.call("create_snapshot"));
  }

  /** Start a second platform from the current state or a snapshot; close it when the test ends. */
  async fork({ snapshot, now, rateLimits } = {}) {
    const body = {
      snapshot_id: typeof snapshot === "object" ? snapshot.id : snapshot,
      now: now === undefined ? undefined : isoTime(now),
      rate_limits: rateLimits,
    };
    const ready = await this.control.call("create_fork", { body });
    const stop = () => this.control.call("delete_fork", { path: { fork_id: ready.fork_id } });
    return new Platform(ready, { channel: this.channel, stop, log: this.#log });
  }

  // Diagnostics

  sessions() {
    return this.control.call("list_sessions");
  }

  settle() {
    return this.control.call("settle");
  }

  mail({ to } = {}) {
    return this.control.call("list_mail", { query: { to } });
  }

  setTrace(on) {
    return this.control.call("set_trace", { body: { on } });
  }

  trace({ event, userId, after } = {}) {
    return this.control.call("get_trace", { query: { event, user_id: userId, after } });
  }

  rateLimits() {
    return this.control.call("get_rate_limits");
  }

  report() {
    return this.control.call("get_report");
  }

  /** Return the end of the platform's output; empty if another program started it. */
  log() {
    return this.#log();
  }

  /** Stop the platform or the fork. A platform that another program started keeps running. */
  async close() {
    const stop = this.#stop;
    this.#stop = async () => {};
    await stop();
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }
}

/** A snapshot of a platform, which a test can restore, delete or fork. */
export class Snapshot {
  #control;

  constructor(control, state) {
    this.#control = control;
    this.id = state.id;
    this.at = state.at;
    this.bytes = state.bytes;
  }

  restore() {
    return this.#control.call("restore_snapshot", { path: { snapshot_id: this.id } });
  }

  delete() {
    return this.#control.call("delete_snapshot", { path: { snapshot_id: this.id } });
  }
}

/** The clock of a platform. Each method returns its state. */
export class Clock {
  #control;

  constructor(control) {
    this.#control = control;
  }

  get() {
    return this.#control.call("get_clock");
  }

  set(now) {
    return this.#control.call("set_clock", { body: { now: isoTime(now) } });
  }

  /** Advance the time, and wait until all work that became due has run. */
  async advance(duration) {
    let ms = 0;
    for (const [unit, count] of Object.entries(typeof duration === "number" ? { milliseconds: duration } : duration)) {
      if (!(unit in UNIT_MS)) throw new TypeError(`${unit} is not one of ${Object.keys(UNIT_MS).join(", ")}.`);
      ms += count * UNIT_MS[unit];
    }
    return await this.#control.call("advance_clock", { body: { ms: Math.round(ms) } });
  }

  freeze() {
    return this.#control.call("freeze_clock");
  }

  resume() {
    return this.#control.call("resume_clock");
  }
}

/** Fault injection. HTTP faults occur once, or as often as `times`; `times: null` means always. */
export class Faults {
  #platform;

  constructor(platform) {
    this.#platform = platform;
  }

  /** Add a fault of the control API. `user` is the name of a user or an application. */
  async add({ user, ...fault }) {
    const fields = user === undefined ? fault : { ...fault, user_id: this.#userId(user) };
    return await this.#platform.control.call("create_fault", { body: fields });
  }

  fail(method, route, status = 500, options = {}) {
    return this.add({ transport: "http", effect: "status", method, route, status, ...options });
  }

  rateLimit(method, route, retryAfter = 1, options = {}) {
    return this.fail(method, route, 429, { retry_after: retryAfter, ...options });
  }

  drop(method, route, options = {}) {
    return this.add({ transport: "http", effect: "drop", method, route, ...options });
  }

  delay(method, route, delayMs = 1000, options = {}) {
    return this.add({ transport: "http", effect: "delay", method, route, delay_ms: delayMs, ...options });
  }

  closeSession(user, code = 4000) {
    return this.add({ transport: "gateway", effect: "close", user, code });
  }

  dropSession(user) {
    return this.add({ transport: "gateway", effect: "drop", user });
  }

  invalidateSession(user, { resumable = false } = {}) {
    return this.add({ transport: "gateway", effect: "invalid_session", user, resumable });
  }

  rejectIdentify(user, code = 4004, times = 1) {
    return this.add({ transport: "gateway", effect: "close", moment: "identify", user, code, times });
  }

  list() {
    return this.#platform.control.call("list_faults");
  }

  remove(id) {
    return this.#platform.control.call("delete_fault", { path: { fault_id: id } });
  }

  clear() {
    return this.#platform.control.call("delete_faults");
  }

  #userId(name) {
    const { users, applications } = this.#platform.ready;
    const id = users[name]?.id ?? applications[name]?.bot?.id;
    if (id === undefined) throw unknownName({ ...users, ...applications }, "user", name);
    return id;
  }
}

function requireNamed(objects, kind, name) {
  if (!Object.hasOwn(objects, name)) throw unknownName(objects, kind, name);
  return objects[name];
}

function unknownName(objects, kind, name) {
  return new RehearsalError(
    `This world has no ${kind} ${JSON.stringify(name)}; it has: ${Object.keys(objects).join(", ") || "none"}`,
  );
}

function isoTime(time) {
  return time instanceof Date ? time.toISOString() : time;
}
