/** Gateway client (spec/gateway.md#1): heartbeats, resume, backoff, and events for dispatches. */

import { Capabilities, CloseCode, GatewayOpcode } from "../generated/enums.js";

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
/** Time without frames after which `#checkConnection` sends a heartbeat. */
const SILENCE_MAX_MS = 15_000;
const QUEUED_FRAMES_MAX = 20;

/**
 * A connection to the gateway, which reconnects and resumes its session after a loss.
 *
 * Dispatches `CustomEvent(EVENT_NAME, {detail: payload})` for every gateway event, and two events of its own:
 * `connection` `{state: "open" | "lost" | "ended", code}`, and `event` `{name, data}` for every dispatch.
 */
export class Gateway extends EventTarget {
  #token;
  #properties;
  #url;
  #socket = null;
  #sequence = null;
  #resumeUrl = null;
  #resolveResumeUrl;
  #heartbeatIntervalMs = 0;
  #heartbeatTimer = 0;
  #isAcknowledged = true;
  #lastReceivedAt = 0;
  #attemptCount = 0;
  #reconnectTimer = 0;
  #deadlineTimer = 0;
  #queue = [];
  #isStopped = false;

  /**
   * @param {{token: string, url: string, resolveResumeUrl?: (url: string) => string}} options `resolveResumeUrl` converts
   *   `resume_gateway_url` of READY to the URL that resumes use
   */
  constructor({ token, url, resolveResumeUrl }) {
    super();
    this.#token = token;
    this.#url = url;
    this.#resolveResumeUrl = resolveResumeUrl ?? (readyUrl => readyUrl);
    this.#properties = { os: "", browser: "Hubbub web", device: "" };
    /** @type {string | null} */
    this.sessionId = null;
    /** @type {"connecting" | "open" | "lost" | "ended"} */
    this.state = "connecting";
    // After sleep or network changes, check immediately whether the connection still works.
    for (const name of ["online", "pageshow", "focus"]) window.addEventListener(name, () => this.#checkConnection());
    document.addEventListener("visibilitychange", () => document.hidden || this.#checkConnection());
  }

  /** Connect, or resume the session. */
  connect() {
    if (this.#isStopped || this.#socket !== null) return;
    clearTimeout(this.#reconnectTimer);
    const isResuming = this.sessionId !== null;
    const url = new URL((isResuming && this.#resumeUrl) || this.#url);
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

  /** Send a frame, or queue it until the connection is open. Frames above the limit of the queue are dropped. */
  send(op, payload) {
    if (this.state === "open" && this.#socket?.readyState === WebSocket.OPEN) this.#write(op, payload);
    else if (this.#queue.length < QUEUED_FRAMES_MAX) this.#queue.push([op, payload]);
  }

  /** Close the connection and end the session. */
  close() {
    this.#isStopped = true;
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
      this.#heartbeatIntervalMs = d.heartbeat_interval;
      this.#isAcknowledged = true;
      this.#scheduleHeartbeat(this.#heartbeatIntervalMs * Math.random());
      this.#authenticate();
    } else if (op === HEARTBEAT) this.#write(HEARTBEAT, this.#sequence);
    else if (op === HEARTBEAT_ACK) {
      this.#isAcknowledged = true;
      clearTimeout(this.#deadlineTimer);
    } else if (op === RECONNECT) this.#reconnect();
    else if (op === INVALID_SESSION) {
      if (!d) this.#clearSession();
      // spec/gateway.md#4.5: authenticate after a random delay, so that clients do not all do it at the same time.
      setTimeout(() => this.#authenticate(), 200 + Math.random() * 800);
    }
  }

  #authenticate() {
    if (this.sessionId !== null) {
      this.#write(RESUME, { token: this.#token, session_id: this.sessionId, seq: this.#sequence });
    } else {
      this.#write(IDENTIFY, {
        token: this.#token,
        properties: this.#properties,
        large_threshold: 250,
        capabilities: Capabilities.AUTO_LOBBY_CONNECT,
      });
    }
    this.#startDeadline();
  }

  #dispatch(name, payload) {
    if (name === "READY") {
      this.sessionId = payload.session_id;
      this.#resumeUrl = this.#resolveResumeUrl(payload.resume_gateway_url);
    }
    if (name === "READY" || name === "RESUMED") {
      clearTimeout(this.#deadlineTimer);
      this.#attemptCount = 0;
    }
    this.dispatchEvent(new CustomEvent("event", { detail: { name, data: payload } }));
    this.dispatchEvent(new CustomEvent(name, { detail: payload }));
    if (name === "READY" || name === "RESUMED") {
      this.#setState("open", 0);
      for (const [op, d] of this.#queue.splice(0)) this.#write(op, d);
    }
  }

  #scheduleHeartbeat(delayMs) {
    clearTimeout(this.#heartbeatTimer);
    this.#heartbeatTimer = setTimeout(() => {
      if (!this.#isAcknowledged) {
        // The last heartbeat was not acknowledged: the connection is lost, although the socket reports no error.
        this.#reconnect();
        return;
      }
      this.#sendHeartbeat();
      this.#scheduleHeartbeat(this.#heartbeatIntervalMs);
    }, delayMs);
  }

  #sendHeartbeat() {
    this.#isAcknowledged = false;
    this.#write(HEARTBEAT, this.#sequence);
  }

  /** Reconnect if the server does not respond in time. */
  #startDeadline() {
    clearTimeout(this.#deadlineTimer);
    this.#deadlineTimer = setTimeout(
      () => this.#reconnect(),
      RESPONSE_TIMEOUT_MS * (1 + Math.min(this.#attemptCount, 3)),
    );
  }

  /** Reconnect immediately if there is no connection; send a heartbeat if the server was silent for a while. */
  #checkConnection() {
    if (this.#isStopped) return;
    if (this.#socket === null) {
      this.#attemptCount = 0;
      this.connect();
    } else if (this.state === "open" && Date.now() - this.#lastReceivedAt > SILENCE_MAX_MS) {
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
      this.#isStopped = true;
      this.#setState("ended", code);
      return;
    }
    if (SESSION_LOST_CODES.has(code)) this.#clearSession();
    this.#scheduleReconnect(code);
  }

  #scheduleReconnect(code = 0) {
    this.#setState("lost", code);
    const delayMs = Math.min(BACKOFF_MIN_MS * 2 ** this.#attemptCount, BACKOFF_MAX_MS);
    this.#attemptCount += 1;
    this.#reconnectTimer = setTimeout(
      () => this.connect(),
      this.#attemptCount === 1 ? 0 : delayMs * (0.5 + Math.random() / 2),
    );
  }

  #clearSession() {
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
