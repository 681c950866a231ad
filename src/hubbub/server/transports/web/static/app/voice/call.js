/** One call: voice gateway session, peer connection, encryption, microphone and playback. */

import { SpeakingFlags, VoiceOpcode } from "../generated/voice.js";
import { FrameEncryption } from "./encryption.js";
import { MediaConnection } from "./media_connection.js";
import { Playback } from "./playback.js";
import { VoiceGateway } from "./voice_gateway.js";

/** Opcodes that the encryption needs too. */
const ENCRYPTION_OPS = new Set([
  VoiceOpcode.SPEAKING,
  VoiceOpcode.CLIENTS_CONNECT,
  VoiceOpcode.VIDEO,
  VoiceOpcode.CLIENT_DISCONNECT,
]);
const FIRST_DAVE_OP = VoiceOpcode.DAVE_PREPARE_TRANSITION,
  LAST_DAVE_OP = VoiceOpcode.MLS_INVALID_COMMIT_WELCOME;
/** Time that a lost transport has to recover by itself, before ICE is restarted. */
const RECOVERY_MS = 1_000;
/** Time in which a started or restarted transport must connect. */
const CONNECT_TIMEOUT_MS = 8_000;

/**
 * The connection of this client to a call, until it is lost or closed.
 *
 * Dispatches `change` after every change of its public state, `joined` and `left` `{userId}`, `unsent` if the microphone cannot be
 * sent, and `ended` `{code}` when the call is over for this client; the voice state decides whether to connect again.
 */
export class Call extends EventTarget {
  #gateway;
  #media;
  #ssrc = 0;
  #recoveryTimer = 0;
  #connectTimer = 0;
  #isClosed = false;
  #hasStarted = false;
  /** Messages for the encryption that arrived before its start. @type {[number, any][]} */
  #earlyMessages = [];
  /** State: `connecting`, `connected` or `reconnecting`. */
  state = "connecting";
  /** IDs of the other connected users. @type {Set<string>} */
  userIds = new Set();
  /** IDs of the users who speak, including the current user. @type {Set<string>} */
  speakingIds = new Set();
  /** Video tracks of other users: `{track, type}` by user ID. @type {Map<string, {track: MediaStreamTrack, type: string}>} */
  videos = new Map();
  /** Types of the videos that users announced: `video` or `screen`. @type {Map<string, string>} */
  #videoTypes = new Map();
  /** SSRCs of the videos that users announced. @type {Map<string, number>} */
  #videoSsrcs = new Map();
  /** IDs of the users who watch the screen of this client. @type {string[]} */
  viewerIds = [];
  /** Previews of the screens that the user does not watch, by user ID. @type {Map<string, HTMLCanvasElement | null>} */
  unwatched = new Map();

