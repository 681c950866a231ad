/**
 * The RPC host of an activity: exchanges frames with the page in the iframe by postMessage (spec/activities.md#6).
 *
 * Messages come from the app, not from the user. The host accepts them only from its frame and the activity's origin,
 * limits the size and rate of commands, and checks the granted scopes. The user's own token is never sent to the frame.
 */

import {
  ACTIVITY_COMMAND_SCOPES,
  PROGRAM_FRAME_BYTES_MAX,
  RPC_VERSION,
  RpcCloseCode,
  RpcErrorCode,
  RpcOpcode,
} from "../../generated/rpc.js";
import { RPC_COMMANDS } from "./commands.js";
import { RpcError } from "./errors.js";
import { Subscriptions } from "./events.js";
import { hasScopes } from "./scopes.js";

const { HANDSHAKE, FRAME, CLOSE } = RpcOpcode;

const RATE_WINDOW_MS = 10_000;
/** Commands per window (spec/activities.md#10). */
const COMMANDS_MAX = 60;
/** CAPTURE_LOG commands per window, which COMMANDS_MAX does not count. */
const LOGS_MAX = 200;
const COMMAND_NAME_LENGTH_MAX = 64;
const NONCE_LENGTH_MAX = 128;
const CLOSE_MESSAGE_LENGTH_MAX = 300;

/** A counter of commands in time windows of `RATE_WINDOW_MS`. */
class RateCounter {
  #windowStart = 0;
  #count = 0;

  constructor(limit) {
    this.limit = limit;
  }

  /** Count a command and return whether it is within the limit of the window. */
  tryConsume(now) {
    if (now - this.#windowStart >= RATE_WINDOW_MS) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.limit;
  }
}

/**
 * The state of one activity, which commands and subscriptions read and change.
 *
 * @typedef {object} ActivitySession
 * @property {import("../../state/context.js").Context} context bound to the activity's channel
 * @property {{id: string, name: string, icon: string|null, description: string, rpc_origins?: string[]}} application
 * @property {object} instance the newest EMBEDDED_ACTIVITY_UPDATE_V2 payload
 * @property {Set<string>} scopes scopes of the app's token; empty before AUTHENTICATE
 * @property {string|null} token the app's own access token
 * @property {import("./presence.js").ActivityPresence} presence
 * @property {import("../instances.js").ActivityInstances} instances
 * @property {() => number} layout returns the layout mode of the frame
 */

/** The RPC connection of one activity. */
export class RpcHost {
  #frame;
  #origin;
  #frameId;
  #isConnected = false;
  #hasEnded = false;
  #commandCounter = new RateCounter(COMMANDS_MAX);
  #logCounter = new RateCounter(LOGS_MAX);
  #listener = event => this.#receive(event);

