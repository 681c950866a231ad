/** The types of the package. `control.d.ts` has the types of the control API. */

import type {
  ActiveFault,
  Authorization,
  ClockState,
  CommandChoice,
  Difference,
  EventOfPerson,
  FaultResult,
  GatewayFault,
  Heard,
  HttpFault,
  InteractionResult,
  Invite,
  LintReport,
  Message,
  Operations,
  Person as PersonState,
  Played,
  Purchase,
  RateLimitReport,
  ReadyDocument,
  ReceivedMail,
  SessionState,
  TraceState,
  VoiceCredentials,
  World,
  WorldApplication,
  WorldGuild,
} from "./control.js";

export type * from "./control.js";

/** Base class of the errors of a rehearsal: the platform cannot be reached, or is not in the state that the test expects. */
export class RehearsalError extends Error {}

/** The platform could not be started. */
export class PlatformNotStarted extends RehearsalError {
  /** The end of the output of the program that was started. */
  readonly log: string;
}

/** The platform rejected a request. `cause` names the missing permission or the role above the bot, if it is known. */
export class RequestRejected extends RehearsalError {
  readonly status: number;
  readonly code: number;
  /** Errors of invalid fields, nested like the body. */
  readonly errors: Record<string, unknown>;
  readonly body: Record<string, unknown>;
}

/** An event, a response or audio did not arrive, or an unexpected event did. */
export class ExpectationFailed extends RequestRejected {
  /** Differences of the most similar event with the same name. */
  readonly differences: Difference[];
  /** The latest events of the person, or the unexpected event. */
  readonly received: EventOfPerson[];
}

type Request<Name extends keyof Operations> = (undefined extends Operations[Name]["path"]
  ? { path?: undefined }
  : { path: Operations[Name]["path"] }) &
  (undefined extends Operations[Name]["body"]
    ? { body?: Operations[Name]["body"] }
    : { body: Operations[Name]["body"] }) & { query?: Operations[Name]["query"] };

/** A client of the control API of one platform. */
export class ControlClient {
  constructor(url: string, token: string);
  readonly url: string;
  /** Call an operation of the control API by its name, such as `get_clock`. */
  call<Name extends keyof Operations>(
    operation: Name,
    ...request: Record<string, never> extends Request<Name> ? [Request<Name>?] : [Request<Name>]
  ): Promise<Operations[Name]["result"]>;
}

/** A message or the ID of a message. */
export type MessageReference = string | { id: string };

export interface InChannel {
  /**
   * Name or ID of a channel, or `@name` for direct messages. By default the channel of the person, `general` for a
   * platform, any channel for `expectMessage`, and the channel of the message for actions on a message.
   */
  channel?: string;
}

export interface Waits {
  /** Milliseconds to wait for the response; by default 10 seconds. */
  timeoutMs?: number;
  /** Whether to wait for the answer if the application defers its response; by default true. */
  waitForAnswer?: boolean;
}

/** A user of the world, who acts over the public API and receives events over a gateway session. */
export class Person {
  readonly name: string;
  /** Name or ID of the channel that actions use by default. */
  readonly channel: string;
  /** Return a copy of this person whose actions use another channel by default. */
  in(channel: string): Person;
  get(): Promise<PersonState>;
  /** Go online. Actions such as `say` and `run` connect the person too; a person receives events while connected. */
  connect(): Promise<PersonState>;
  disconnect(): Promise<PersonState>;

  /** Send a message, with files by name and other fields of the API such as `embeds`. */
  say(
    content: string,
    options?: InChannel & { files?: Record<string, Uint8Array | string>; [field: string]: unknown },
  ): Promise<Message>;
  reply(message: MessageReference, content: string, options?: InChannel & Record<string, unknown>): Promise<Message>;
  edit(message: MessageReference, content: string, options?: InChannel & Record<string, unknown>): Promise<Message>;
  delete(message: MessageReference, options?: InChannel): Promise<void>;
  /** Add a reaction: a Unicode emoji, or `name:id` of a custom one. */
  react(message: MessageReference, emoji: string, options?: InChannel): Promise<void>;
  /** Return the latest messages of a channel, newest first. */
  read(options?: InChannel & { limit?: number }): Promise<Message[]>;

