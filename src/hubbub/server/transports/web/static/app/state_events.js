/** What each event of the gateway changes (gateway.md 10). Every handler is `(state, payload)`; unknown events change nothing. */

import { isPrivate, isThread } from "./enums.js";
import { isNewer } from "./ids.js";
import { LATER_HANDLERS } from "./state_message_events.js";

/** @type {Record<string, (state: any, data: any) => void>} */
export const HANDLERS = {
  READY(state, data) {
    state.clear();
    state.me = data.user;
    state.keepUser(data.user);
    for (const channel of data.private_channels ?? []) keepPrivate(state, channel);
    for (const each of data.relationships ?? []) keepRelationship(state, each);
    for (const each of data.presences ?? []) state.presences.set(each.user.id, each);
    for (const each of data.guilds ?? []) state.guilds.set(each.id, { ...each, roles: [], emojis: [], stickers: [] });
    for (const each of data.read_state?.entries ?? []) {
      // `kept` is what the platform has; what is read here may be further.
      state.readStates.set(each.id, { last_message_id: each.last_message_id, mention_count: 0, kept: each.last_message_id });
    }
    // Whatever was said while we were away is in no event: the windows are read anew.
    for (const log of state.logs.values()) log.loaded = false;
    state.ready = true;
    state.changed("ready");
  },

  USER_UPDATE(state, data) {
    state.me = { ...state.me, ...data };
    state.keepUser(data);
    state.changed("me", data.id);
  },

  // Guilds

  GUILD_CREATE(state, data) {
    const { channels, threads, members, presences, voice_states: voiceStates, ...guild } = data;
    state.guilds.set(guild.id, { ...guild, unavailable: false });
    forgetChannels(state, guild.id);
    for (const each of [...channels, ...threads]) state.channels.set(each.id, { ...each, guild_id: guild.id });
    state.members.set(guild.id, new Map());
    for (const each of members) keepMember(state, guild.id, each);
    for (const each of presences) state.presences.set(each.user.id, each);
    state.voiceStates.set(guild.id, new Map(voiceStates.map(each => [each.user_id, { ...each, guild_id: guild.id }])));
    state.changed("guilds", guild.id, guild.id);
  },

  GUILD_UPDATE(state, data) {
    state.guilds.set(data.id, { ...state.guilds.get(data.id), ...data });
    state.changed("guilds", data.id, data.id);
  },

  GUILD_DELETE(state, data) {
    if (data.unavailable) state.guilds.set(data.id, { ...state.guilds.get(data.id), unavailable: true });
    else {
      state.guilds.delete(data.id);
      state.members.delete(data.id);
      state.voiceStates.delete(data.id);
      forgetChannels(state, data.id);
    }
    state.changed("guilds", data.id, data.id);
  },

  GUILD_EMOJIS_UPDATE: (state, data) => changeGuild(state, data.guild_id, { emojis: data.emojis }),
  GUILD_STICKERS_UPDATE: (state, data) => changeGuild(state, data.guild_id, { stickers: data.stickers }),
  GUILD_ROLE_CREATE: changeRole,
  GUILD_ROLE_UPDATE: changeRole,
  GUILD_ROLE_DELETE(state, data) {
    const roles = (state.guilds.get(data.guild_id)?.roles ?? []).filter(each => each.id !== data.role_id);
    changeGuild(state, data.guild_id, { roles });
  },

  // Channels and threads

  CHANNEL_CREATE: changeChannel,
  CHANNEL_UPDATE: changeChannel,
  CHANNEL_DELETE(state, data) {
    for (const thread of state.threadsOf(data.id)) state.channels.delete(thread.id);
    state.channels.delete(data.id);
    state.changed("channels", data.id, data.guild_id);
  },
  CHANNEL_RECIPIENT_ADD(state, { channel_id: id, user }) {
    state.keepUser(user);
    const channel = state.channels.get(id);
    if (channel === undefined) return;
    const others = (channel.recipients ?? []).filter(each => each.id !== user.id);
    state.channels.set(id, { ...channel, recipients: [...others, user] });
    state.changed("channels", id);
  },
  CHANNEL_RECIPIENT_REMOVE(state, { channel_id: id, user }) {
    const channel = state.channels.get(id);
    if (channel === undefined) return;
    state.channels.set(id, { ...channel, recipients: (channel.recipients ?? []).filter(each => each.id !== user.id) });
    state.changed("channels", id);
  },
  CHANNEL_PINS_UPDATE(state, data) {
    const channel = state.channels.get(data.channel_id);
    if (channel === undefined) return;
    state.channels.set(channel.id, { ...channel, last_pin_timestamp: data.last_pin_timestamp });
    state.changed("channels", channel.id, channel.guild_id);
  },
  VOICE_CHANNEL_STATUS_UPDATE(state, data) {
    const channel = state.channels.get(data.id);
    if (channel === undefined) return;
    state.channels.set(channel.id, { ...channel, status: data.status });
    state.changed("channels", channel.id, channel.guild_id);
  },
  THREAD_CREATE: changeChannel,
  THREAD_UPDATE: changeChannel,
  THREAD_DELETE(state, data) {
    state.channels.delete(data.id);
    state.changed("channels", data.id, data.guild_id);
  },
  THREAD_LIST_SYNC(state, data) {
    const parents = data.channel_ids ? new Set(data.channel_ids) : null;
    for (const each of state.channelsOf(data.guild_id)) {
      if (isThread(each) && (parents === null || parents.has(each.parent_id))) state.channels.delete(each.id);
    }
    for (const each of data.threads) state.channels.set(each.id, { ...each, guild_id: data.guild_id });
    for (const member of data.members ?? []) changeThreadMember(state, member.id, member);
    state.changed("channels", null, data.guild_id);
  },
  THREAD_MEMBER_UPDATE(state, data) {
    changeThreadMember(state, data.id, data);
    state.changed("channels", data.id, data.guild_id);
  },
  THREAD_MEMBERS_UPDATE(state, data) {
    const thread = state.channels.get(data.id);
    if (thread === undefined) return;
    const changes = { member_count: data.member_count };
    if (data.removed_member_ids?.includes(state.me.id)) changes.member = undefined;
    const mine = data.added_members?.find(each => each.user_id === state.me.id);
    if (mine !== undefined) changes.member = mine;
    state.channels.set(data.id, { ...thread, ...changes });
    state.changed("channels", data.id, data.guild_id);
  },

  // People

  GUILD_MEMBER_ADD(state, data) {
    keepMember(state, data.guild_id, data);
    countMembers(state, data.guild_id, 1);
    state.changed("members", data.user.id, data.guild_id);
  },
  GUILD_MEMBER_UPDATE(state, data) {
    keepMember(state, data.guild_id, { ...state.member(data.guild_id, data.user.id), ...data });
    state.changed("members", data.user.id, data.guild_id);
  },
  GUILD_MEMBER_REMOVE(state, data) {
    state.members.get(data.guild_id)?.delete(data.user.id);
    countMembers(state, data.guild_id, -1);
    state.changed("members", data.user.id, data.guild_id);
  },
  GUILD_MEMBERS_CHUNK(state, data) {
    for (const each of data.members) keepMember(state, data.guild_id, each);
    for (const each of data.presences ?? []) state.presences.set(each.user.id, each);
    state.changed("members", null, data.guild_id);
  },
  PRESENCE_UPDATE(state, data) {
    if (data.user.username) state.keepUser(data.user);
    if (data.status === "offline") state.presences.delete(data.user.id);
    else state.presences.set(data.user.id, data);
    state.changed("presences", data.user.id, data.guild_id);
  },
  RELATIONSHIP_ADD(state, data) {
    keepRelationship(state, data);
    state.changed("relationships", data.id);
  },
  RELATIONSHIP_UPDATE(state, data) {
    keepRelationship(state, { ...state.relationships.get(data.id), ...data });
    state.changed("relationships", data.id);
  },
  RELATIONSHIP_REMOVE(state, data) {
    state.relationships.delete(data.id);
    state.changed("relationships", data.id);
  },

  VOICE_STATE_UPDATE(state, data) {
    const place = data.guild_id ?? "@me";
    if (!state.voiceStates.has(place)) state.voiceStates.set(place, new Map());
    if (data.member && data.guild_id) keepMember(state, data.guild_id, data.member);
    const before = state.voiceStates.get(place).get(data.user_id);
    if (data.channel_id === null) state.voiceStates.get(place).delete(data.user_id);
    else state.voiceStates.get(place).set(data.user_id, data);
    state.changed("voiceStates", data.channel_id ?? before?.channel_id, data.guild_id);
  },

  MESSAGE_ACK(state, data) {
    const known = state.readStates.get(data.channel_id);
    // Another window of ours has read on; one that went back to mark something unread says `manual`.
    const behind = !data.manual && known && isNewer(known.last_message_id, data.message_id);
    if (behind) state.readStates.set(data.channel_id, { ...known, kept: data.message_id });
    else state.readStates.set(data.channel_id, { last_message_id: data.message_id, mention_count: 0, kept: data.message_id });
    state.changed("readStates", data.channel_id);
  },

  ...LATER_HANDLERS,
};

