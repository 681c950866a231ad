/** Client of the voice gateway, version 8 (spec/voice.md#3 to 6): Identify, heartbeats, Resume, text and binary messages. */

import { DAVE_VERSION, VoiceCloseCode, VoiceOpcode } from "../generated/voice.js";

const GATEWAY_VERSION = 8;
/** Time in which a lost session can be resumed (spec/voice.md#6). */
const RESUME_WINDOW_MS = 10_000;
const RETRY_DELAY_MS = 500,
  RESPONSE_TIMEOUT_MS = 8_000,
  HEARTBEAT_INTERVAL_MAX_MS = 5_000;
/** Close code that the client sends before it resumes; 1000 would end the session. */
const CLOSE_TO_RESUME = 4900;
const NORMAL_CLOSE = 1000;
/** Lowest close code of the voice protocol; lower codes are those of WebSocket. */
const VOICE_CLOSE_CODE_MIN = 4000;

/**
 * A session of the voice gateway.
 *
 * Dispatches events with values in `event.detail`: `message` `{op, data}` (a Uint8Array for binary messages), `heartbeat`
 * after each acknowledgment, `connected` after Ready and Resumed, `lost` `{code}` before it resumes, and `ended` `{code}` when
 * the session cannot be resumed.
 */
export class VoiceGateway extends EventTarget {
  #ticket;
  #urls;
  #socket = null;
  #sequence = -1;
  #isIdentified = false;
  #lostAt = 0;
  #heartbeatTimer = 0;
  #retryTimer = 0;
  #responseTimer = 0;
  #isHeartbeatAcknowledged = true;
  #isClosed = false;
  /** Round trip time of the last heartbeat in milliseconds, or null. @type {number | null} */
  roundTripMs = null;

