/** The real-time socket (gateway.md): heartbeats, resume, backoff, and every dispatch as an event of its name. */

const DISPATCH = 0, HEARTBEAT = 1, IDENTIFY = 2, RESUME = 6, RECONNECT = 7, INVALID_SESSION = 9, HELLO = 10, ACK = 11;
const BAD_TOKEN = 4004;
const FATAL = new Set([4010, 4011, 4012, 4013, 4014, 4015]);
const FORGETS = new Set([4003, 4007, 4009]);
/** Neither 1000 nor 1001: those would end the session (gateway.md 3). */
const AGAIN = 4900;
const FIRST_WAIT_MS = 500, LONGEST_WAIT_MS = 30_000, ANSWER_MS = 8_000;

/**
 * Dispatches `CustomEvent(EVENT_NAME, {detail: payload})` for every event of the platform, and of its own, in small letters:
 * `connection` `{state: "connecting" | "open" | "lost" | "ended", code}` and `event` `{name, data}` for all of them.
 */
export class Gateway extends EventTarget {
  #token;
  #properties;
  #address;
  #socket = null;
  #sequence = null;
  #resumeAddress = null;
  #interval = 0;
  #beat = 0;
  #answered = true;
  #heard = 0;
  #tries = 0;
  #retry = 0;
  #deadline = 0;
  #waiting = [];
  #stopped = false;

  /** @param {{token: string, address: string, resumeAddress?: (told: string) => string}} options */
  constructor({ token, address, resumeAddress }) {
    super();
    this.#token = token;
    this.#address = address;
    this.resumeAddress = resumeAddress ?? (told => told);
    this.#properties = { os: "", browser: "Hubbub web", device: "" };
    /** @type {string | null} */
    this.sessionId = null;
    /** @type {"connecting" | "open" | "lost" | "ended"} */
    this.state = "connecting";
    // A laptop that slept, a phone that was in a pocket: ask at once whether the other end is still there.
    for (const name of ["online", "pageshow", "focus"]) window.addEventListener(name, () => this.#wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake());
  }

  /** Begin. */
  connect() {
    if (this.#stopped || this.#socket !== null) return;
    clearTimeout(this.#retry);
    const resuming = this.sessionId !== null;
    const address = new URL((resuming && this.#resumeAddress) || this.#address);
    address.searchParams.set("v", "10");
    address.searchParams.set("encoding", "json");
    let socket;
    try {
      socket = new WebSocket(address);
    } catch {
      this.#resumeAddress = null;
      this.#later();
      return;
    }
    this.#socket = socket;
    this.#expect();
    socket.addEventListener("message", ({ data }) => socket === this.#socket && this.#hear(JSON.parse(data)));
    socket.addEventListener("close", ({ code }) => socket === this.#socket && this.#lost(code));
  }

  /** Send a frame; while there is no connection it waits, except what only holds for a moment. */
  send(op, data) {
    if (this.state === "open" && this.#socket?.readyState === WebSocket.OPEN) this.#write(op, data);
    else if (this.#waiting.length < 20) this.#waiting.push([op, data]);
  }

  /** End for good, and say so to the platform. */
  close() {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.#quiet();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(1000);
    this.#say("ended", 1000);
  }

  #write(op, d) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, d }));
  }

  #hear({ op, d, s, t }) {
    this.#heard = Date.now();
    if (op === DISPATCH) {
      this.#sequence = s;
      this.#dispatch(t, d);
    } else if (op === HELLO) {
      clearTimeout(this.#deadline);
      this.#interval = d.heartbeat_interval;
      this.#answered = true;
      this.#schedule(this.#interval * Math.random());
      this.#introduce();
    } else if (op === HEARTBEAT) this.#write(HEARTBEAT, this.#sequence);
    else if (op === ACK) {
      this.#answered = true;
      clearTimeout(this.#deadline);
    } else if (op === RECONNECT) this.#drop();
    else if (op === INVALID_SESSION) {
      if (!d) this.#forget();
      // gateway.md 4.5: identify again after a moment, so that many clients do not come at once.
      setTimeout(() => this.#introduce(), 200 + Math.random() * 800);
    }
  }

  #introduce() {
    if (this.sessionId !== null) {
      this.#write(RESUME, { token: this.#token, session_id: this.sessionId, seq: this.#sequence });
    } else {
      this.#write(IDENTIFY, { token: this.#token, properties: this.#properties, large_threshold: 250 });
    }
    this.#expect();
  }

  #dispatch(name, data) {
    if (name === "READY") {
      this.sessionId = data.session_id;
      this.#resumeAddress = this.resumeAddress(data.resume_gateway_url);
    }
    if (name === "READY" || name === "RESUMED") {
      clearTimeout(this.#deadline);
      this.#tries = 0;
    }
    this.dispatchEvent(new CustomEvent("event", { detail: { name, data } }));
    this.dispatchEvent(new CustomEvent(name, { detail: data }));
    if (name === "READY" || name === "RESUMED") {
      this.#say("open", 0);
      for (const [op, d] of this.#waiting.splice(0)) this.#write(op, d);
    }
  }

  #schedule(wait) {
    clearTimeout(this.#beat);
    this.#beat = setTimeout(() => {
      if (!this.#answered) {
        // Nothing came back since the last one: the other end is gone, and the socket does not know.
        this.#drop();
        return;
      }
      this.#pulse();
      this.#schedule(this.#interval);
    }, wait);
  }

  #pulse() {
    this.#answered = false;
    this.#write(HEARTBEAT, this.#sequence);
  }

  /** If nothing comes within some seconds the connection is as good as lost. */
  #expect() {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#drop(), ANSWER_MS * (1 + Math.min(this.#tries, 3)));
  }

  #wake() {
    if (this.#stopped) return;
    if (this.#socket === null) {
      this.#tries = 0;
      this.connect();
    } else if (this.state === "open" && Date.now() - this.#heard > 15_000) {
      this.#pulse();
      this.#expect();
    }
  }

  #drop() {
    const socket = this.#socket;
    if (socket === null) return;
    socket.close(AGAIN);
    this.#lost(AGAIN);
  }

  #lost(code) {
    this.#socket = null;
    this.#quiet();
    if (code === BAD_TOKEN || FATAL.has(code)) {
      this.#stopped = true;
      this.#say("ended", code);
      return;
    }
    if (FORGETS.has(code)) this.#forget();
    this.#later(code);
  }

  #later(code = 0) {
    this.#say("lost", code);
    const wait = Math.min(FIRST_WAIT_MS * 2 ** this.#tries, LONGEST_WAIT_MS);
    this.#tries += 1;
    this.#retry = setTimeout(() => this.connect(), this.#tries === 1 ? 0 : wait * (0.5 + Math.random() / 2));
  }

  #forget() {
    this.sessionId = null;
    this.#sequence = null;
    this.#resumeAddress = null;
  }

  #quiet() {
    clearTimeout(this.#beat);
    clearTimeout(this.#deadline);
  }

  #say(state, code) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("connection", { detail: { state, code } }));
  }
}
