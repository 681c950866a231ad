/** Gateway client (spec/gateway.md#1): heartbeats, resume, backoff, and one event for each dispatch. */

import { CloseCode, GatewayOpcode } from "../generated/enums.js";

const { DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, HEARTBEAT_ACK } = GatewayOpcode;
const FATAL_CODES = new Set([
  CloseCode.INVALID_SHARD,
  CloseCode.SHARDING_REQUIRED,
  CloseCode.INVALID_API_VERSION,
  CloseCode.INVALID_INTENTS,
  CloseCode.DISALLOWED_INTENTS,
  CloseCode.TOO_MANY_SESSIONS,
]);
const SESSION_LOST_CODES = new Set([CloseCode.NOT_AUTHENTICATED, CloseCode.INVALID_SEQ, CloseCode.SESSION_TIMED_OUT]);
/** Close code that keeps the session resumable, unlike 1000 and 1001 (spec/gateway.md#3). */
const CLOSE_TO_RESUME = 4900;
const BACKOFF_MIN_MS = 500,
  BACKOFF_MAX_MS = 30_000,
  RESPONSE_TIMEOUT_MS = 8_000;

/**
 * Dispatches `CustomEvent(EVENT_NAME, {detail: payload})` for every gateway event, and two events of its own:
 * `connection` `{state: "connecting" | "open" | "lost" | "ended", code}`, and `event` `{name, data}` for every dispatch.
 */
export class Gateway extends EventTarget {
  #token;
  #properties;
  #url;
  #socket = null;
  #sequence = null;
  #resumeUrl = null;
  #interval = 0;
  #heartbeatTimer = 0;
  #acknowledged = true;
  #lastReceivedAt = 0;
  #attempts = 0;
  #reconnectTimer = 0;
  #deadlineTimer = 0;
  #queue = [];
  #stopped = false;