  /** Return the events that the person received since it connected. */
  events(event?: string): Promise<EventOfPerson[]>;
  /** Return the payload of the next event that contains these values. Each event is returned once. */
  expect<Data = any>(event: string, fields?: Record<string, unknown>, options?: { timeoutMs?: number }): Promise<Data>;
  /** Return the next message that matches; `author` is the name of a user or an application. */
  expectMessage(
    match?: InChannel & { author?: string; content?: string; timeoutMs?: number; [field: string]: unknown },
  ): Promise<Message>;
  /** Fail if an earlier action caused such an event, unless `expect` has already returned it. */
  expectNone(event: string, fields?: Record<string, unknown>): Promise<void>;

  /** Run a command, such as `settings show`, with options by name; return the response. */
  run(
    command: string,
    options?: Record<string, unknown>,
    settings?: InChannel & Waits & { target?: MessageReference; application?: string },
  ): Promise<InteractionResult>;
  /** Type text in an option; return the autocomplete choices. */
  complete(
    command: string,
    option: string,
    typed: string,
    settings?: InChannel & { options?: Record<string, unknown>; application?: string; timeoutMs?: number },
  ): Promise<CommandChoice[]>;
  /** Click a button by custom_id or label, by default of the latest message that has it. */
  click(button: string, settings?: InChannel & Waits & { message?: MessageReference }): Promise<InteractionResult>;
  /** Choose values in a select by custom_id or placeholder. */
  choose(
    select: string,
    values: string | string[],
    settings?: InChannel & Waits & { message?: MessageReference },
  ): Promise<InteractionResult>;
  /** Submit a modal, by default the latest one, with values by custom_id or label of its fields. */
  submit(
    fields: Record<string, unknown>,
    settings?: Waits & { modal?: string | { id: string } },
  ): Promise<InteractionResult>;

  /** Create an invite, with fields of the API such as `max_age`. */
  invite(options?: InChannel & Record<string, unknown>): Promise<Invite>;
  join(invite: string | { code: string }): Promise<Invite>;
  befriend(user: string | Person): Promise<void>;
  /** Authorize an application, as on its consent page; other options are parameters of the URL. */
  authorize(
    application: string,
    options?: { scopes?: string[]; guild?: string; permissions?: string } & Record<string, unknown>,
  ): Promise<Authorization>;
  buy(sku: string, options?: { guild?: string }): Promise<Purchase>;

  joinVoice(
    channel: string,
    options?: { selfMute?: boolean; selfDeaf?: boolean; audio?: boolean },
  ): Promise<VoiceCredentials>;
  leaveVoice(): Promise<void>;
  /** Play an Ogg Opus file in the call, in real time. */
  play(file: Uint8Array, options?: { timeoutMs?: number }): Promise<Played>;
  /** Record the audio of a user or bot in the call; without `user`, of any speaker. */
  hear(options?: {
    user?: string;
    durationMs?: number;
    quietMs?: number;
    timeoutMs?: number;
  }): Promise<Omit<Heard, "file"> & { file: Buffer }>;

  /** Send any request to the public API with this person's token. */
  request<Result = any>(method: string, path: string, body?: unknown): Promise<Result>;
}

export interface Duration {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
}

/** The clock of a platform. Each method returns its state. */
export class Clock {
  get(): Promise<ClockState>;
  set(now: Date | string): Promise<ClockState>;
  /** Advance the time by a duration or by milliseconds, and wait until all work that became due has run. */
  advance(duration: Duration | number): Promise<ClockState>;
  freeze(): Promise<ClockState>;
  resume(): Promise<ClockState>;
}

type FaultOptions = Partial<Omit<HttpFault, "transport" | "effect">> & { user?: string };

/** Fault injection. HTTP faults occur once, or as often as `times`; `times: null` means always. */
export class Faults {
  /** Add a fault of the control API. `user` is the name of a user or an application. */
  add(fault: (HttpFault | GatewayFault) & { user?: string }): Promise<FaultResult>;
  fail(method?: string, route?: string, status?: number, options?: FaultOptions): Promise<FaultResult>;
  rateLimit(method?: string, route?: string, retryAfter?: number, options?: FaultOptions): Promise<FaultResult>;
  drop(method?: string, route?: string, options?: FaultOptions): Promise<FaultResult>;
  delay(method?: string, route?: string, delayMs?: number, options?: FaultOptions): Promise<FaultResult>;
  closeSession(user?: string, code?: number): Promise<FaultResult>;
  dropSession(user?: string): Promise<FaultResult>;
  invalidateSession(user?: string, options?: { resumable?: boolean }): Promise<FaultResult>;
  rejectIdentify(user?: string, code?: number, times?: number | null): Promise<FaultResult>;
  list(): Promise<ActiveFault[]>;
  remove(id: string): Promise<void>;
  clear(): Promise<void>;
}

