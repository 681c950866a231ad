/** RPC representations of objects, in the exact shape that the public SDK validates (spec/activities.md#6). */

import { RelationshipType } from "../../generated/enums.js";

/** Return the payload of a user. `premiumType` is known for the current user only, if the app's token may read it. */
export function user(source, premiumType = 0) {
  return {
    id: source.id,
    username: source.username ?? "",
    discriminator: source.discriminator ?? "0",
    global_name: source.global_name ?? null,
    avatar: source.avatar ?? null,
    avatar_decoration_data: source.avatar_decoration_data ?? null,
    bot: Boolean(source.bot),
    flags: source.public_flags ?? 0,
    premium_type: premiumType,
  };
}

/** Return the payloads of the participants, each once, with their nickname in the guild; omit users who cannot be loaded. */
export async function participants({ context, instance }) {
  const { state, guildId } = context;
  const payloads = [];
  for (const id of new Set(instance.participants.map(participant => participant.user_id))) {
    const member = instance.participants.find(participant => participant.user_id === id)?.member;
    const account =
      state.user(id) ?? member?.user ?? (await context.api.request("GET", `/users/${id}`).catch(() => null));
    if (!account) continue;
    const nick = member?.nick ?? state.member(guildId, id)?.nick;
    payloads.push(nick ? { ...user(account), nickname: nick } : user(account));
  }
  return payloads;
}

/** Return a relationship with the user's presence. */
export function relationship({ state }, source) {
  const presence = state.presences.get(source.id);
  const activity = presence?.activities?.[0] ?? null;
  return {
    type: source.type ?? RelationshipType.NONE,
    user: user(source.user ?? state.user(source.id) ?? { id: source.id }),
    presence: { status: presence?.status ?? "offline", activity: activity && withoutNulls(activity) },
  };
}

/** Return a copy without null values, which the SDK rejects in activities and entitlements. */
function withoutNulls(source) {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== null));
}

/** Return the payload of a user's voice state. The volume, mute and pan that the listener chose are unknown: fixed values. */
export function voiceState({ state, guildId }, source) {
  const account = state.user(source.user_id) ?? source.member?.user ?? { id: source.user_id };
  const { mute = false, deaf = false, self_mute = false, self_deaf = false, suppress = false } = source;
  return {
    voice_state: { mute, deaf, self_mute, self_deaf, suppress },
    user: user(account),
    nick: state.displayName(account, guildId),
    volume: 100,
    mute: false,
    pan: { left: 1, right: 1 },
  };
}

/** Return a channel with its voice states. Messages are never included. */
export function channel(context, source) {
  const { state } = context;
  return {
    id: source.id,
    type: source.type,
    guild_id: source.guild_id ?? null,
    name: source.name ?? (source.recipients ?? []).map(recipient => state.displayName(recipient)).join(", "),
    topic: source.topic ?? "",
    bitrate: source.bitrate ?? 0,
    user_limit: source.user_limit ?? 0,
    position: source.position ?? 0,
    voice_states: state.voiceStatesIn(source.id).map(entry => voiceState(context, entry)),
    messages: [],
  };
}

/** Return the current user's member object of a guild. */
export function member({ state }, guildId) {
  const ownMember = state.member(guildId, state.me.id);
  return {
    user_id: state.me.id,
    guild_id: guildId,
    nick: ownMember?.nick ?? null,
    avatar: ownMember?.avatar ?? null,
    avatar_decoration_data: ownMember?.avatar_decoration_data ?? null,
    color_string: roleColor(state.guilds.get(guildId), ownMember),
  };
}

/** Return the color of a member's highest colored role, as `#rrggbb`, or null. */
function roleColor(guild, guildMember) {
  const coloredRoles = (guild?.roles ?? []).filter(role => guildMember?.roles.includes(role.id) && role.color);
  const topRole = coloredRoles.sort((a, b) => b.position - a.position)[0];
  return topRole ? `#${topRole.color.toString(16).padStart(6, "0")}` : null;
}

/** Return the payload of a SKU, with the price as an object. */
export function sku(source) {
  const { id, name, type, application_id, flags = 0, price, currency } = source;
  return {
    id,
    name,
    type,
    application_id,
    flags,
    price: { amount: price, currency },
    release_date: source.release_date ?? null,
  };
}

/** Return the payload of an entitlement, without null values, and with `gift_code_flags`, which the SDK requires. */
export function entitlement(source) {
  return { gift_code_flags: 0, ...withoutNulls(source) };
}
