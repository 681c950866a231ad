/** Events that activities can subscribe to (spec/activities.md#7). */

import { ACTIVITY_EVENT_SCOPES, RpcErrorCode } from "../../generated/rpc.js";
import { RelationshipType } from "../../generated/enums.js";
import { requestAsApp } from "./app_requests.js";
import { RpcError } from "./errors.js";
import { readArguments, snowflake } from "./validation.js";
import { hasScopes } from "./scopes.js";
import * as payloads from "./payloads.js";

const SUBSCRIPTIONS_MAX = 64;

/** Every event: the argument that selects its subject, and the function that builds its current payload. */
const EVENTS = Object.freeze({
  ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE: {
    currentPayload: async session => ({ participants: await payloads.participants(session) }),
  },
  ACTIVITY_LAYOUT_MODE_UPDATE: { currentPayload: session => ({ layout_mode: session.layout() }) },
  ORIENTATION_UPDATE: { currentPayload: screenOrientation },
  THERMAL_STATE_UPDATE: { currentPayload: () => ({ thermal_state: 0 }) },
  VOICE_STATE_UPDATE: { subject: "channel_id" },
  // Activities can subscribe to SPEAKING_START, SPEAKING_STOP and ACTIVITY_JOIN, but the client does not send them.
  SPEAKING_START: { subject: "channel_id" },
  SPEAKING_STOP: { subject: "channel_id" },
  CURRENT_USER_UPDATE: { currentPayload: currentUser },
  CURRENT_GUILD_MEMBER_UPDATE: {
    subject: "guild_id",
    currentPayload: ({ context }, subjectId) => payloads.member(context, subjectId),
  },
  RELATIONSHIP_UPDATE: {},
  ENTITLEMENT_CREATE: {},
  ACTIVITY_JOIN: {},
});

/** Return the current user; `premium_type` is 0 unless the app's token may read it. */
async function currentUser({ context, token }) {
  const account = await requestAsApp(token, "/users/@me").catch(() => null);
  return payloads.user(context.me, account?.premium_type ?? 0);
}

function screenOrientation() {
  const isPortrait = window.matchMedia("(orientation: portrait)").matches;
  return { screen_orientation: isPortrait ? 0 : 1, orientation: isPortrait ? "portrait" : "landscape" };
}

/** The subscriptions of one activity. */
export class Subscriptions {
  #session;
  #send;
  #subscribed = new Set();
  #voiceChannelIds = new Map();
  #cleanups = [];

