/** Scopes of activity tokens. Every authenticated app has `rpc.authenticated` (spec/rpc.md#6). */

const PRESENCE_SCOPES = [
  "activities.invites.write",
  "activities.read",
  "activities.write",
  "application_identities.write",
  "gateway.connect",
  "identify",
  "relationships.read",
  "relationships.write",
];
const COMMUNICATION_SCOPES = [
  ...PRESENCE_SCOPES,
  "dm_channels.read",
  "dm_channels.messages.read",
  "dm_channels.messages.write",
  "guilds",
  "guilds.channels.read",
  "lobbies.write",
];
/** Scopes that include others (spec/webhooks-and-interactions.md#8.5). */
const INCLUDED_SCOPES = { "sdk.social_layer_presence": PRESENCE_SCOPES, "sdk.social_layer": COMMUNICATION_SCOPES };

/** Return all scopes that a token grants, including implied ones. */
export function expandScopes(scopes) {
  return new Set(["rpc.authenticated", ...scopes.flatMap(scope => [scope, ...(INCLUDED_SCOPES[scope] ?? [])])]);
}

/** Return whether all required scopes are granted. @param {string[]|undefined} required */
export function hasScopes(required, granted) {
  return (required ?? []).every(scope => granted.has(scope));
}