  /**
   * @param {ActivitySession} session
   * @param {{frame: HTMLIFrameElement, origin: string, frameId: string, onClose: (code: number, message: string) => void}}
   *   options `onClose` is called when the activity closes the connection or its handshake is rejected
   */
  constructor(session, { frame, origin, frameId, onClose }) {
    this.session = session;
    this.#frame = frame;
    this.#origin = origin;
    this.#frameId = frameId;
    this.onClose = onClose;
    this.subscriptions = new Subscriptions(session, (evt, data) =>
      this.#send(FRAME, { cmd: "DISPATCH", evt, data, nonce: null }),
    );
    window.addEventListener("message", this.#listener);
  }

  /** Close the connection and stop listening. */
  end(code = RpcCloseCode.NORMAL, message = "") {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#isConnected) this.#send(CLOSE, { code, message });
    window.removeEventListener("message", this.#listener);
    this.subscriptions.end();
  }

  #send(op, payload) {
    this.#frame.contentWindow?.postMessage([op, payload], this.#origin);
  }

  #receive({ data, origin, source }) {
    if (source !== this.#frame.contentWindow || origin !== this.#origin || !Array.isArray(data)) return;
    const [op, payload] = data;
    if (payload === null || typeof payload !== "object") return;
    if (op === HANDSHAKE) this.#handshake(payload);
    else if (op === FRAME && this.#isConnected) this.#handleCommand(payload);
    else if (op === CLOSE) this.#handleClose(payload);
  }

  /** Handle a handshake. A page that was reloaded in the frame starts without the scopes of the previous one. */
  #handshake({ v, encoding, client_id: client, frame_id: frame }) {
    if (frame !== this.#frameId) return;
    if (Number(v) !== RPC_VERSION) return this.#reject(RpcCloseCode.INVALID_VERSION, "Invalid Version");
    if (encoding !== undefined && encoding !== "json")
      return this.#reject(RpcCloseCode.INVALID_ENCODING, "Invalid Encoding");
    if (client !== this.session.application.id)
      return this.#reject(RpcCloseCode.INVALID_CLIENT_ID, "Invalid Client ID");
    this.#isConnected = true;
    this.session.scopes = new Set();
    this.session.token = null;
    this.subscriptions.clear();
    const { host } = new URL(this.session.context.webUrl);
    // Omit `user`: the SDK treats a user with a null avatar as no user (spec/activities.md#6).
    const config = { cdn_host: `${host}/cdn`, api_endpoint: `//${host}/api`, environment: "production" };
    this.#send(FRAME, { cmd: "DISPATCH", evt: "READY", nonce: null, data: { v: RPC_VERSION, config } });
  }

  #reject(code, message) {
    this.#send(CLOSE, { code, message });
    this.onClose(code, message);
  }

  #handleClose({ code, message }) {
    const closeCode = Number.isInteger(code) ? code : RpcCloseCode.NORMAL;
    this.onClose(closeCode, typeof message === "string" ? message.slice(0, CLOSE_MESSAGE_LENGTH_MAX) : "");
  }

  async #handleCommand(payload) {
    const { cmd, nonce } = payload;
    if (
      typeof cmd !== "string" ||
      typeof nonce !== "string" ||
      cmd.length > COMMAND_NAME_LENGTH_MAX ||
      nonce.length > NONCE_LENGTH_MAX
    )
      return;
    const now = performance.now();
    if (cmd === "CAPTURE_LOG") {
      // The SDK sends this command for every console message. The host discards it, and does not respond above the limit.
      if (this.#logCounter.tryConsume(now)) this.#send(FRAME, { cmd, data: null, evt: null, nonce });
      return;
    }
    try {
      if (!this.#commandCounter.tryConsume(now))
        throw new RpcError(RpcErrorCode.RATE_LIMITED, "You are sending commands too quickly");
      if (!isWithinSizeLimit(payload)) throw new RpcError(RpcErrorCode.INVALID_PAYLOAD, "This frame is too large");
      const data = await this.#execute(payload);
      this.#send(FRAME, { cmd, data: data ?? null, evt: null, nonce });
    } catch (error) {
      this.#send(FRAME, { cmd, evt: "ERROR", data: errorPayload(error), nonce });
    }
  }

  async #execute({ cmd, evt, args }) {
    if (cmd === "SUBSCRIBE") return this.subscriptions.add(evt, args);
    if (cmd === "UNSUBSCRIBE") return this.subscriptions.remove(evt, args);
    const command = Object.hasOwn(RPC_COMMANDS, cmd) ? RPC_COMMANDS[cmd] : null;
    if (!command) throw new RpcError(RpcErrorCode.INVALID_COMMAND, `Invalid command: ${cmd}`);
    if (!hasScopes(ACTIVITY_COMMAND_SCOPES[cmd], this.session.scopes)) {
      throw new RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope");
    }
    return command(this.session, args);
  }
}

function isWithinSizeLimit(payload) {
  try {
    return JSON.stringify(payload).length <= PROGRAM_FRAME_BYTES_MAX;
  } catch {
    return false;
  }
}

function errorPayload(error) {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error?.name === "ApiError") {
    const code =
      error.status === 403
        ? RpcErrorCode.INVALID_PERMISSIONS
        : error.status === 429
          ? RpcErrorCode.RATE_LIMITED
          : RpcErrorCode.UNKNOWN;
    return { code, message: error.userText };
  }
  console.error(error);
  return { code: RpcErrorCode.UNKNOWN, message: "Unknown Error" };
}