  /** @param {(evt: string, data: object) => void} send */
  constructor(session, send) {
    this.#session = session;
    this.#send = send;
    const { gateway, state } = session.context;
    this.#on(session.instances, "change", () => this.#sendCurrent("ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE"));
    this.#on(window, "resize", () => this.#sendCurrent("ORIENTATION_UPDATE"));
    this.#on(gateway, "USER_UPDATE", () => this.#sendCurrent("CURRENT_USER_UPDATE"));
    this.#on(gateway, "GUILD_MEMBER_UPDATE", ({ detail }) => {
      if (detail.user.id === state.me.id) this.#sendCurrent("CURRENT_GUILD_MEMBER_UPDATE", detail.guild_id);
    });
    this.#on(gateway, "VOICE_STATE_UPDATE", ({ detail }) => {
      // A user who leaves has no channel, so notify the subscribers of the previous one.
      const subjectId = detail.channel_id ?? this.#voiceChannelIds.get(detail.user_id);
      this.#voiceChannelIds.set(detail.user_id, detail.channel_id);
      if (this.#has("VOICE_STATE_UPDATE", subjectId))
        send("VOICE_STATE_UPDATE", payloads.voiceState(session.context, detail));
    });
    for (const name of ["RELATIONSHIP_ADD", "RELATIONSHIP_UPDATE", "RELATIONSHIP_REMOVE"]) {
      this.#on(gateway, name, ({ detail }) => {
        const type = name === "RELATIONSHIP_REMOVE" ? RelationshipType.NONE : detail.type;
        if (this.#has("RELATIONSHIP_UPDATE"))
          send("RELATIONSHIP_UPDATE", payloads.relationship(session.context, { ...detail, type }));
      });
    }
    this.#on(gateway, "PRESENCE_UPDATE", ({ detail }) => {
      const relationship = state.relationships.get(detail.user.id);
      if (relationship && this.#has("RELATIONSHIP_UPDATE"))
        send("RELATIONSHIP_UPDATE", payloads.relationship(session.context, relationship));
    });
    this.#on(gateway, "ENTITLEMENT_CREATE", ({ detail }) => {
      const isOwn = detail.application_id === session.application.id && detail.user_id === state.me.id;
      if (isOwn && this.#has("ENTITLEMENT_CREATE"))
        send("ENTITLEMENT_CREATE", { entitlement: payloads.entitlement(detail) });
    });
  }

  /**
   * Subscribe to an event and send its current payload, if it has one. Throw an RpcError if a scope is missing or the
   * limit is reached.
   */
  add(evt, args) {
    const { key, event, subjectId } = this.#read(evt, args);
    if (!hasScopes(ACTIVITY_EVENT_SCOPES[evt], this.#session.scopes)) {
      throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope");
    }
    if (this.#subscribed.size >= SUBSCRIPTIONS_MAX && !this.#subscribed.has(key))
      throw new RpcError(RpcErrorCode.RATE_LIMITED, "Too many subscriptions");
    this.#subscribed.add(key);
    if (evt === "VOICE_STATE_UPDATE")
      for (const voiceState of this.#session.context.state.voiceStatesIn(subjectId))
        this.#voiceChannelIds.set(voiceState.user_id, subjectId);
    // Send the initial payload after the response, because activities expect the response first.
    if (event.currentPayload) setTimeout(() => this.#sendCurrent(evt, subjectId));
    return { evt };
  }

  /** Unsubscribe from an event. */
  remove(evt, args) {
    this.#subscribed.delete(this.#read(evt, args).key);
    return { evt };
  }

  /** Send ACTIVITY_LAYOUT_MODE_UPDATE after the layout mode of the frame changed. */
  sendLayoutMode() {
    this.#sendCurrent("ACTIVITY_LAYOUT_MODE_UPDATE");
  }

  /** Remove all subscriptions, because a new handshake starts without any. */
  clear() {
    this.#subscribed.clear();
    this.#voiceChannelIds.clear();
  }

  /** Remove all subscriptions and stop listening for events. */
  end() {
    this.clear();
    for (const cleanUp of this.#cleanups.splice(0)) cleanUp();
  }

  #on(target, name, listener) {
    target.addEventListener(name, listener);
    this.#cleanups.push(() => target.removeEventListener(name, listener));
  }

  #has(evt, subjectId) {
    return this.#subscribed.has(`${evt}:${subjectId ?? ""}`);
  }

  /** Send an event with its current payload, if the activity subscribed to it. */
  async #sendCurrent(evt, subjectId) {
    if (!this.#has(evt, subjectId)) return;
    const data = await EVENTS[evt].currentPayload(this.#session, subjectId);
    if (this.#has(evt, subjectId)) this.#send(evt, data);
  }

  /**
   * Validate an event name and its arguments; return the event, the subscription key and the ID of its guild or
   * channel, if it has one.
   */
  #read(evt, args) {
    const event = typeof evt === "string" && Object.hasOwn(EVENTS, evt) ? EVENTS[evt] : null;
    if (!event) {
      // An object may have no conversion to a string.
      const name = typeof evt === "string" ? evt.slice(0, 64) : typeof evt;
      throw new RpcError(RpcErrorCode.INVALID_EVENT, `Invalid event: ${name}`);
    }
    if (!event.subject) return { key: `${evt}:`, event };
    const { state } = this.#session.context;
    if (evt.startsWith("SPEAKING") && args?.lobby_id)
      return { key: `${evt}:${readArguments(args, { lobby_id: snowflake }).lobby_id}`, event };
    const subjectId = readArguments(args, { [event.subject]: snowflake }, event.subject)[event.subject];
    if (event.subject === "guild_id" && !state.guilds.has(subjectId))
      throw new RpcError(RpcErrorCode.INVALID_GUILD, "Invalid guild id");
    if (event.subject === "channel_id" && !state.channels.has(subjectId))
      throw new RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id");
    return { key: `${evt}:${subjectId}`, event, subjectId };
  }
}
