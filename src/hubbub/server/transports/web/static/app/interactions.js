/** What a person asks of apps, and what becomes of it: asked over HTTP, answered by events with the same nonce (decisions/0030). */

/** Kinds of interactions, as the wire numbers them. */
export const RUN = 2;
export const USE = 3;
export const COMPLETE = 4;
export const SUBMIT = 5;

/** The app has three seconds, and the platform a quarter more to say so; after this long nothing will come at all. */
const LOST_MS = 15_000;
const KEPT = 200;
/** Events of a channel and of a person may overtake each other by a little. */
const RECENT_MS = 2_000;

const REASONS = new Map([
  [1, "The app’s answer could not be used."],
  [2, "The app did not answer in time."],
  [3, "This app is gone."],
  [4, "This channel is gone."],
  [5, "This guild is gone."],
  [8, "Activities are not played in channels of this kind."],
  [9, "Activities are not played in the channel for people who are away."],
  [13, "You may not launch activities here."],
  [14, "This app has no activity."],
  [17, "The activity could not be launched. It may be full."],
  [18, "You have no access to this channel."],
]);

/** What was asked came to nothing. */
export class InteractionFailed extends Error {
  /** @param {number} reason the wire's `reason_code` */
  constructor(reason) {
    super(REASONS.get(reason) ?? "This interaction failed.");
    this.name = "InteractionFailed";
    this.reason = reason;
  }
}

let count = 0;

/** A word that no other question of this page has. */
export function nonce() {
  count += 1;
  return `${Date.now()}${String(count % 1000).padStart(3, "0")}`;
}

/**
 * Everything that this session asked and that is not answered yet.
 * Says `state` (detail: a key) when what is shown for a key changes, and `modal` (detail: the form) when an app shows one.
 */
export class Interactions extends EventTarget {
  #gateway;
  #api;
  #waiting = new Map();
  #states = new Map();
  #recent = [];

  constructor(api, gateway) {
    super();
    this.#api = api;
    this.#gateway = gateway;
    gateway.addEventListener("INTERACTION_SUCCESS", ({ detail }) => this.#settle(detail, { kind: "success" }));
    gateway.addEventListener("INTERACTION_FAILURE", ({ detail }) => this.#fail(detail, new InteractionFailed(detail.reason_code)));
    gateway.addEventListener("INTERACTION_MODAL_CREATE", ({ detail }) => {
      // A modal can outlive what it answers, but nobody is shown one that they did not ask for.
      if (this.#settle(detail, { kind: "modal", modal: detail })) this.#say("modal", detail);
    });
    gateway.addEventListener("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE", ({ detail }) =>
      this.#settle(detail, { kind: "choices", choices: detail.choices }),
    );
  }

  /**
   * Ask an app something.
   * @param {{channelId: string, guildId?: string|null}} context where
   * @param {{type: number, applicationId: string, data: object, messageId?: string, files?: File[], key?: string}} question
   *   `key` names what waits for it on the page
   * @returns {Promise<{kind: "success"|"modal"|"choices", choices?: object[], modal?: object}>}
   *   rejected with ApiError where the platform refuses, with InteractionFailed where the app does not answer
   */
  async ask(context, { type, applicationId, data, messageId, files, key }) {
    const word = nonce();
    const json = {
      type,
      application_id: applicationId,
      channel_id: context.channelId,
      session_id: this.#gateway.sessionId,
      nonce: word,
      data,
    };
    if (context.guildId) json.guild_id = context.guildId;
    if (messageId) json.message_id = messageId;
    const answer = new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail({ nonce: word }, new InteractionFailed(2)), LOST_MS);
      this.#waiting.set(word, { resolve, reject, timer, key, applicationId, channelId: context.channelId });
    });
    // It may be refused before anybody waits for it.
    answer.catch(() => {});
    if (key) this.#mark(key, "waiting");
    try {
      await this.#api.request("POST", "/interactions", { json, files });
    } catch (error) {
      this.#fail({ nonce: word }, error);
    }
    return answer;
  }

  /** What is shown for a key: "waiting", a sentence that says what went wrong, or undefined. */
  state(key) {
    return this.#states.get(key);
  }

  /** Whether an app was asked something in a channel just now: what it starts there was wanted. */
  awaits(applicationId, channelId) {
    this.#recent = this.#recent.filter(({ until }) => until > Date.now());
    return [...this.#waiting.values(), ...this.#recent].some(each => each.applicationId === applicationId && each.channelId === channelId);
  }

  /** Forget what went wrong with a message. */
  forget(prefix) {
    for (const [key, state] of this.#states) {
      if (key.startsWith(prefix) && state !== "waiting") this.#mark(key, undefined);
    }
  }

  #take({ nonce: word }) {
    const found = this.#waiting.get(String(word));
    if (!found) return null;
    this.#waiting.delete(String(word));
    clearTimeout(found.timer);
    return found;
  }

  #settle(note, outcome) {
    const found = this.#take(note);
    if (!found) return false;
    if (found.key) this.#mark(found.key, undefined);
    this.#recent.push({ applicationId: found.applicationId, channelId: found.channelId, until: Date.now() + RECENT_MS });
    found.resolve(outcome);
    return true;
  }

  #fail(note, error) {
    const found = this.#take(note);
    if (!found) return;
    if (found.key) this.#mark(found.key, error.message || "This interaction failed.");
    found.reject(error);
  }

  #mark(key, state) {
    this.#states.delete(key);
    if (state !== undefined) this.#states.set(key, state);
    if (this.#states.size > KEPT) this.#states.delete(this.#states.keys().next().value);
    this.#say("state", key);
  }

  #say(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

const known = new WeakMap();

/** The one of a connection. */
export function interactionsOf({ api, gateway }) {
  if (!known.has(gateway)) known.set(gateway, new Interactions(api, gateway));
  return known.get(gateway);
}
