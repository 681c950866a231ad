/** RPC representations of objects, in the exact shape that the public SDK validates (spec/activities.md#6). */

/** Return a user. */
export function user(sent) {
  return {
    id: sent.id,
    username: sent.username ?? "",
    discriminator: sent.discriminator ?? "0",
    global_name: sent.global_name ?? null,
    avatar: sent.avatar ?? null,
    avatar_decoration_data: sent.avatar_decoration_data ?? null,
    bot: Boolean(sent.bot),
    flags: sent.public_flags ?? 0,
    premium_type: sent.premium_type ?? 0,
  };
}

/** Return the participants, each once, with their nickname in the guild. */
export async function participants({ context, instance }) {
  const { state, guildId } = context;
  const found = [];
  for (const id of new Set(instance.participants.map(participant => participant.user_id))) {
    const member = instance.participants.find(participant => participant.user_id === id)?.member;
    const known =
      state.user(id) ?? member?.user ?? (await context.api.request("GET", `/users/${id}`).catch(() => null));
    if (!known) continue;
    const nick = member?.nick ?? state.member(guildId, id)?.nick;
    found.push(nick ? { ...user(known), nickname: nick } : user(known));
  }
  return found;
}

/** Return a relationship with the user's presence. */
export function relationship({ state }, sent) {
  const presence = state.presences.get(sent.id);
  const activity = presence?.activities?.[0] ?? null;
  return {
    type: sent.type ?? 0,
    user: user(sent.user ?? state.user(sent.id) ?? { id: sent.id }),
    presence: { status: presence?.status ?? "offline", activity: activity && withoutNulls(activity) },
  };
}

/** Return a copy without null values, which the SDK rejects. */
function withoutNulls(activity) {
  return Object.fromEntries(Object.entries(activity).filter(([, value]) => value !== null));
}

/** Return the voice state of a user. */
export function voiceState({ state, guildId }, sent) {
  const account = state.user(sent.user_id) ?? sent.member?.user ?? { id: sent.user_id };
  const { mute = false, deaf = false, self_mute = false, self_deaf = false, suppress = false } = sent;
  return {
    voice_state: { mute, deaf, self_mute, self_deaf, suppress },
    user: user(account),
    nick: state.nameOf(account, guildId),
    volume: 100,
    mute: false,
    pan: { left: 1, right: 1 },
  };
}

/** Return a channel with its voice states. Messages are never included. */
export function channel(context, sent) {
  const { state } = context;
  return {
    id: sent.id,
    type: sent.type,
    guild_id: sent.guild_id ?? null,
    name: sent.name ?? (sent.recipients ?? []).map(recipient => state.nameOf(recipient)).join(", "),
    topic: sent.topic ?? "",
    bitrate: sent.bitrate ?? 0,
    user_limit: sent.user_limit ?? 0,
    position: sent.position ?? 0,
    voice_states: state.voiceStatesIn(sent.id).map(source => voiceState(context, source)),
    messages: [],
  };
}

/** Return the current user's member in a guild. */
export function member({ state }, guildId) {
  const known = state.member(guildId, state.me.id);
  return {
    user_id: state.me.id,
    guild_id: guildId,
    nick: known?.nick ?? null,
    avatar: known?.avatar ?? null,
    avatar_decoration_data: known?.avatar_decoration_data ?? null,
    color_string: roleColor(state.guilds.get(guildId), known),
  };
}

function roleColor(guild, known) {
  const held = (guild?.roles ?? []).filter(role => known?.roles.includes(role.id) && role.color);
  const top = held.sort((one, other) => other.position - one.position)[0];
  return top ? `#${top.color.toString(16).padStart(6, "0")}` : null;
}

/** Return a SKU. */
export function sku(sent) {
  const { id, name, type, application_id, flags = 0, price, currency } = sent;
  return {
    id,
    name,
    type,
    application_id,
    flags,
    price: { amount: price, currency },
    release_date: sent.release_date ?? null,
  };
}

/** Return an entitlement without null values. */
export function entitlement(sent) {
  return { gift_code_flags: 0, ...withoutNulls(sent) };
}
