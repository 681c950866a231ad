/** The host of an activity: speaks with the page in its frame by postMessage (activities.md 6).
 *
 * Whatever comes from there is the app's, never the person's: it is heard from this frame and this origin only, in bounds, and does what
 * its granted scopes allow. The person's own token never goes there. */

import { COMMANDS, allowed } from "./activity_commands.js";
import { Subscriptions } from "./activity_events.js";
import { CloseCode, RpcError, RpcErrorCode } from "./rpc_errors.js";

const HANDSHAKE = 0;
const FRAME = 1;
const CLOSE = 2;
const VERSION = 1;

const FRAME_MAX = 64 * 1024;
const WINDOW_MS = 10_000;
/** activities.md 10. */
const COMMANDS_MAX = 60;
const LOGS_MAX = 200;
const NONCE_MAX = 128;

/** How many in a stretch of time. */
class Throttle {
  #began = 0;
  #count = 0;

  constructor(most) {
    this.most = most;
  }

  admits(now) {
    if (now - this.#began >= WINDOW_MS) {
      this.#began = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.most;
  }
}

/**
 * One activity's connection.
 *
 * @typedef {object} Desk what commands act on
 * @property {import("./context.js").Context} context held to the activity's channel
 * @property {{id: string, name: string, icon: string|null, description: string, rpc_origins?: string[]}} application
 * @property {object} instance as EMBEDDED_ACTIVITY_UPDATE_V2 has it, always the newest
 * @property {Set<string>} scopes what the app's token allows; empty before AUTHENTICATE
 * @property {string|null} token the app's own access token
 * @property {(code: number, message: string) => void} close
 */
export class RpcHost {
  #frame;
  #origin;
  #frameId;
  #greeted = false;
  #ended = false;
  #commands = new Throttle(COMMANDS_MAX);
  #logs = new Throttle(LOGS_MAX);
  #hear = event => this.#heard(event);

  /**
   * @param {Desk} desk
   * @param {{frame: HTMLIFrameElement, origin: string, frameId: string, closed: (code: number, message: string) => void}} options
   *   `closed` hears that the activity wants to end
   */
  constructor(desk, { frame, origin, frameId, closed }) {
    this.desk = desk;
    this.#frame = frame;
    this.#origin = origin;
    this.#frameId = frameId;
    this.closed = closed;
    this.subscriptions = new Subscriptions(desk, (evt, data) => this.#send(FRAME, { cmd: "DISPATCH", evt, data, nonce: null }));
    window.addEventListener("message", this.#hear);
  }

  /** Say goodbye, and hear nothing any more. */
  end(code = CloseCode.NORMAL, message = "") {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#greeted) this.#send(CLOSE, { code, message });
    window.removeEventListener("message", this.#hear);
    this.subscriptions.end();
  }

  #send(op, payload) {
    this.#frame.contentWindow?.postMessage([op, payload], this.#origin);
  }

  #heard({ data, origin, source }) {
    if (source !== this.#frame.contentWindow || origin !== this.#origin || !Array.isArray(data)) return;
    const [op, payload] = data;
    if (payload === null || typeof payload !== "object") return;
    if (op === HANDSHAKE) this.#greet(payload);
    else if (op === FRAME && this.#greeted) this.#command(payload);
    else if (op === CLOSE) this.#leave(payload);
  }

  /** A page that is loaded anew in its frame begins again, without what the one before was allowed. */
  #greet({ v, encoding, client_id: client, frame_id: frame }) {
    if (frame !== this.#frameId) return;
    if (Number(v) !== VERSION) return this.#refuse(CloseCode.INVALID_VERSION, "Invalid Version");
    if (encoding !== undefined && encoding !== "json") return this.#refuse(CloseCode.INVALID_ENCODING, "Invalid Encoding");
    if (client !== this.desk.application.id) return this.#refuse(CloseCode.INVALID_CLIENT_ID, "Invalid Client ID");
    this.#greeted = true;
    this.desk.scopes = new Set();
    this.desk.token = null;
    this.subscriptions.clear();
    const { host } = new URL(this.desk.context.web);
    // Without `user`: the SDK takes a picture that is null for no user at all (activities.md 6).
    const config = { cdn_host: `${host}/cdn`, api_endpoint: `//${host}/api`, environment: "production" };
    this.#send(FRAME, { cmd: "DISPATCH", evt: "READY", nonce: null, data: { v: VERSION, config } });
  }

  #refuse(code, message) {
    this.#send(CLOSE, { code, message });
    this.closed(code, message);
  }

  #leave({ code, message }) {
    const known = Number.isInteger(code) ? code : CloseCode.NORMAL;
    this.closed(known, typeof message === "string" ? message.slice(0, 300) : "");
  }

  async #command(payload) {
    const { cmd, nonce } = payload;
    if (typeof cmd !== "string" || typeof nonce !== "string" || cmd.length > 64 || nonce.length > NONCE_MAX) return;
    const now = performance.now();
    if (cmd === "CAPTURE_LOG") {
      // One comes for every line of the page's console; nobody reads them, and beyond the bound nobody answers.
      if (this.#logs.admits(now)) this.#send(FRAME, { cmd, data: null, evt: null, nonce });
      return;
    }
    try {
      if (!this.#commands.admits(now)) throw new RpcError(RpcErrorCode.RATE_LIMITED, "You are sending commands too quickly");
      if (!fits(payload)) throw new RpcError(RpcErrorCode.INVALID_PAYLOAD, "This frame is too large");
      const data = await this.#obey(payload);
      this.#send(FRAME, { cmd, data: data ?? null, evt: null, nonce });
    } catch (error) {
      this.#send(FRAME, { cmd, evt: "ERROR", data: asRefusal(error), nonce });
    }
  }

  async #obey({ cmd, evt, args }) {
    if (cmd === "SUBSCRIBE") return this.subscriptions.add(evt, args);
    if (cmd === "UNSUBSCRIBE") return this.subscriptions.remove(evt, args);
    const command = Object.hasOwn(COMMANDS, cmd) ? COMMANDS[cmd] : null;
    if (!command) throw new RpcError(RpcErrorCode.INVALID_COMMAND, `Invalid command: ${cmd}`);
    if (!allowed(command.needs, this.desk.scopes)) {
      throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope");
    }
    return command.act(this.desk, args);
  }
}

function fits(payload) {
  try {
    return JSON.stringify(payload).length <= FRAME_MAX;
  } catch {
    return false;
  }
}

function asRefusal(error) {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error?.name === "ApiError") {
    const code = error.status === 403 ? RpcErrorCode.INVALID_PERMISSIONS : error.status === 429 ? RpcErrorCode.RATE_LIMITED : RpcErrorCode.UNKNOWN;
    return { code, message: error.sentence };
  }
  console.error(error);
  return { code: RpcErrorCode.UNKNOWN, message: "Unknown Error" };
}