  /**
   * @param {{serverId: string, channelId: string, userId: string, sessionId: string, token: string, endpoint: string}} ticket
   * @param {import("./devices.js").Devices} devices microphone and settings
   */
  constructor(ticket, devices) {
    super();
    this.ticket = ticket;
    this.devices = devices;
    this.encryption = new FrameEncryption();
    this.#media = new MediaConnection(this.encryption);
    this.playback = new Playback(devices);
    this.#gateway = new VoiceGateway(ticket);
    this.#listen();
    // A worker in Firefox stops if it receives media while it loads, so the call starts after it has loaded.
    this.encryption.addEventListener("loaded", () => this.#gateway.connect(), { once: true });
    this.sendAudio();
  }

  /** Round trip time to the voice server in milliseconds, or null before the first heartbeat. */
  get roundTripMs() {
    return this.#gateway.roundTripMs;
  }

  /** Privacy code of the call, empty while it is not end-to-end encrypted. */
  get privacyCode() {
    return this.encryption.status.code;
  }

  /** Whether frames are end-to-end encrypted and the group includes this client. */
  get isEncrypted() {
    return this.encryption.status.version > 0 && this.encryption.status.ready;
  }

  #listen() {
    const gateway = this.#gateway,
      media = this.#media,
      { encryption, devices } = this;
    gateway.addEventListener("message", event => this.#receive(/** @type {CustomEvent} */ (event).detail));
    gateway.addEventListener("connected", () => this.#onGatewayConnected());
    gateway.addEventListener("heartbeat", () => this.#notify());
    gateway.addEventListener("lost", () => this.#setState("reconnecting"));
    gateway.addEventListener("ended", event => this.#end(/** @type {CustomEvent} */ (event).detail.code));
    media.addEventListener("offer", event => {
      const { sdp, codecs } = /** @type {CustomEvent} */ (event).detail;
      gateway.send(VoiceOpcode.SELECT_PROTOCOL, { protocol: "webrtc", data: sdp, codecs });
    });
    media.addEventListener("track", event => this.#addTrack(/** @type {CustomEvent} */ (event).detail));
    media.addEventListener("ended", event => this.#removeTrack(/** @type {CustomEvent} */ (event).detail));
    media.addEventListener("state", event => this.#onMediaState(/** @type {CustomEvent} */ (event).detail.state));
    encryption.addEventListener("send", event => {
      const { op, data } = /** @type {CustomEvent} */ (event).detail;
      gateway.send(op, data);
    });
    encryption.addEventListener("status", () => this.#notify());
    encryption.addEventListener("failed", event => {
      console.error(/** @type {CustomEvent} */ (event).detail.reason);
      this.#end(0);
    });
    this.onDeviceChange = () => this.sendAudio();
    this.onSpeaking = () => this.#sendSpeaking();
    devices.addEventListener("microphone", this.onDeviceChange);
    devices.addEventListener("speaking", this.onSpeaking);
    this.onNetworkChange = () => this.#onNetworkChange();
    window.addEventListener("online", this.onNetworkChange);
  }

  #receive({ op, data }) {
    if (ENCRYPTION_OPS.has(op) || (op >= FIRST_DAVE_OP && op <= LAST_DAVE_OP)) {
      if (this.#hasStarted) this.encryption.receive(op, data);
      else this.#earlyMessages.push([op, data]);
    }
    if (op === VoiceOpcode.READY) {
      this.#ssrc = data.ssrc;
      this.#restartMedia({ iceRestart: false });
    } else if (op === VoiceOpcode.SESSION_DESCRIPTION) this.#onDescription(data);
    else if (op === VoiceOpcode.CLIENTS_CONNECT) this.#addUsers(data.user_ids);
    else if (op === VoiceOpcode.CLIENT_DISCONNECT) this.#removeUser(data.user_id);
    else if (op === VoiceOpcode.SPEAKING) this.#setSpeaking(data);
    else if (op === VoiceOpcode.VIDEO) this.#setVideo(data);
    else if (op === VoiceOpcode.MEDIA_SINK_WANTS) this.#setViewers(data);
  }

  #onDescription({ sdp, dave_protocol_version: version }) {
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      const { userId, channelId } = this.ticket;
      this.encryption.start({ userId, channelId, version });
      for (const [op, data] of this.#earlyMessages.splice(0)) this.encryption.receive(op, data);
      // Announce the SSRC of this client to the others; the server forwards no media before this message.
      this.#gateway.send(VoiceOpcode.SPEAKING, { speaking: 0, delay: 0, ssrc: this.#ssrc });
      this.#sendSpeaking();
    }
    this.#media.setDescription(sdp);
  }

  #addUsers(userIds) {
    for (const userId of userIds) {
      if (userId === this.ticket.userId || this.userIds.has(userId)) continue;
      this.userIds.add(userId);
      this.dispatchEvent(new CustomEvent("joined", { detail: { userId } }));
    }
    this.#notify();
  }

  #removeUser(userId) {
    this.userIds.delete(userId);
    this.speakingIds.delete(userId);
    this.#videoTypes.delete(userId);
    this.unwatched.delete(userId);
    this.#media.removeStream(userId);
    this.dispatchEvent(new CustomEvent("left", { detail: { userId } }));
    this.#notify();
  }

  #setSpeaking({ user_id: userId, ssrc, speaking }) {
    this.#media.addStream(userId, "audio", ssrc);
    if (speaking & SpeakingFlags.MICROPHONE) this.speakingIds.add(userId);
    else this.speakingIds.delete(userId);
    this.#notify();
  }

  #setViewers({ viewer_ids: viewerIds = [] }) {
    this.viewerIds = viewerIds;
    this.#notify();
  }

  /** Watch the screen of a user, or stop watching it; `preview` is shown meanwhile. */
  setWatching(userId, isWatching, preview = null) {
    if (isWatching) this.unwatched.delete(userId);
    else this.unwatched.set(userId, preview);
    this.#sendWants();
    this.#notify();
  }

  /** Report to the server which videos it need not forward. */
  #sendWants() {
    const unwantedStreams = [...this.unwatched.keys()].map(userId => [this.#videoSsrcs.get(userId), 0]);
    this.#gateway.send(VoiceOpcode.MEDIA_SINK_WANTS, { any: 100, ...Object.fromEntries(unwantedStreams) });
  }

  #setVideo({ user_id: userId, video_ssrc: ssrc, streams }) {
    // A user who shares another video is watched again.
    if (this.unwatched.has(userId) && (!ssrc || streams?.[0]?.type !== "screen")) this.setWatching(userId, true);
    if (ssrc) {
      this.#videoSsrcs.set(userId, ssrc);
      this.#videoTypes.set(userId, streams?.[0]?.type ?? "video");
      this.#media.addStream(userId, "video", ssrc);
      const track = this.#media.receivedTrack(userId, "video");
      if (track !== null) this.videos.set(userId, { track, type: this.#videoTypes.get(userId) ?? "video" });
    } else {
      // The media section stays for the next video: a track that was inactive shows no frames in Chromium.
      this.#videoTypes.delete(userId);
      this.videos.delete(userId);
    }
    this.#notify();
  }

  #addTrack({ userId, kind, track }) {
    if (kind === "audio") this.playback.add(userId, track);
    else if (this.#videoTypes.has(userId)) this.videos.set(userId, { track, type: this.#videoTypes.get(userId) });
    this.#notify();
  }

  #removeTrack({ userId, kind, track }) {
    if (kind === "audio") this.playback.remove(userId);
    else if (this.videos.get(userId)?.track === track) this.videos.delete(userId);
    this.#notify();
  }

  // Own streams

  /** Send the microphone and the sound of a shared screen, or nothing. */
  sendAudio() {
    this.#media.audio.sender
      .replaceTrack(this.devices.sentTrack)
      .catch(() => this.#isClosed || this.dispatchEvent(new CustomEvent("unsent")));
    this.#sendSpeaking();
  }

  #sendSpeaking() {
    const isSpeaking = this.devices.isSending && this.devices.microphone.isSpeaking;
    const { userId } = this.ticket;
    if (isSpeaking) this.speakingIds.add(userId);
    else this.speakingIds.delete(userId);
    const flags =
      (isSpeaking ? SpeakingFlags.MICROPHONE : 0) | (this.devices.hasScreenAudio ? SpeakingFlags.SOUNDSHARE : 0);
    if (this.#hasStarted) this.#gateway.send(VoiceOpcode.SPEAKING, { speaking: flags, delay: 0, ssrc: this.#ssrc });
    this.#notify();
  }

  /** Send a video track of type `video` or `screen`; null stops the video. */
  async sendVideo(track, type = "video") {
    await this.#media.video.sender.replaceTrack(track);
    const ssrc = this.#ssrc + 1;
    this.viewerIds = [];
    this.#gateway.send(VoiceOpcode.VIDEO, {
      audio_ssrc: this.#ssrc,
      video_ssrc: track === null ? 0 : ssrc,
      rtx_ssrc: 0,
      streams: track === null ? [] : [{ type, rid: "100", quality: 100, active: true, ssrc, rtx_ssrc: 0 }],
    });
    this.#notify();
  }

  // Connection

  #restartMedia(options) {
    clearTimeout(this.#recoveryTimer);
    clearTimeout(this.#connectTimer);
    this.#connectTimer = setTimeout(() => this.#end(0), CONNECT_TIMEOUT_MS);
    this.#media.start(options);
  }

  #onGatewayConnected() {
    // After a resume, media may have stopped too.
    if (this.#hasStarted && this.#media.state !== "connected") this.#restartMedia({ iceRestart: true });
    else if (this.#hasStarted) this.#setState("connected");
  }

  #onMediaState(state) {
    clearTimeout(this.#recoveryTimer);
    if (state === "connected") {
      clearTimeout(this.#connectTimer);
      this.#setState("connected");
    } else if (state === "disconnected" || state === "failed") {
      this.#setState("reconnecting");
      const restart = () => this.#gateway.isOpen && this.#restartMedia({ iceRestart: true });
      this.#recoveryTimer = setTimeout(restart, state === "failed" ? 0 : RECOVERY_MS);
    }
  }

  #onNetworkChange() {
    this.#gateway.checkConnection();
    if (this.#hasStarted && this.#gateway.isOpen) this.#restartMedia({ iceRestart: true });
  }

  /** Return statistics of the connection and of the encryption. */
  async statistics() {
    const [report, frames] = await Promise.all([this.#media.getStats(), this.encryption.statistics()]);
    return { report: [...report.values()], frames };
  }

  #setState(state) {
    if (this.state === state || this.#isClosed) return;
    this.state = state;
    this.#notify();
  }

  #notify() {
    this.dispatchEvent(new CustomEvent("change"));
  }

  #end(code) {
    if (this.#isClosed) return;
    this.close();
    this.dispatchEvent(new CustomEvent("ended", { detail: { code } }));
  }

  /** Close the connections of the call and stop its playback. */
  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#recoveryTimer);
    clearTimeout(this.#connectTimer);
    this.devices.removeEventListener("microphone", this.onDeviceChange);
    this.devices.removeEventListener("speaking", this.onSpeaking);
    window.removeEventListener("online", this.onNetworkChange);
    this.#gateway.close();
    this.#media.close();
    this.encryption.close();
    this.playback.close();
  }
}
