/** What activities hear of, once they subscribed to it (activities.md 7). */

import { allowed } from "./activity_needs.js";
import * as views from "./activity_views.js";
import { RpcError, RpcErrorCode } from "./rpc_errors.js";
import { args, snowflake } from "./rpc_forms.js";

const SUBSCRIPTIONS_MAX = 64;

/** Every event: what it needs, which argument says what it is about, and what is told at once. */
const EVENTS = Object.freeze({
  ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE: { first: async desk => ({ participants: await views.participants(desk) }) },
  ACTIVITY_LAYOUT_MODE_UPDATE: { first: desk => ({ layout_mode: desk.layout() }) },
  ORIENTATION_UPDATE: { first: orientation },
  THERMAL_STATE_UPDATE: { first: () => ({ thermal_state: 0 }) },
  VOICE_STATE_UPDATE: { about: "channel_id", needs: ["rpc.voice.read"] },
  // The client knows who is in a call and hears none of it, so nobody is told to speak (decisions/0057).
  SPEAKING_START: { about: "channel_id", needs: ["rpc.voice.read"] },
  SPEAKING_STOP: { about: "channel_id", needs: ["rpc.voice.read"] },
  CURRENT_USER_UPDATE: { needs: ["identify"], first: ({ context }) => views.user(context.me) },
  CURRENT_GUILD_MEMBER_UPDATE: { about: "guild_id", needs: ["identify", "guilds.members.read"], first: ({ context }, about) => views.member(context, about) },
  RELATIONSHIP_UPDATE: { needs: ["relationships.read"] },
  ENTITLEMENT_CREATE: { needs: ["rpc.authenticated"] },
  ACTIVITY_JOIN: {},
});

function orientation() {
  const portrait = window.matchMedia("(orientation: portrait)").matches;
  return { screen_orientation: portrait ? 0 : 1, orientation: portrait ? "portrait" : "landscape" };
}

/** What one activity hears. */
export class Subscriptions {
  #desk;
  #tell;
  #wanted = new Set();
  #voices = new Map();
  #stop = [];

  /** @param {(evt: string, data: object) => void} tell */
  constructor(desk, tell) {
    this.#desk = desk;
    this.#tell = tell;
    const { gateway, state } = desk.context;
    this.#on(desk.instances, "change", () => this.#again("ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE"));
    this.#on(window, "resize", () => this.#again("ORIENTATION_UPDATE"));
    this.#on(gateway, "USER_UPDATE", () => this.#again("CURRENT_USER_UPDATE"));
    this.#on(gateway, "GUILD_MEMBER_UPDATE", ({ detail }) => {
      if (detail.user.id === state.me.id) this.#again("CURRENT_GUILD_MEMBER_UPDATE", detail.guild_id);
    });
    this.#on(gateway, "VOICE_STATE_UPDATE", ({ detail }) => {
      // Who leaves is told where they were, and nobody elsewhere learns of it.
      const about = detail.channel_id ?? this.#voices.get(detail.user_id);
      this.#voices.set(detail.user_id, detail.channel_id);
      if (this.#has("VOICE_STATE_UPDATE", about)) tell("VOICE_STATE_UPDATE", views.voiceState(desk.context, detail));
    });
    for (const name of ["RELATIONSHIP_ADD", "RELATIONSHIP_UPDATE", "RELATIONSHIP_REMOVE"]) {
      this.#on(gateway, name, ({ detail }) => {
        const type = name === "RELATIONSHIP_REMOVE" ? 0 : detail.type;
        if (this.#has("RELATIONSHIP_UPDATE")) tell("RELATIONSHIP_UPDATE", views.relationship(desk.context, { ...detail, type }));
      });
    }
    this.#on(gateway, "PRESENCE_UPDATE", ({ detail }) => {
      const known = state.relationships.get(detail.user.id);
      if (known && this.#has("RELATIONSHIP_UPDATE")) tell("RELATIONSHIP_UPDATE", views.relationship(desk.context, known));
    });
    this.#on(gateway, "ENTITLEMENT_CREATE", ({ detail }) => {
      const own = detail.application_id === desk.application.id && detail.user_id === state.me.id;
      if (own && this.#has("ENTITLEMENT_CREATE")) tell("ENTITLEMENT_CREATE", { entitlement: views.entitlement(detail) });
    });
  }

  /** Hear of something; twice is as good as once. */
  add(evt, given) {
    const { key, event, about } = this.#read(evt, given);
    if (!allowed(event.needs, this.#desk.scopes)) {
      throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope");
    }
    if (this.#wanted.size >= SUBSCRIPTIONS_MAX && !this.#wanted.has(key)) throw new RpcError(RpcErrorCode.RATE_LIMITED, "Too many subscriptions");
    this.#wanted.add(key);
    if (evt === "VOICE_STATE_UPDATE") for (const each of this.#desk.context.state.voiceIn(about)) this.#voices.set(each.user_id, about);
    // After the answer: the SDK takes events as they come, but an activity expects to have subscribed first.
    if (event.first) setTimeout(() => this.#again(evt, about));
    return { evt };
  }

  /** Hear of it no more. */
  remove(evt, given) {
    this.#wanted.delete(this.#read(evt, given).key);
    return { evt };
  }

  /** How the activity is shown has changed. */
  layoutChanged() {
    this.#again("ACTIVITY_LAYOUT_MODE_UPDATE");
  }

  clear() {
    this.#wanted.clear();
    this.#voices.clear();
  }

  end() {
    this.clear();
    for (const stop of this.#stop.splice(0)) stop();
  }

  #on(target, name, listener) {
    target.addEventListener(name, listener);
    this.#stop.push(() => target.removeEventListener(name, listener));
  }

  #has(evt, about) {
    return this.#wanted.has(`${evt}:${about ?? ""}`);
  }

  async #again(evt, about) {
    if (!this.#has(evt, about)) return;
    const data = await EVENTS[evt].first(this.#desk, about);
    if (this.#has(evt, about)) this.#tell(evt, data);
  }

  #read(evt, given) {
    const event = typeof evt === "string" && Object.hasOwn(EVENTS, evt) ? EVENTS[evt] : null;
    if (!event) throw new RpcError(RpcErrorCode.INVALID_EVENT, `Invalid event: ${String(evt).slice(0, 64)}`);
    if (!event.about) return { key: `${evt}:`, event };
    const { state } = this.#desk.context;
    if (evt.startsWith("SPEAKING") && given?.lobby_id) return { key: `${evt}:${args(given, { lobby_id: snowflake }).lobby_id}`, event };
    const about = args(given, { [event.about]: snowflake }, event.about)[event.about];
    if (event.about === "guild_id" && !state.guilds.has(about)) throw new RpcError(RpcErrorCode.INVALID_GUILD, "Invalid guild id");
    if (event.about === "channel_id" && !state.channels.has(about)) throw new RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id");
    return { key: `${evt}:${about}`, event, about };
  }
}
