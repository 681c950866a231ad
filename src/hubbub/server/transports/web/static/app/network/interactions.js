/** Interactions: sent over HTTP, settled by gateway events with the same nonce (decisions/0030). */

import { InteractionType } from "../generated/enums.js";
import { t } from "../ui/translation.js";

export const {
  APPLICATION_COMMAND,
  MESSAGE_COMPONENT,
  APPLICATION_COMMAND_AUTOCOMPLETE: AUTOCOMPLETE,
  MODAL_SUBMIT,
} = InteractionType;

/** Time after which an interaction without an event fails. The app has 3 seconds, and the server reports a timeout soon after. */
const TIMEOUT_MS = 15_000;
const STATES_MAX = 200;
/** Time for which a resolved interaction still counts as awaited: events of a channel and of a user arrive in any order. */
const RECENT_MS = 2_000;

/** Value of `reason_code` for an app that did not respond in time. */
const APP_TIMED_OUT = 2;
/** Texts by the `reason_code` of INTERACTION_FAILURE. */
const FAILURE_TEXTS = new Map([
  [1, t("The app sent an invalid response.")],
  [APP_TIMED_OUT, t("The app did not respond in time.")],
  [3, t("This app no longer exists.")],
  [4, t("This channel no longer exists.")],
  [5, t("This guild no longer exists.")],
  [8, t("Activities are not available in this type of channel.")],
  [9, t("Activities are not available in the AFK channel.")],
  [13, t("You do not have permission to launch activities in this channel.")],
  [14, t("This app has no activity.")],
  [17, t("The activity could not be launched. It may be full.")],
  [18, t("You do not have access to this channel.")],
]);

/** An interaction that the app or the server could not complete. */
export class InteractionFailed extends Error {
  /** @param {number} reasonCode the `reason_code` of the event */
  constructor(reasonCode) {
    super(FAILURE_TEXTS.get(reasonCode) ?? t("This interaction failed."));
    this.name = "InteractionFailed";
    this.reasonCode = reasonCode;
  }
}

let nonceCount = 0;

/** Return a nonce that is unique on this page. */
export function createInteractionNonce() {
  nonceCount += 1;
  return `${Date.now()}${String(nonceCount % 1000).padStart(3, "0")}`;
}

/**
 * The pending interactions of this session.
 *
 * Dispatches `state` (detail: a key) when the status of a key changes, and `modal` (detail: the form) when an app opens one.
 */
export class Interactions extends EventTarget {
  #gateway;
  #api;
  #pending = new Map();
  #states = new Map();
  #recentlyResolved = [];

  constructor(api, gateway) {
    super();
    this.#api = api;
    this.#gateway = gateway;
    gateway.addEventListener("INTERACTION_SUCCESS", ({ detail }) => this.#resolve(detail, { kind: "success" }));
    gateway.addEventListener("INTERACTION_FAILURE", ({ detail }) =>
      this.#fail(detail, new InteractionFailed(detail.reason_code)),
    );
    gateway.addEventListener("INTERACTION_MODAL_CREATE", ({ detail }) => {
      // Open a modal only if it is the response to an interaction of this session.
      if (this.#resolve(detail, { kind: "modal", modal: detail })) this.#emit("modal", detail);
    });
    gateway.addEventListener("APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE", ({ detail }) =>
      this.#resolve(detail, { kind: "choices", choices: detail.choices }),
    );
  }

  /**
   * Send an interaction to an app.
   *
   * @param {{channelId: string, guildId?: string|null}} context
   * @param {{type: number, applicationId: string, data: object, messageId?: string, files?: File[], key?: string}} request
   *   `key` identifies the component whose status changes
   * @returns {Promise<{kind: "success"|"modal"|"choices", choices?: object[], modal?: object}>}
   *   rejects with ApiError if the server rejects it, with InteractionFailed if the app fails or does not respond
   */
  async send(context, { type, applicationId, data, messageId, files, key }) {
    const nonce = createInteractionNonce();
    const json = {
      type,
      application_id: applicationId,
      channel_id: context.channelId,
      session_id: this.#gateway.sessionId,
      nonce,
      data,
    };
    if (context.guildId) json.guild_id = context.guildId;
    if (messageId) json.message_id = messageId;
    const response = new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail({ nonce }, new InteractionFailed(APP_TIMED_OUT)), TIMEOUT_MS);
      this.#pending.set(nonce, { resolve, reject, timer, key, applicationId, channelId: context.channelId });
    });
    // Avoid an unhandled rejection before the caller awaits the promise.
    response.catch(() => {});
    if (key) this.#setState(key, "waiting");
    try {
      await this.#api.request("POST", "/interactions", { json, files });
    } catch (error) {
      this.#fail({ nonce }, error);
    }
    return response;
  }

  /** Return the status of a key: "waiting", an error message, or undefined. */
  state(key) {
    return this.#states.get(key);
  }

  /** Return whether this session awaits, or has just received, the response of an app in a channel. */
  isAwaiting(applicationId, channelId) {
    this.#recentlyResolved = this.#recentlyResolved.filter(({ until }) => until > Date.now());
    return [...this.#pending.values(), ...this.#recentlyResolved].some(
      interaction => interaction.applicationId === applicationId && interaction.channelId === channelId,
    );
  }

  /** Remove the errors of all keys with a prefix. */
  clearErrors(prefix) {
    for (const [key, state] of this.#states) {
      if (key.startsWith(prefix) && state !== "waiting") this.#setState(key, undefined);
    }
  }

  #take({ nonce }) {
    const pendingInteraction = this.#pending.get(String(nonce));
    if (!pendingInteraction) return null;
    this.#pending.delete(String(nonce));
    clearTimeout(pendingInteraction.timer);
    return pendingInteraction;
  }

  #resolve(event, outcome) {
    const pendingInteraction = this.#take(event);
    if (!pendingInteraction) return false;
    if (pendingInteraction.key) this.#setState(pendingInteraction.key, undefined);
    this.#recentlyResolved.push({
      applicationId: pendingInteraction.applicationId,
      channelId: pendingInteraction.channelId,
      until: Date.now() + RECENT_MS,
    });
    pendingInteraction.resolve(outcome);
    return true;
  }

  #fail(event, error) {
    const pendingInteraction = this.#take(event);
    if (!pendingInteraction) return;
    if (pendingInteraction.key) this.#setState(pendingInteraction.key, error.message || t("This interaction failed."));
    pendingInteraction.reject(error);
  }

  #setState(key, state) {
    this.#states.delete(key);
    if (state !== undefined) this.#states.set(key, state);
    if (this.#states.size > STATES_MAX) this.#states.delete(this.#states.keys().next().value);
    this.#emit("state", key);
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

const interactionsByGateway = new WeakMap();

/** Return the interactions of a gateway connection. */
export function getInteractions({ api, gateway }) {
  if (!interactionsByGateway.has(gateway)) interactionsByGateway.set(gateway, new Interactions(api, gateway));
  return interactionsByGateway.get(gateway);
}
