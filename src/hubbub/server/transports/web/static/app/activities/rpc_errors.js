/** Errors of the activity RPC, and its error and close codes (spec/rpc.md#4 and 10). */

export const RpcCloseCode = Object.freeze({
  NORMAL: 1000,
  INVALID_CLIENT_ID: 4000,
  INVALID_ORIGIN: 4001,
  RATE_LIMITED: 4002,
  TOKEN_REVOKED: 4003,
  INVALID_VERSION: 4004,
  INVALID_ENCODING: 4005,
});

export const RpcErrorCode = Object.freeze({
  UNKNOWN: 1000,
  SERVICE_UNAVAILABLE: 1001,
  INVALID_PAYLOAD: 4000,
  INVALID_COMMAND: 4002,
  INVALID_GUILD: 4003,
  INVALID_EVENT: 4004,
  INVALID_CHANNEL: 4005,
  INVALID_PERMISSIONS: 4006,
  INVALID_CLIENT_ID: 4007,
  INVALID_TOKEN: 4009,
  INVALID_USER: 4010,
  OAUTH2_ERROR: 5000,
  INVALID_ACTIVITY_SECRET: 5005,
  NO_ELIGIBLE_ACTIVITY: 5006,
  PURCHASE_CANCELLED: 5008,
  PURCHASE_ERROR: 5009,
  RATE_LIMITED: 5011,
});

/** A rejected RPC command. */
export class RpcError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "RpcError";
    this.code = code;
  }
}

/** Return a validation error in the format that public clients use (spec/rpc.md#8). */
export function invalidField(name, problem) {
  return new RpcError(RpcErrorCode.INVALID_PAYLOAD, `child "${name}" fails because ["${name}" ${problem}]`);
}
