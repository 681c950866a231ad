/**
 * The call of this client: follows the user's voice state and the voice server on the main gateway, and keeps one `Call`.
 * A voice state of another client of the user ends the call of this client.
 */

import { VoiceCloseCode } from "../generated/voice.js";
import { Permissions } from "../network/enums.js";
import { findFeatureObstacle } from "../network/features.js";
import { loadModule } from "../ui/lazy_modules.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { captureVideo, waitForChange } from "./capture.js";
import { Devices } from "./devices.js";
import { callObstacle, captureProblem, isDismissed, videoProblem } from "./support.js";
import { sendLeave, sendVoiceState } from "./voice_state_messages.js";

/** Close codes after which the client waits for the user's next voice state (spec/voice.md#6). */
const REMOVED_CODES = new Set([VoiceCloseCode.DISCONNECTED, VoiceCloseCode.CALL_TERMINATED]);
/** Maximum number of attempts to get a new ticket after the voice connection was lost. */
const REJOINS_MAX = 5;
const REJOIN_DELAY_MS = 1_000;
/** Time in which the server must respond to a join. It does not respond if the channel is full. */
const JOIN_TIMEOUT_MS = 8_000;

const loadCall = () => loadModule(() => import("./call.js"));

/** The call of this client. Dispatches `change` after every change of the call or its devices, `joined` and `left` `{userId}`. */
export class Calls extends EventTarget {
  #context;
  /** The call that the user asked to join. @type {import("./voice_state_messages.js").CallTarget | null} */
  #target = null;
  /** @type {import("./call.js").Call | null} */
  call = null;
  /** The ticket of the call that is being opened; a newer ticket or the end of the call replaces it. */
  #openingTicket = null;
  /** Session ID of the last voice state of the user, of this client or another one. */
  #lastSessionId = null;
  /** Session ID of the voice state that this client owns; null before it joins. */
  #sessionId = null;
  /** Whether the server has confirmed the join. An earlier voice state without a channel belongs to the previous call. */
  #isJoined = false;
  #rejoinCount = 0;
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
    gateway.addEventListener("LOBBY_VOICE_STATE_UPDATE", ({ detail }) => this.#onVoiceState(detail));
    gateway.addEventListener("VOICE_SERVER_UPDATE", ({ detail }) => this.#onVoiceServer(detail));
    gateway.addEventListener("LOBBY_VOICE_SERVER_UPDATE", ({ detail }) => this.#onLobbyVoiceServer(detail));
    gateway.addEventListener("READY", () => this.#onNewSession());
    this.devices.addEventListener("change", () => {
      this.call?.playback.apply();
      this.#notify();
    });
    window.addEventListener("pagehide", event => !event.persisted && this.call?.close());
  }

  /** ID of the channel or lobby whose call this client is in or joins, or null. */
  get channelId() {
    return this.#target?.id ?? null;
  }

  /** Join the call of a channel, or of a lobby as `{id, isLobby: true}`. Browsers start audio only after a click or key press. */
  async join(channel) {
    const obstacle = callObstacle();
    if (obstacle !== null) {
      showNotice(obstacle, "problem");
      return;
    }
    if (this.#target?.id === channel.id) return;
    findFeatureObstacle(this.#context.api, "voice", t("Calls are switched off on this server.")).then(reason => {
      // The server ignores the request to join and sends no response.
      if (reason === null || this.#target?.id !== channel.id) return;
      this.leave();
      showNotice(reason, "problem");
    });
    const { isLobby = false } = channel;
    // The server keeps calls of lobbies and of channels apart; this client is in one call.
    if (this.#target !== null && this.#target.isLobby !== isLobby) sendLeave(this.#context.gateway, this.#target);
    this.#target = { id: channel.id, guildId: channel.guild_id ?? null, isLobby };
    this.#isJoined = false;
    this.#rejoinCount = 0;
    this.#sendVoiceState();
    this.#joinTimer = window.setTimeout(() => this.#onJoinTimeout(), JOIN_TIMEOUT_MS);
    this.#notify();
    // The code of calls loads and the microphone opens while the server responds.
    loadCall();
    await this.devices.open();
  }

  /** Leave the call, and report it to the server. */
  leave() {
    const target = this.#target ?? { guildId: null, isLobby: false };
    this.#stop();
    sendLeave(this.#context.gateway, target);
  }

  /** Mute or unmute the microphone. Unmuting also ends deafening. */
  async setMuted(muted) {
    await this.devices.update(muted ? { muted } : { muted, deaf: false });
    this.#sendVoiceState();
    if (!muted && this.#target !== null) await this.devices.open();
  }

  /** Deafen or undeafen the user, and report it to the server. */
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
        const stream = await captureVideo(type);
        this.#startVideo(stream.getVideoTracks()[0], type);
        // The user chose in the browser's dialog whether the screen has sound.
        if (type === "screen" && this.video.track !== null)
          this.devices.setScreenAudio(stream.getAudioTracks()[0] ?? null);
      } catch (error) {
        // Closing the browser's dialog of screens is not an error.
        if (type === "video" || !isDismissed(error))
          showNotice(captureProblem(error, type === "screen" ? "screen" : "camera"), "problem");
      }
    }
    await this.#sendVideo();
    this.#sendVoiceState();
    this.#notify();
  }

  /** Whether the user may send their camera or screen in this call: in a guild with the permission Video. */
  get allowsVideo() {
    return !this.#target?.guildId || this.#context.state.can(this.#target.id, Permissions.STREAM);
  }

  /** Stop the camera or screen that the server does not forward any more. */
  #endForbiddenVideo({ self_video: hasCamera, self_stream: hasScreen = false }) {
    const { type } = this.video;
    if (type === null || this.allowsVideo || (type === "screen" ? hasScreen : hasCamera)) return;
    showNotice(t("Your video stopped: you may not share video in this channel any more."), "problem");
    this.#stopVideo();
    this.#sendVideo();
  }

  async #sendVideo() {
    const { track, type } = this.video;
    try {
      await this.call?.sendVideo(track, type ?? "video");
    } catch {
      if (track === null) return;
      showNotice(videoProblem(type), "problem");
      this.#stopVideo();
      await this.call?.sendVideo(null).catch(() => {});
    }
  }

  #startVideo(track, type) {
    if (this.#target === null) return track.stop();
    this.video = { track, type };
    // The browser has its own button to stop sharing, which ends the track.
    track.addEventListener("ended", () => this.video.track === track && this.toggleVideo(type));
  }

  #stopVideo() {
    this.video.track?.stop();
    this.devices.setScreenAudio(null);
    this.video = { track: null, type: null };
  }

  /** Resolve when the call is connected, or when this client left it. */
  waitUntilConnected() {
    return waitForChange(this, () => this.#target === null || this.call?.state === "connected");
  }

  #sendVoiceState() {
    if (this.#target === null) return;
    const { muted, deaf } = this.devices.settings;
    const { type } = this.video;
    const flags = { self_mute: muted, self_deaf: deaf, self_video: type === "video" };
    // Calls of lobbies have no streams.
    if (!this.#target.isLobby) flags.self_stream = type === "screen";
    sendVoiceState(this.#context.gateway, this.#target, flags);
  }

  // Events of the main gateway

  #onVoiceState(voiceState) {
    if (voiceState.user_id !== this.#context.me?.id || this.#target === null) return;
    const { lobby_id: lobbyId = null } = voiceState;
    if (lobbyId !== (this.#target.isLobby ? this.#target.id : null)) return;
    const isSameGuild = (voiceState.guild_id ?? null) === this.#target.guildId;
    if (!isSameGuild && voiceState.channel_id === null) return;
    this.#lastSessionId = voiceState.session_id;
    const isElsewhere = this.#sessionId !== null && voiceState.session_id !== this.#sessionId;
    if (voiceState.channel_id === null || isElsewhere) {
      // `#rejoin` leaves the channel before it joins again.
      if (this.#rejoinTimer || !this.#isJoined) return;
      showNotice(
        isElsewhere
          ? t("You joined a call on another device, so you left this one.")
          : t("You were disconnected from {channel}.", { channel: this.#channelName(this.#target.id) }),
      );
      this.#stop();
      return;
    }
    this.#isJoined = true;
    if (voiceState.channel_id !== this.#target.id) {
      showNotice(t("You were moved to {channel}.", { channel: this.#channelName(voiceState.channel_id) }));
      this.#target = { id: voiceState.channel_id, guildId: voiceState.guild_id ?? null, isLobby: false };
    }
    this.#applyModeration(voiceState);
    this.#endForbiddenVideo(voiceState);
    this.#notify();
  }

  #moderation = { mute: false, deaf: false };

  /** Show a notice after a moderator muted, unmuted, deafened or undeafened the user, and apply a mute to the microphone. */
  #applyModeration({ mute = false, deaf = false, suppress = false }) {
    const previousModeration = this.#moderation;
    if (mute !== previousModeration.mute)
      showNotice(mute ? t("A moderator muted you in this guild.") : t("A moderator unmuted you in this guild."));
    if (deaf !== previousModeration.deaf)
      showNotice(deaf ? t("A moderator deafened you in this guild.") : t("A moderator undeafened you in this guild."));
    this.#moderation = { mute, deaf };
    this.devices.setSilenced(mute || suppress);
  }

  #onVoiceServer({ token, guild_id: guildId, channel_id: channelId, endpoint }) {
    if (this.#target === null || this.#target.isLobby || (guildId ?? null) !== this.#target.guildId) return;
    if (this.#target.guildId === null && channelId !== this.#target.id) return;
    this.#connect({ serverId: guildId ?? channelId, channelId: this.#target.id, token, endpoint });
  }

  #onLobbyVoiceServer({ token, lobby_id: lobbyId, endpoint }) {
    if (this.#target?.isLobby && this.#target.id === lobbyId)
      this.#connect({ serverId: lobbyId, channelId: lobbyId, token, endpoint });
  }

  #connect({ serverId, channelId, token, endpoint }) {
    // Only the session that owns the voice state receives this event.
    this.#sessionId = this.#lastSessionId;
    clearTimeout(this.#joinTimer);
    clearTimeout(this.#rejoinTimer);
    this.#rejoinTimer = 0;
    this.#closeCall();
    if (!endpoint) {
      showNotice(t("No voice server is available. The call connects as soon as there is one."), "problem");
      return;
    }
    this.#open({ serverId, channelId, userId: this.#context.me.id, sessionId: this.#sessionId, token, endpoint });
  }

  /** Join again, because a new gateway session has no voice state. */
  #onNewSession() {
    this.#sessionId = null;
    this.#isJoined = false;
    if (this.#target === null) return;
    this.#closeCall();
    this.#sendVoiceState();
  }

  // The call

  async #open(ticket) {
    this.#openingTicket = ticket;
    const module = await loadCall();
    if (this.#openingTicket !== ticket) return;
    this.#openingTicket = null;
    if (module === null) {
      this.leave();
      return;
    }
    const call = new module.Call(ticket, this.devices);
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
        t("Others cannot hear you: your microphone could not be sent. Choose another one in Voice settings."),
        "problem",
      ),
    );
    call.addEventListener("ended", event => this.#onCallEnded(call, /** @type {CustomEvent} */ (event).detail.code));
    this.#notify();
  }

  /** Send the video to a new voice connection, because the server does not keep the video of an earlier one. */
  #onConnected(call) {
    this.#rejoinCount = 0;
    if (this.#connectedCall === call) return;
    this.#connectedCall = call;
    if (this.video.track !== null) this.#sendVideo();
  }

  /** The last call that connected, so that its later `connected` states do not send the video again. */
  #connectedCall = null;

  #onCallEnded(call, code) {
    if (this.call !== call) return;
    this.call = null;
    // The voice state that follows shows whether the user was moved or disconnected.
    if (!REMOVED_CODES.has(code)) this.#rejoin();
    this.#notify();
  }

  /** Leave and join again, which gives this client a new ticket. */
  #rejoin() {
    if (this.#target === null) return;
    if (this.#rejoinCount >= REJOINS_MAX) {
      showNotice(
        t("The call in {channel} could not be reached. Join it again later.", {
          channel: this.#channelName(this.#target.id),
        }),
        "problem",
      );
      this.leave();
      return;
    }
    const target = this.#target;
    this.#rejoinCount += 1;
    clearTimeout(this.#rejoinTimer);
    this.#rejoinTimer = window.setTimeout(
      () => {
        if (this.#target?.id !== target.id) return;
        sendLeave(this.#context.gateway, target);
        this.#sendVoiceState();
      },
      this.#rejoinCount === 1 ? 0 : REJOIN_DELAY_MS * this.#rejoinCount,
    );
  }

  #closeCall() {
    this.#openingTicket = null;
    this.call?.close();
    this.call = null;
  }

  #onJoinTimeout() {
    if (this.#target === null || this.call !== null) return;
    showNotice(
      t("{channel} cannot be joined now. It may be full.", { channel: this.#channelName(this.#target.id) }),
      "problem",
    );
    this.leave();
  }

  #stop() {
    clearTimeout(this.#joinTimer);
    clearTimeout(this.#rejoinTimer);
    this.#rejoinTimer = 0;
    this.#target = null;
    this.#stopVideo();
    this.#moderation = { mute: false, deaf: false };
    this.#closeCall();
    this.devices.close();
    this.#notify();
  }

  #channelName(channelId) {
    return this.#context.state.channels.get(channelId)?.name ?? t("the call");
  }

  #notify() {
    this.dispatchEvent(new CustomEvent("change"));
    // Redraw the parts of the client that show the call.
    this.#context.state.emitChange("call", this.#target?.id ?? null, this.#target?.guildId ?? null);
  }
}

/** @type {WeakMap<object, Calls>} */
const callsByState = new WeakMap();

/** Return the `Calls` object of the client. @returns {Calls} */
export function getCalls(context) {
  let calls = callsByState.get(context.state);
  if (calls === undefined) {
    calls = new Calls(context);
    callsByState.set(context.state, calls);
  }
  return calls;
}