  /** @param {{serverId: string, userId: string, sessionId: string, token: string, endpoint: string}} ticket */
  constructor(ticket) {
    super();
    this.#ticket = ticket;
    // `/voice` of the page's origin is first, because the browser already accepts its certificate. If another process serves
    // the call, the endpoint is used (decisions/0072).
    this.#urls = [
      `${location.origin.replace(/^http/, "ws")}/voice?v=${GATEWAY_VERSION}`,
      `wss://${ticket.endpoint}/?v=${GATEWAY_VERSION}`,
    ];
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN && this.#isIdentified && this.#lostAt === 0;
  }

  connect() {
    if (this.#isClosed || this.#socket !== null) return;
    clearTimeout(this.#retryTimer);
    const socket = new WebSocket(this.#urls[0]);
    socket.binaryType = "arraybuffer";
    let hasOpened = false;
    this.#socket = socket;
    this.#startResponseTimer();
    socket.addEventListener("open", () => (hasOpened = true));
    socket.addEventListener("message", ({ data }) => socket === this.#socket && this.#receive(data));
    socket.addEventListener("close", ({ code }) => socket === this.#socket && this.#handleClose(code, hasOpened));
  }

  /** Send a message, binary if `payload` is a Uint8Array. The message is dropped while there is no connection. */
  send(op, payload) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    if (payload instanceof Uint8Array) {
      const frame = new Uint8Array(payload.length + 1);
      frame[0] = op;
      frame.set(payload, 1);
      this.#socket.send(frame);
    } else this.#socket.send(JSON.stringify({ op, d: payload }));
  }

  /** Connect or send a heartbeat immediately, for example after the network changed. */
  checkConnection() {
    if (this.#isClosed) return;
    if (this.#socket === null) this.connect();
    else if (this.#isIdentified) this.#sendHeartbeat();
  }

  /** End the session. */
  close() {
    this.#isClosed = true;
    this.#clearTimers();
    const socket = this.#socket;
    this.#socket = null;
    // Browsers report an error if a connection is closed before it is open.
    if (socket?.readyState === WebSocket.CONNECTING) socket.addEventListener("open", () => socket.close(NORMAL_CLOSE));
    else socket?.close(NORMAL_CLOSE);
  }

  #receive(data) {
    if (data instanceof ArrayBuffer) {
      const view = new DataView(data);
      this.#sequence = view.getUint16(0);
      this.#dispatch("message", { op: view.getUint8(2), data: new Uint8Array(data, 3) });
      return;
    }
    const { op, d, seq } = JSON.parse(data);
    if (seq !== undefined) this.#sequence = seq;
    if (op === VoiceOpcode.HELLO) this.#authenticate(d.heartbeat_interval);
    else if (op === VoiceOpcode.HEARTBEAT_ACK) {
      this.#isHeartbeatAcknowledged = true;
      clearTimeout(this.#responseTimer);
      this.roundTripMs = Math.max(0, Date.now() - d.t);
      this.#dispatch("heartbeat", null);
    } else {
      if (op === VoiceOpcode.READY || op === VoiceOpcode.RESUMED) this.#onAuthenticated();
      this.#dispatch("message", { op, data: d });
    }
  }

  #authenticate(intervalMs) {
    const { serverId, userId, sessionId, token } = this.#ticket;
    const credentials = { server_id: serverId, session_id: sessionId, token };
    if (this.#isIdentified) this.send(VoiceOpcode.RESUME, { ...credentials, seq_ack: this.#sequence });
    else
      this.send(VoiceOpcode.IDENTIFY, {
        ...credentials,
        user_id: userId,
        max_dave_protocol_version: DAVE_VERSION,
        video: true,
        streams: [{ type: "video", rid: "100", quality: 100 }],
      });
    this.#isHeartbeatAcknowledged = true;
    clearInterval(this.#heartbeatTimer);
    this.#heartbeatTimer = setInterval(() => this.#onHeartbeatDue(), Math.min(intervalMs, HEARTBEAT_INTERVAL_MAX_MS));
  }

  #onAuthenticated() {
    clearTimeout(this.#responseTimer);
    this.#isIdentified = true;
    this.#lostAt = 0;
    this.#sendHeartbeat();
    this.#dispatch("connected", null);
  }

  #onHeartbeatDue() {
    if (this.#isHeartbeatAcknowledged) this.#sendHeartbeat();
    else this.#reconnect();
  }

  #sendHeartbeat() {
    this.#isHeartbeatAcknowledged = false;
    this.send(VoiceOpcode.HEARTBEAT, { t: Date.now(), seq_ack: this.#sequence });
    this.#startResponseTimer();
  }

  /** Connect again if the server does not respond in time. */
  #startResponseTimer() {
    clearTimeout(this.#responseTimer);
    this.#responseTimer = setTimeout(() => this.#reconnect(), RESPONSE_TIMEOUT_MS);
  }

  #reconnect() {
    const socket = this.#socket;
    if (socket === null) return;
    const hasOpened = socket.readyState !== WebSocket.CONNECTING;
    socket.close(CLOSE_TO_RESUME);
    this.#handleClose(CLOSE_TO_RESUME, hasOpened);
  }

  #handleClose(code, hasOpened) {
    this.#socket = null;
    this.#clearTimers();
    if (!this.#isIdentified && (!hasOpened || code === VoiceCloseCode.SERVER_NOT_FOUND) && this.#urls.length > 1) {
      this.#urls.shift();
      this.connect();
      return;
    }
    this.#lostAt ||= Date.now();
    const canResume =
      this.#isIdentified && (code < VOICE_CLOSE_CODE_MIN || code === CLOSE_TO_RESUME) && code !== NORMAL_CLOSE;
    if (!canResume || Date.now() - this.#lostAt > RESUME_WINDOW_MS) {
      this.#isClosed = true;
      this.#dispatch("ended", { code });
      return;
    }
    this.#dispatch("lost", { code });
    this.#retryTimer = setTimeout(
      () => this.connect(),
      Date.now() - this.#lostAt < RETRY_DELAY_MS ? 0 : RETRY_DELAY_MS,
    );
  }

  #clearTimers() {
    clearInterval(this.#heartbeatTimer);
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#responseTimer);
  }

  #dispatch(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
