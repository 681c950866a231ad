/** Whether scopes are enough. `rpc.authenticated` is had by whoever brought a token (rpc.md 6). */

const PRESENCE = [
  "activities.invites.write", "activities.read", "activities.write", "application_identities.write", "gateway.connect", "identify", "relationships.read",
  "relationships.write",
];
const COMMUNICATION = [
  ...PRESENCE, "dm_channels.read", "dm_channels.messages.read", "dm_channels.messages.write", "guilds", "guilds.channels.read", "lobbies.write",
];
/** What umbrellas stand for (webhooks-and-interactions.md 8.5). */
const UMBRELLAS = { "sdk.social_layer_presence": PRESENCE, "sdk.social_layer": COMMUNICATION };

/** Everything that a token's scopes allow. */
export function expand(scopes) {
  return new Set(["rpc.authenticated", ...scopes.flatMap(each => [each, ...(UMBRELLAS[each] ?? [])])]);
}

/** @param {string[]|undefined} needs all of them; none: everybody */
export function allowed(needs, held) {
  return (needs ?? []).every(each => held.has(each));
}