function keepPrivate(state, channel) {
  for (const each of channel.recipients ?? []) state.keepUser(each);
  state.channels.set(channel.id, channel);
}

function keepRelationship(state, relationship) {
  if (relationship.user) state.keepUser(relationship.user);
  state.relationships.set(relationship.id, relationship);
}

function keepMember(state, guildId, member) {
  if (!state.members.has(guildId)) state.members.set(guildId, new Map());
  state.keepUser(member.user);
  state.members.get(guildId).set(member.user.id, member);
}

function countMembers(state, guildId, by) {
  const guild = state.guilds.get(guildId);
  if (guild !== undefined) state.guilds.set(guildId, { ...guild, member_count: (guild.member_count ?? 0) + by });
}

function changeGuild(state, guildId, changes) {
  const guild = state.guilds.get(guildId);
  if (guild === undefined) return;
  state.guilds.set(guildId, { ...guild, ...changes });
  state.changed("guilds", guildId, guildId);
}

function changeRole(state, { guild_id: guildId, role }) {
  const others = (state.guilds.get(guildId)?.roles ?? []).filter(each => each.id !== role.id);
  changeGuild(state, guildId, { roles: [...others, role] });
}

function changeChannel(state, data) {
  const known = state.channels.get(data.id);
  if (isPrivate(data)) keepPrivate(state, { ...known, ...data });
  // The events of a channel say nothing new of its last message (gateway.md 10).
  else state.channels.set(data.id, { ...known, ...data, last_message_id: latest(known, data) });
  state.changed("channels", data.id, data.guild_id);
}

function latest(known, data) {
  return isNewer(known?.last_message_id, data.last_message_id) ? known.last_message_id : data.last_message_id ?? null;
}

function changeThreadMember(state, threadId, member) {
  const thread = state.channels.get(threadId);
  if (thread !== undefined) state.channels.set(threadId, { ...thread, member });
}

function forgetChannels(state, guildId) {
  for (const each of state.channelsOf(guildId)) state.channels.delete(each.id);
}

