/**
 * The call of this client: follows the user's voice state and the voice server on the main gateway, and keeps one `Call`.
 * Voice states of other clients of the user are not followed.
 */

import { Opcode } from "../network/enums.js";
import { showNotice } from "../ui/notices.js";
import { Call } from "./call.js";
import { Devices } from "./devices.js";
import { callObstacle, captureProblem, isDismissed } from "./support.js";

/** Close codes after which the voice state says what happens: moved or removed, and call ended (spec/voice.md#6). */
const REMOVED_CODES = new Set([4014, 4022]);
/** Number of attempts to get a new ticket after the voice connection was lost. */
const REJOINS_MAX = 5;
const REJOIN_DELAY_MS = 1_000;
/** Time in which the server answers a join. It does not answer if the channel is full. */
const JOIN_TIMEOUT_MS = 8_000;
/** Sound of a shared screen, unchanged by the processing of voices. */
const SCREEN_AUDIO = Object.freeze({ echoCancellation: false, noiseSuppression: false, autoGainControl: false });

/**
 * Dispatches `change` after every change of the call or its devices, `joined` and `left` `{userId}`, and `speaking`.
 */
export class Calls extends EventTarget {
  #context;
  /** Channel that the user asked to join, or null. @type {{id: string, guildId: string | null} | null} */
  #wanted = null;
  /** @type {Call | null} */
  call = null;
  /** Session ID of the last own voice state, and of the state that this client owns; null before it joins. */
  #lastSessionId = null;
  #sessionId = null;
  #rejoins = 0;
  #rejoinTimer = 0;
  #joinTimer = 0;
  devices = new Devices();
  /** The camera or screen that this client sends. @type {{track: MediaStreamTrack | null, type: string | null}} */
  video = { track: null, type: null };

  constructor(context) {
    super();
    this.#context = context;
    const { gateway } = context;
    gateway.addEventListener("VOICE_STATE_UPDATE", ({ detail }) => this.#onVoiceState(detail));
    gateway.addEventListener("VOICE_SERVER_UPDATE", ({ detail }) => this.#onVoiceServer(detail));
    gateway.addEventListener("READY", () => this.#onNewSession());
    this.devices.addEventListener("change", () => {
      this.call?.playback.apply();
      this.#notify();
    });
    window.addEventListener("pagehide", event => !event.persisted && this.call?.close());
  }

  /** ID of the channel whose call this client is in or joins, or null. */
  get channelId() {
    return this.#wanted?.id ?? null;
  }

  /** Join the call of a channel. Must be called from a click or key press, because browsers start audio only then. */
  async join(channel) {
    const obstacle = callObstacle();
    if (obstacle !== null) {
      showNotice(obstacle, "problem");
      return;
    }
    if (this.#wanted?.id === channel.id) return;
    this.#wanted = { id: channel.id, guildId: channel.guild_id ?? null };
    this.#rejoins = 0;
    this.#sendVoiceState();
    this.#joinTimer = window.setTimeout(() => this.#onJoinTimeout(), JOIN_TIMEOUT_MS);
    this.#notify();
    // The microphone opens while the server answers.
    await this.devices.open();
  }

  /** Leave the call. */
  leave() {
    const guildId = this.#wanted?.guildId ?? null;
    this.#stop();
    this.#context.gateway.send(Opcode.VOICE_STATE_UPDATE, {
      guild_id: guildId,
      channel_id: null,
      self_mute: false,
      self_deaf: false,
    });
  }

  /** Mute or unmute the microphone. Unmuting also ends deafening. */
  async setMuted(muted) {
    await this.devices.update(muted ? { muted } : { muted, deaf: false });
    this.#sendVoiceState();
    if (!muted && this.#wanted !== null) await this.devices.open();
  }

  /** Deafen or undeafen. */
  async setDeaf(deaf) {
    await this.devices.update({ deaf });
    this.#sendVoiceState();
  }

  /** Turn the camera (`video`) or the shared screen (`screen`) on or off. One replaces the other. */
  async toggleVideo(type) {
    const isOn = this.video.type === type;
    this.#stopVideo();
    if (!isOn) {
      try {
        const { mediaDevices } = navigator;
        const stream = await (type === "screen"
          ? mediaDevices.getDisplayMedia({ video: { frameRate: 15 }, audio: SCREEN_AUDIO })
          : mediaDevices.getUserMedia({ video: { width: 1280, height: 720 } }));
        this.#startVideo(stream.getVideoTracks()[0], type);
        // The user chose in the browser's dialog whether the screen has sound.
        if (type === "screen" && this.video.track !== null)
          this.devices.setScreenAudio(stream.getAudioTracks()[0] ?? null);
      } catch (error) {
        // A user who closes the browser's dialog of screens changed their mind.
        if (type === "video" || !isDismissed(error))
          showNotice(captureProblem(error, type === "screen" ? "screen" : "camera"), "problem");
      }
    }
    await this.#sendVideo();
    this.#sendVoiceState();
    this.#notify();
  }

  async #sendVideo() {
    const { track, type } = this.video;
    try {
      await this.call?.sendVideo(track, type ?? "video");
    } catch {
      if (track === null) return;
      showNotice(
        `Your ${type === "screen" ? "screen" : "camera"} could not be sent. Leave the call, join it again and try once more.`,
        "problem",
      );
      this.#stopVideo();
      await this.call?.sendVideo(null).catch(() => {});
    }
  }

  #startVideo(track, type) {
    if (this.#wanted === null) {
      track.stop();
      return;
    }
    this.video = { track, type };
    // The browser has its own button to stop sharing.
    track.addEventListener("ended", () => this.video.track === track && this.toggleVideo(type));
  }

  #stopVideo() {
    this.video.track?.stop();
    this.devices.setScreenAudio(null);
    this.video = { track: null, type: null };
  }