  /** @param {{token: string, url: string, resumeUrl?: (url: string) => string}} options */
  constructor({ token, url, resumeUrl }) {
    super();
    this.#token = token;
    this.#url = url;
    this.resumeUrl = resumeUrl ?? (url => url);
    this.#properties = { os: "", browser: "Hubbub web", device: "" };
    /** @type {string | null} */
    this.sessionId = null;
    /** @type {"connecting" | "open" | "lost" | "ended"} */
    this.state = "connecting";
    // After sleep or network changes, check at once whether the connection is alive.
    for (const name of ["online", "pageshow", "focus"]) window.addEventListener(name, () => this.#wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake());
  }

  /** Connect, or resume the session. */
  connect() {
    if (this.#stopped || this.#socket !== null) return;
    clearTimeout(this.#reconnectTimer);
    const resuming = this.sessionId !== null;
    const url = new URL((resuming && this.#resumeUrl) || this.#url);
    url.searchParams.set("v", "10");
    url.searchParams.set("encoding", "json");
    let socket;
    try {
      socket = new WebSocket(url);
    } catch {
      this.#resumeUrl = null;
      this.#scheduleReconnect();
      return;
    }
    this.#socket = socket;
    this.#startDeadline();
    socket.addEventListener("message", ({ data }) => socket === this.#socket && this.#receive(JSON.parse(data)));
    socket.addEventListener("close", ({ code }) => socket === this.#socket && this.#handleClose(code));
  }

  /** Send a frame, or queue it until the connection is open. */
  send(op, data) {
    if (this.state === "open" && this.#socket?.readyState === WebSocket.OPEN) this.#write(op, data);
    else if (this.#queue.length < 20) this.#queue.push([op, data]);
  }

  /** Close the connection and end the session. */
  close() {
    this.#stopped = true;
    clearTimeout(this.#reconnectTimer);
    this.#clearTimers();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(1000);
    this.#setState("ended", 1000);
  }

  #write(op, d) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, d }));
  }

  #receive({ op, d, s, t }) {
    this.#lastReceivedAt = Date.now();
    if (op === DISPATCH) {
      this.#sequence = s;
      this.#dispatch(t, d);
    } else if (op === HELLO) {
      clearTimeout(this.#deadlineTimer);
      this.#interval = d.heartbeat_interval;
      this.#acknowledged = true;
      this.#schedule(this.#interval * Math.random());
      this.#authenticate();
    } else if (op === HEARTBEAT) this.#write(HEARTBEAT, this.#sequence);
    else if (op === HEARTBEAT_ACK) {
      this.#acknowledged = true;
      clearTimeout(this.#deadlineTimer);
    } else if (op === RECONNECT) this.#reconnect();
    else if (op === INVALID_SESSION) {
      if (!d) this.#forgetSession();
      // spec/gateway.md#4.5: identify after a random delay, so that clients do not reconnect all at once.
      setTimeout(() => this.#authenticate(), 200 + Math.random() * 800);
    }
  }

  #authenticate() {
    if (this.sessionId !== null) {
      this.#write(RESUME, { token: this.#token, session_id: this.sessionId, seq: this.#sequence });
    } else {
      this.#write(IDENTIFY, { token: this.#token, properties: this.#properties, large_threshold: 250 });
    }
    this.#startDeadline();
  }

  #dispatch(name, data) {
    if (name === "READY") {
      this.sessionId = data.session_id;
      this.#resumeUrl = this.resumeUrl(data.resume_gateway_url);
    }
    if (name === "READY" || name === "RESUMED") {
      clearTimeout(this.#deadlineTimer);
      this.#attempts = 0;
    }
    this.dispatchEvent(new CustomEvent("event", { detail: { name, data } }));
    this.dispatchEvent(new CustomEvent(name, { detail: data }));
    if (name === "READY" || name === "RESUMED") {
      this.#setState("open", 0);
      for (const [op, d] of this.#queue.splice(0)) this.#write(op, d);
    }
  }

  #schedule(wait) {
    clearTimeout(this.#heartbeatTimer);
    this.#heartbeatTimer = setTimeout(() => {
      if (!this.#acknowledged) {
        // The last heartbeat was not acknowledged: the connection is dead, but the socket has not noticed.
        this.#reconnect();
        return;
      }
      this.#sendHeartbeat();
      this.#schedule(this.#interval);
    }, wait);
  }

  #sendHeartbeat() {
    this.#acknowledged = false;
    this.#write(HEARTBEAT, this.#sequence);
  }

  /** Reconnect if the server does not respond in time. */
  #startDeadline() {
    clearTimeout(this.#deadlineTimer);
    this.#deadlineTimer = setTimeout(() => this.#reconnect(), RESPONSE_TIMEOUT_MS * (1 + Math.min(this.#attempts, 3)));
  }

  #wake() {
    if (this.#stopped) return;
    if (this.#socket === null) {
      this.#attempts = 0;
      this.connect();
    } else if (this.state === "open" && Date.now() - this.#lastReceivedAt > 15_000) {
      this.#sendHeartbeat();
      this.#startDeadline();
    }
  }

  #reconnect() {
    const socket = this.#socket;
    if (socket === null) return;
    socket.close(CLOSE_TO_RESUME);
    this.#handleClose(CLOSE_TO_RESUME);
  }

  #handleClose(code) {
    this.#socket = null;
    this.#clearTimers();
    if (code === CloseCode.AUTHENTICATION_FAILED || FATAL_CODES.has(code)) {
      this.#stopped = true;
      this.#setState("ended", code);
      return;
    }
    if (SESSION_LOST_CODES.has(code)) this.#forgetSession();
    this.#scheduleReconnect(code);
  }

  #scheduleReconnect(code = 0) {
    this.#setState("lost", code);
    const wait = Math.min(BACKOFF_MIN_MS * 2 ** this.#attempts, BACKOFF_MAX_MS);
    this.#attempts += 1;
    this.#reconnectTimer = setTimeout(
      () => this.connect(),
      this.#attempts === 1 ? 0 : wait * (0.5 + Math.random() / 2),
    );
  }

  #forgetSession() {
    this.sessionId = null;
    this.#sequence = null;
    this.#resumeUrl = null;
  }

  #clearTimers() {
    clearTimeout(this.#heartbeatTimer);
    clearTimeout(this.#deadlineTimer);
  }

  #setState(state, code) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("connection", { detail: { state, code } }));
  }
}
