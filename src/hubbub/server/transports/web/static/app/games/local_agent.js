/**
 * The agent on the user's machine (spec/rpc.md#1), which connects games to the platform. It serves pages over a WebSocket
 * if it was started with `--websocket`.
 */

import { RPC_VERSION, WEBSOCKET_PORTS } from "../generated/rpc.js";
import { t } from "../ui/translation.js";

const CONNECT_TIMEOUT_MS = 2_000;
const RESPONSE_TIMEOUT_MS = 15_000;

/** An error response of the agent, or a missing response. */
export class LocalAgentError extends Error {
  /** @param {number} code an `RpcErrorCode`, or 0 without a response @param {string} message */
  constructor(code, message) {
    super(message);
    this.name = "LocalAgentError";
    this.code = code;
  }
}

/**
 * Send a command to the agent of a user, in the name of an application.
 *
 * @returns {Promise<boolean>} whether an agent of the user executed the command
 * @throws {LocalAgentError} if the agent rejects the command or does not respond in time
 */
export async function sendToAgent({ applicationId, userId }, cmd, args) {
  for (const port of WEBSOCKET_PORTS) {
    const socket = await connect(port, applicationId, userId);
    if (socket === null) continue;
    try {
      await request(socket, cmd, args);
      return true;
    } finally {
      socket.close();
    }
  }
  return false;
}

/** Return the next message of a socket, or null if it closes or does not send one in time. */
function nextMessage(socket, timeoutMs) {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(null), timeoutMs);
    const settle = message => {
      clearTimeout(timer);
      resolve(message);
    };
    socket.addEventListener("message", ({ data }) => settle(JSON.parse(data)), { once: true });
    socket.addEventListener("close", () => settle(null), { once: true });
  });
}

/** Connect to the agent at a port. Return null if there is none, or if it belongs to another user or platform. */
async function connect(port, applicationId, userId) {
  const query = new URLSearchParams({ v: String(RPC_VERSION), client_id: applicationId, encoding: "json" });
  const socket = new WebSocket(`ws://127.0.0.1:${port}/?${query}`);
  const ready = await nextMessage(socket, CONNECT_TIMEOUT_MS);
  if (ready?.evt === "READY" && ready.data.user.id === userId) return socket;
  socket.close();
  return null;
}

async function request(socket, cmd, args) {
  const response = nextMessage(socket, RESPONSE_TIMEOUT_MS);
  socket.send(JSON.stringify({ cmd, args, nonce: crypto.getRandomValues(new Uint32Array(1))[0].toString() }));
  const reply = await response;
  if (reply === null) throw new LocalAgentError(0, t("The agent on this computer did not respond."));
  if (reply.evt === "ERROR") throw new LocalAgentError(reply.data.code, reply.data.message);
}
