/** Scopes of activity tokens. Every authenticated app has `rpc.authenticated` (spec/rpc.md#6). */

const PRESENCE = [
  "activities.invites.write",
  "activities.read",
  "activities.write",
  "application_identities.write",
  "gateway.connect",
  "identify",
  "relationships.read",
  "relationships.write",
];
const COMMUNICATION = [
  ...PRESENCE,
  "dm_channels.read",
  "dm_channels.messages.read",
  "dm_channels.messages.write",
  "guilds",
  "guilds.channels.read",
  "lobbies.write",
];
/** Scopes that include others (spec/webhooks-and-interactions.md#8.5). */
const UMBRELLAS = { "sdk.social_layer_presence": PRESENCE, "sdk.social_layer": COMMUNICATION };

/** Return all scopes that a token grants, including implied ones. */
export function expandScopes(scopes) {
  return new Set(["rpc.authenticated", ...scopes.flatMap(scope => [scope, ...(UMBRELLAS[scope] ?? [])])]);
}

/** Return whether all required scopes are granted. @param {string[]|undefined} required */
export function hasScopes(required, held) {
  return (required ?? []).every(scope => held.has(scope));
}
