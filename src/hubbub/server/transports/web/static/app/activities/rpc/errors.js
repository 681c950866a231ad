/** Errors of the activity RPC (spec/rpc.md#10). */

import { RpcErrorCode } from "../../generated/rpc.js";

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
