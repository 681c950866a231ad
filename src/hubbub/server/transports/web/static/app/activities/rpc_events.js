/** Events that activities can subscribe to (spec/activities.md#7). */

import { RpcError, RpcErrorCode } from "./rpc_errors.js";
import { args, snowflake } from "./rpc_validation.js";
import { hasScopes } from "./scopes.js";
import * as views from "./rpc_payloads.js";

const SUBSCRIPTIONS_MAX = 64;

/** Every event: required scopes, the argument that selects its subject, and the initial payload. */
const EVENTS = Object.freeze({
  ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE: {
    first: async session => ({ participants: await views.participants(session) }),
  },
  ACTIVITY_LAYOUT_MODE_UPDATE: { first: session => ({ layout_mode: session.layout() }) },
  ORIENTATION_UPDATE: { first: orientation },
  THERMAL_STATE_UPDATE: { first: () => ({ thermal_state: 0 }) },
  VOICE_STATE_UPDATE: { about: "channel_id", needs: ["rpc.voice.read"] },
  // The client receives no audio, so it never emits these (decisions/0057).
  SPEAKING_START: { about: "channel_id", needs: ["rpc.voice.read"] },
  SPEAKING_STOP: { about: "channel_id", needs: ["rpc.voice.read"] },
  CURRENT_USER_UPDATE: { needs: ["identify"], first: ({ context }) => views.user(context.me) },
  CURRENT_GUILD_MEMBER_UPDATE: {
    about: "guild_id",
    needs: ["identify", "guilds.members.read"],
    first: ({ context }, about) => views.member(context, about),
  },
  RELATIONSHIP_UPDATE: { needs: ["relationships.read"] },
  ENTITLEMENT_CREATE: { needs: ["rpc.authenticated"] },
  ACTIVITY_JOIN: {},
});

function orientation() {
  const portrait = window.matchMedia("(orientation: portrait)").matches;
  return { screen_orientation: portrait ? 0 : 1, orientation: portrait ? "portrait" : "landscape" };
}

/** The subscriptions of one activity. */
export class Subscriptions {
  #session;
  #send;
  #subscribed = new Set();
  #voiceChannels = new Map();
  #removers = [];

  /** @param {(evt: string, data: object) => void} send */
  constructor(session, send) {
    this.#session = session;
    this.#send = send;
    const { gateway, state } = session.context;
    this.#on(session.instances, "change", () => this.#resend("ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE"));
    this.#on(window, "resize", () => this.#resend("ORIENTATION_UPDATE"));
    this.#on(gateway, "USER_UPDATE", () => this.#resend("CURRENT_USER_UPDATE"));
    this.#on(gateway, "GUILD_MEMBER_UPDATE", ({ detail }) => {
      if (detail.user.id === state.me.id) this.#resend("CURRENT_GUILD_MEMBER_UPDATE", detail.guild_id);
    });
    this.#on(gateway, "VOICE_STATE_UPDATE", ({ detail }) => {
      // When a user leaves, notify subscribers of the channel they left.
      const about = detail.channel_id ?? this.#voiceChannels.get(detail.user_id);
      this.#voiceChannels.set(detail.user_id, detail.channel_id);
      if (this.#has("VOICE_STATE_UPDATE", about)) send("VOICE_STATE_UPDATE", views.voiceState(session.context, detail));
    });
    for (const name of ["RELATIONSHIP_ADD", "RELATIONSHIP_UPDATE", "RELATIONSHIP_REMOVE"]) {
      this.#on(gateway, name, ({ detail }) => {
        const type = name === "RELATIONSHIP_REMOVE" ? 0 : detail.type;
        if (this.#has("RELATIONSHIP_UPDATE"))
          send("RELATIONSHIP_UPDATE", views.relationship(session.context, { ...detail, type }));
      });
    }
    this.#on(gateway, "PRESENCE_UPDATE", ({ detail }) => {
      const known = state.relationships.get(detail.user.id);
      if (known && this.#has("RELATIONSHIP_UPDATE"))
        send("RELATIONSHIP_UPDATE", views.relationship(session.context, known));
    });
    this.#on(gateway, "ENTITLEMENT_CREATE", ({ detail }) => {
      const own = detail.application_id === session.application.id && detail.user_id === state.me.id;
      if (own && this.#has("ENTITLEMENT_CREATE"))
        send("ENTITLEMENT_CREATE", { entitlement: views.entitlement(detail) });
    });
  }

  /** Subscribe to an event. Subscribing twice has no further effect. */
  add(evt, payload) {
    const { key, event, about } = this.#read(evt, payload);
    if (!hasScopes(event.needs, this.#session.scopes)) {
      throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope");
    }
    if (this.#subscribed.size >= SUBSCRIPTIONS_MAX && !this.#subscribed.has(key))
      throw new RpcError(RpcErrorCode.RATE_LIMITED, "Too many subscriptions");
    this.#subscribed.add(key);
    if (evt === "VOICE_STATE_UPDATE")
      for (const voiceState of this.#session.context.state.voiceStatesIn(about))
        this.#voiceChannels.set(voiceState.user_id, about);
    // Send the initial payload after the response, because activities expect the response first.
    if (event.first) setTimeout(() => this.#resend(evt, about));
    return { evt };
  }

  /** Unsubscribe from an event. */
  remove(evt, payload) {
    this.#subscribed.delete(this.#read(evt, payload).key);
    return { evt };
  }

  /** Send an event after the frame was resized. */
  layoutChanged() {
    this.#resend("ACTIVITY_LAYOUT_MODE_UPDATE");
  }

  clear() {
    this.#subscribed.clear();
    this.#voiceChannels.clear();
  }

  end() {
    this.clear();
    for (const stop of this.#removers.splice(0)) stop();
  }

  #on(target, name, listener) {
    target.addEventListener(name, listener);
    this.#removers.push(() => target.removeEventListener(name, listener));
  }

  #has(evt, about) {
    return this.#subscribed.has(`${evt}:${about ?? ""}`);
  }

  async #resend(evt, about) {
    if (!this.#has(evt, about)) return;
    const data = await EVENTS[evt].first(this.#session, about);
    if (this.#has(evt, about)) this.#send(evt, data);
  }

  #read(evt, payload) {
    const event = typeof evt === "string" && Object.hasOwn(EVENTS, evt) ? EVENTS[evt] : null;
    if (!event) throw new RpcError(RpcErrorCode.INVALID_EVENT, `Invalid event: ${String(evt).slice(0, 64)}`);
    if (!event.about) return { key: `${evt}:`, event };
    const { state } = this.#session.context;
    if (evt.startsWith("SPEAKING") && payload?.lobby_id)
      return { key: `${evt}:${args(payload, { lobby_id: snowflake }).lobby_id}`, event };
    const about = args(payload, { [event.about]: snowflake }, event.about)[event.about];
    if (event.about === "guild_id" && !state.guilds.has(about))
      throw new RpcError(RpcErrorCode.INVALID_GUILD, "Invalid guild id");
    if (event.about === "channel_id" && !state.channels.has(about))
      throw new RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id");
    return { key: `${evt}:${about}`, event, about };
  }
}