/** A snapshot of a platform, which a test can restore, delete or fork. */
export class Snapshot {
  readonly id: string;
  /** Platform time of the snapshot. */
  readonly at: string;
  readonly bytes: number;
  /** Restore data, files and time. All gateway sessions end. */
  restore(): Promise<ClockState>;
  delete(): Promise<void>;
}

export type RateLimits = "off" | "real" | "report";

/** A running platform: its URLs, the people of its world, its clock, faults and snapshots. */
export class Platform {
  ready: ReadyDocument;
  readonly api: string;
  readonly gateway: string;
  readonly web: string;
  readonly cdn: string;
  readonly channel: string;
  readonly control: ControlClient;
  readonly clock: Clock;
  readonly faults: Faults;
  /** Return the person with a name. An unknown name fails at the first action. */
  person(name: string, options?: InChannel): Person;
  /** Return an application of the world with its credentials. */
  application(name: string): WorldApplication;
  /** Return the token of an application's bot; throw a RehearsalError if it has none. */
  botToken(name: string): string;
  /** Return a guild of the world with the IDs of its channels and roles. */
  guild(name: string): WorldGuild;
  /** Create a user without guilds. */
  addPerson(username: string, options?: { globalName?: string; password?: string }): Promise<Person>;
  /** Read the ready document again, with worlds and users that were added. */
  refresh(): Promise<ReadyDocument>;
  /** Add a world: the path of a world file, or an object of the same shape. */
  loadWorld(world: string | World, options?: { seed?: number }): Promise<ReadyDocument>;
  snapshot(): Promise<Snapshot>;
  /** Start a second platform from the current state or a snapshot; close it when the test ends. */
  fork(options?: { snapshot?: string | Snapshot; now?: Date | string; rateLimits?: RateLimits }): Promise<Platform>;
  sessions(): Promise<SessionState[]>;
  /** Return when all events of earlier actions have been sent. */
  settle(): Promise<void>;
  mail(options?: { to?: string }): Promise<ReceivedMail[]>;
  setTrace(on: boolean): Promise<TraceState>;
  trace(options?: { event?: string; userId?: string; after?: number }): Promise<TraceState>;
  rateLimits(): Promise<RateLimitReport>;
  /** Return the problems that the rehearsal found in applications; `LintFinding` lists the kinds. */
  report(): Promise<LintReport>;
  /** Return the end of the platform's output; empty if another program started it. */
  log(): string;
  /** Stop the platform or the fork. A platform that another program started keeps running. */
  close(): Promise<void>;
}

export interface StartOptions extends InChannel {
  /**
   * Program and arguments that run `hubbub`; by default `REHEARSAL_COMMAND`, else the first that is installed of
   * hubbub, uvx, pipx, docker and podman.
   */
  command?: string | string[];
  /** Container image; if it is set, and neither `command` nor `REHEARSAL_COMMAND`, the platform runs in a container. */
  image?: string;
  /** Path of a world file instead of the demo world. */
  world?: string;
  seed?: number;
  /** Platform time at the start; by default the machine's time. */
  now?: Date | string;
  rateLimits?: RateLimits;
  /** Additional arguments of `hubbub dev`. */
  args?: string[];
  /** Environment of the program, by default the environment of this process. Variables that start with `HUBBUB_` are removed. */
  env?: Record<string, string | undefined>;
  /** Milliseconds until the start fails; by default two minutes. */
  startTimeoutMs?: number;
}

/** Start a platform in a process of its own, which ends with this process. */
export function startPlatform(options?: StartOptions): Promise<Platform>;

/** Connect to a running platform; by default the platform whose ready file is named in `REHEARSAL_READY_FILE`. */
export function connectPlatform(ready?: string | ReadyDocument, options?: InChannel): Promise<Platform>;
