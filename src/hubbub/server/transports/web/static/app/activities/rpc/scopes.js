/** Scopes of activity tokens. Every authenticated app has `rpc.authenticated` (spec/rpc.md#6). */

import { INCLUDED_SCOPES, PseudoScope } from "../../generated/rpc.js";

/** Return all scopes that a token grants, including implied ones. */
export function expandScopes(scopes) {
  return new Set([PseudoScope.AUTHENTICATED, ...scopes.flatMap(scope => [scope, ...(INCLUDED_SCOPES[scope] ?? [])])]);
}

/** Return whether all required scopes are granted. @param {string[]} required */
export function hasScopes(required, granted) {
  return required.every(scope => granted.has(scope));
}