  /** Resolve when the call is connected, or when this client left it. */
  waitConnected() {
    const isDone = () => this.#wanted === null || this.call?.state === "connected";
    if (isDone()) return Promise.resolve();
    return new Promise(resolve => {
      const check = () => {
        if (!isDone()) return;
        this.removeEventListener("change", check);
        resolve(undefined);
      };
      this.addEventListener("change", check);
    });
  }

  #sendVoiceState() {
    if (this.#wanted === null) return;
    const { muted, deaf } = this.devices.settings;
    this.#context.gateway.send(Opcode.VOICE_STATE_UPDATE, {
      guild_id: this.#wanted.guildId,
      channel_id: this.#wanted.id,
      self_mute: muted,
      self_deaf: deaf,
      self_video: this.video.type === "video",
    });
  }

  // Events of the main gateway

  #onVoiceState(voiceState) {
    if (voiceState.user_id !== this.#context.me?.id || this.#wanted === null) return;
    const isSameCall = (voiceState.guild_id ?? null) === this.#wanted.guildId;
    if (!isSameCall && voiceState.channel_id === null) return;
    this.#lastSessionId = voiceState.session_id;
    const isElsewhere = this.#sessionId !== null && voiceState.session_id !== this.#sessionId;
    if (voiceState.channel_id === null || isElsewhere) {
      // While a lost connection is being replaced, the state is null for a moment.
      if (this.#rejoinTimer) return;
      showNotice(
        isElsewhere
          ? "You joined a call on another device, so you left this one."
          : `You were disconnected from ${this.#channelName(this.#wanted.id)}.`,
      );
      this.#stop();
      return;
    }
    if (voiceState.channel_id !== this.#wanted.id) {
      showNotice(`You were moved to ${this.#channelName(voiceState.channel_id)}.`);
      this.#wanted = { id: voiceState.channel_id, guildId: voiceState.guild_id ?? null };
    }
    this.#followModeration(voiceState);
    this.#notify();
  }

  #moderation = { mute: false, deaf: false };

  /** Show what moderators changed. */
  #followModeration({ mute = false, deaf = false, suppress = false }) {
    const before = this.#moderation;
    if (mute !== before.mute)
      showNotice(mute ? "A moderator muted you in this guild." : "A moderator unmuted you in this guild.");
    if (deaf !== before.deaf)
      showNotice(deaf ? "A moderator deafened you in this guild." : "A moderator undeafened you in this guild.");
    this.#moderation = { mute, deaf };
    this.devices.setSilenced(mute || suppress);
  }

  #onVoiceServer({ token, guild_id: guildId, channel_id: channelId, endpoint }) {
    const { me } = this.#context;
    if (this.#wanted === null || (guildId ?? null) !== this.#wanted.guildId) return;
    if (this.#wanted.guildId === null && channelId !== this.#wanted.id) return;
    // Only the session that owns the voice state receives this event.
    this.#sessionId = this.#lastSessionId;
    clearTimeout(this.#joinTimer);
    clearTimeout(this.#rejoinTimer);
    this.#rejoinTimer = 0;
    this.#closeCall();
    if (!endpoint) {
      showNotice("No voice server is available. The call connects as soon as there is one.", "problem");
      return;
    }
    this.#open({
      serverId: guildId ?? channelId,
      channelId: this.#wanted.id,
      userId: me.id,
      sessionId: this.#sessionId,
      token,
      endpoint,
    });
  }

  /** A new session has no voice state: join again. */
  #onNewSession() {
    this.#sessionId = null;
    if (this.#wanted === null) return;
    this.#closeCall();
    this.#sendVoiceState();
  }

  // The call

  #open(ticket) {
    const call = new Call(ticket, this.devices);
    this.call = call;
    call.addEventListener("change", () => {
      if (call.state === "connected") this.#onConnected(call);
      this.#notify();
    });
    for (const name of ["joined", "left"])
      call.addEventListener(name, event =>
        this.dispatchEvent(new CustomEvent(name, { detail: /** @type {CustomEvent} */ (event).detail })),
      );
    call.addEventListener("unsent", () =>
      showNotice(
        "Others cannot hear you: your microphone could not be sent. Choose another one in Voice settings.",
        "problem",
      ),
    );
    call.addEventListener("ended", event => this.#onCallEnded(call, /** @type {CustomEvent} */ (event).detail.code));
    this.#notify();
  }

  /** The server knows nothing about the video of an earlier connection. */
  #onConnected(call) {
    this.#rejoins = 0;
    if (this.#announced === call) return;
    this.#announced = call;
    if (this.video.track !== null) this.#sendVideo();
  }

  /** The call that knows about the video of this client. */
  #announced = null;

  #onCallEnded(call, code) {
    if (this.call !== call) return;
    this.call = null;
    // The voice state that follows says whether the user was moved or removed.
    if (!REMOVED_CODES.has(code)) this.#rejoin();
    this.#notify();
  }

  /** Leave and join again, which gives this client a new ticket. */
  #rejoin() {
    if (this.#wanted === null) return;
    if (this.#rejoins >= REJOINS_MAX) {
      showNotice(
        `The call in ${this.#channelName(this.#wanted.id)} could not be reached. Join it again later.`,
        "problem",
      );
      this.leave();
      return;
    }
    const { id, guildId } = this.#wanted;
    this.#rejoins += 1;
    clearTimeout(this.#rejoinTimer);
    this.#rejoinTimer = window.setTimeout(
      () => {
        if (this.#wanted?.id !== id) return;
        this.#context.gateway.send(Opcode.VOICE_STATE_UPDATE, {
          guild_id: guildId,
          channel_id: null,
          self_mute: false,
          self_deaf: false,
        });
        this.#sendVoiceState();
      },
      this.#rejoins === 1 ? 0 : REJOIN_DELAY_MS * this.#rejoins,
    );
  }

  #closeCall() {
    this.call?.close();
    this.call = null;
  }

  #onJoinTimeout() {
    if (this.#wanted === null || this.call !== null) return;
    showNotice(`${this.#channelName(this.#wanted.id)} cannot be joined now. It may be full.`, "problem");
    this.leave();
  }

  #stop() {
    clearTimeout(this.#joinTimer);
    clearTimeout(this.#rejoinTimer);
    this.#rejoinTimer = 0;
    this.#wanted = null;
    this.#stopVideo();
    this.#moderation = { mute: false, deaf: false };
    this.#closeCall();
    this.devices.close();
    this.#notify();
  }

  #channelName(channelId) {
    return this.#context.state.channels.get(channelId)?.name ?? "the call";
  }

  #notify() {
    this.dispatchEvent(new CustomEvent("change"));
    // Parts of the client that show the call redraw.
    this.#context.state.emitChange("call", this.#wanted?.id ?? null, this.#wanted?.guildId ?? null);
  }
}

/** @type {WeakMap<object, Calls>} */
const callsOfStates = new WeakMap();

/** Return the calls of the client. @returns {Calls} */
export function getCalls(context) {
  let calls = callsOfStates.get(context.state);
  if (calls === undefined) {
    calls = new Calls(context);
    callsOfStates.set(context.state, calls);
  }
  return calls;
}
