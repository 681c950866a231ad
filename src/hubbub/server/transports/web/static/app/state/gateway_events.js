/** Handlers of gateway events: `(state, payload)` (spec/gateway.md#10). Unknown events are ignored. */

import { isPrivate, isThread } from "../network/enums.js";
import { isNewer } from "../network/ids.js";
import { LOBBY_HANDLERS, storeLobby } from "./lobby_events.js";
import { MESSAGE_HANDLERS } from "./message_events.js";
import { PRIVATE_SETTINGS, storeGuildSettings } from "./notification_rules.js";

/** @type {Record<string, (state: any, data: any) => void>} */
export const GATEWAY_HANDLERS = {
  READY(state, data) {
    state.clear();
    state.me = data.user;
    state.settings = data.user_settings ?? {};
    state.storeUser(data.user);
    for (const channel of data.private_channels ?? []) storePrivateChannel(state, channel);
    for (const relationship of data.relationships ?? []) storeRelationship(state, relationship);
    for (const presence of data.presences ?? []) state.presences.set(presence.user.id, presence);
    for (const guild of data.guilds ?? [])
      state.guilds.set(guild.id, { ...guild, roles: [], emojis: [], stickers: [] });
    for (const readState of data.read_state?.entries ?? []) {
      // `acknowledged` is the server's value; `last_message_id` may be ahead of it.
      state.readStates.set(readState.id, {
        last_message_id: readState.last_message_id,
        mention_count: readState.mention_count ?? 0,
        acknowledged: readState.last_message_id,
      });
    }
    for (const settings of data.user_guild_settings?.entries ?? []) storeGuildSettings(state, settings);
    for (const lobby of data.lobbies ?? []) storeLobby(state, lobby);
    // Messages missed while disconnected are in no event, so reload the logs.
    for (const log of state.logs.values()) log.loaded = false;
    state.ready = true;
    state.emitChange("ready");
  },

  USER_UPDATE(state, data) {
    state.me = { ...state.me, ...data };
    state.storeUser(data);
    state.emitChange("me", data.id);
  },

  USER_SETTINGS_UPDATE(state, data) {
    state.settings = data;
    state.emitChange("settings");
  },

  // Guilds

  GUILD_CREATE(state, data) {
    const { channels, threads, members, presences, voice_states: voiceStates, ...guild } = data;
    state.guilds.set(guild.id, { ...guild, unavailable: false });
    state.formerGuilds.delete(guild.id);
    removeChannels(state, guild.id);
    for (const channel of [...channels, ...threads]) state.channels.set(channel.id, { ...channel, guild_id: guild.id });
    state.members.set(guild.id, new Map());
    for (const member of members) storeMember(state, guild.id, member);
    for (const presence of presences) state.presences.set(presence.user.id, presence);
    state.voiceStates.set(
      guild.id,
      new Map(voiceStates.map(voiceState => [voiceState.user_id, { ...voiceState, guild_id: guild.id }])),
    );
    state.emitChange("guilds", guild.id, guild.id);
  },

  GUILD_UPDATE(state, data) {
    state.guilds.set(data.id, { ...state.guilds.get(data.id), ...data });
    state.emitChange("guilds", data.id, data.id);
  },

  GUILD_DELETE(state, data) {
    if (data.unavailable) {
      state.guilds.set(data.id, { ...state.guilds.get(data.id), unavailable: true });
      removeChannels(state, data.id);
    } else {
      const name = state.guilds.get(data.id)?.name;
      if (name) state.formerGuilds.set(data.id, name);
      state.guilds.delete(data.id);
      state.members.delete(data.id);
      state.voiceStates.delete(data.id);
      removeChannels(state, data.id);
    }
    state.emitChange("guilds", data.id, data.id);
  },

  GUILD_EMOJIS_UPDATE: (state, data) => changeGuild(state, data.guild_id, { emojis: data.emojis }),
  GUILD_STICKERS_UPDATE: (state, data) => changeGuild(state, data.guild_id, { stickers: data.stickers }),
  GUILD_ROLE_CREATE: changeRole,
  GUILD_ROLE_UPDATE: changeRole,
  GUILD_ROLE_DELETE(state, data) {
    const roles = (state.guilds.get(data.guild_id)?.roles ?? []).filter(role => role.id !== data.role_id);
    changeGuild(state, data.guild_id, { roles });
  },

  STAGE_INSTANCE_CREATE: (state, data) => changeStage(state, data, [data]),
  STAGE_INSTANCE_UPDATE: (state, data) => changeStage(state, data, [data]),
  STAGE_INSTANCE_DELETE: (state, data) => changeStage(state, data, []),

  // Audit log entries, rules, join requests, sounds, webhooks, integrations, invites and scheduled events are not stored:
  // the screens that show them fetch them again after a change.

  GUILD_AUDIT_LOG_ENTRY_CREATE: (state, data) => state.emitChange("auditLog", data.id, data.guild_id),

  AUTO_MODERATION_RULE_CREATE: emitRuleChange,
  AUTO_MODERATION_RULE_UPDATE: emitRuleChange,
  AUTO_MODERATION_RULE_DELETE: emitRuleChange,
  GUILD_JOIN_REQUEST_CREATE: emitJoinRequestChange,
  GUILD_JOIN_REQUEST_UPDATE: emitJoinRequestChange,
  GUILD_JOIN_REQUEST_DELETE: emitJoinRequestChange,
  GUILD_SOUNDBOARD_SOUND_CREATE: (state, data) => state.emitChange("sounds", data.sound_id, data.guild_id),
  GUILD_SOUNDBOARD_SOUND_UPDATE: (state, data) => state.emitChange("sounds", data.sound_id, data.guild_id),
  GUILD_SOUNDBOARD_SOUND_DELETE: (state, data) => state.emitChange("sounds", data.sound_id, data.guild_id),
  GUILD_SOUNDBOARD_SOUNDS_UPDATE: (state, data) => state.emitChange("sounds", null, data.guild_id),

  WEBHOOKS_UPDATE: (state, data) => state.emitChange("webhooks", data.channel_id, data.guild_id),

  GUILD_INTEGRATIONS_UPDATE: (state, data) => state.emitChange("integrations", null, data.guild_id),

  INVITE_CREATE: (state, data) => state.emitChange("invites", data.code, data.guild_id),
  INVITE_DELETE: (state, data) => state.emitChange("invites", data.code, data.guild_id),

  GUILD_SCHEDULED_EVENT_CREATE: (state, data) => state.emitChange("scheduledEvents", data.id, data.guild_id),
  GUILD_SCHEDULED_EVENT_UPDATE: (state, data) => state.emitChange("scheduledEvents", data.id, data.guild_id),
  GUILD_SCHEDULED_EVENT_DELETE: (state, data) => state.emitChange("scheduledEvents", data.id, data.guild_id),
  GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE: emitEventChange,
  GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE: emitEventChange,
  GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE: emitEventChange,
  GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE: emitEventChange,
  GUILD_SCHEDULED_EVENT_USER_ADD: (state, data) => state.emitChange("scheduledEvents", null, data.guild_id),
  GUILD_SCHEDULED_EVENT_USER_REMOVE: (state, data) => state.emitChange("scheduledEvents", null, data.guild_id),

  // Channels and threads

  CHANNEL_CREATE: changeChannel,
  CHANNEL_UPDATE: changeChannel,
  CHANNEL_DELETE(state, data) {
    for (const thread of state.threadsOf(data.id)) state.channels.delete(thread.id);
    state.channels.delete(data.id);
    state.emitChange("channels", data.id, data.guild_id);
  },
  CHANNEL_RECIPIENT_ADD(state, { channel_id: id, user }) {
    state.storeUser(user);
    const channel = state.channels.get(id);
    if (channel === undefined) return;
    const otherRecipients = (channel.recipients ?? []).filter(recipient => recipient.id !== user.id);
    state.channels.set(id, { ...channel, recipients: [...otherRecipients, user] });
    state.emitChange("channels", id);
  },
  CHANNEL_RECIPIENT_REMOVE(state, { channel_id: id, user }) {
    const channel = state.channels.get(id);
    if (channel === undefined) return;
    state.channels.set(id, {
      ...channel,
      recipients: (channel.recipients ?? []).filter(recipient => recipient.id !== user.id),
    });
    state.emitChange("channels", id);
  },
  CHANNEL_PINS_UPDATE(state, data) {
    const channel = state.channels.get(data.channel_id);
    if (channel === undefined) return;
    state.channels.set(channel.id, { ...channel, last_pin_timestamp: data.last_pin_timestamp });
    state.emitChange("channels", channel.id, channel.guild_id);
  },
  VOICE_CHANNEL_STATUS_UPDATE(state, data) {
    const channel = state.channels.get(data.id);
    if (channel === undefined) return;
    state.channels.set(channel.id, { ...channel, status: data.status });
    state.emitChange("channels", channel.id, channel.guild_id);
  },
  THREAD_CREATE: changeChannel,
  THREAD_UPDATE: changeChannel,
  THREAD_DELETE(state, data) {
    state.channels.delete(data.id);
    state.emitChange("channels", data.id, data.guild_id);
  },
  THREAD_LIST_SYNC(state, data) {
    const parentIds = data.channel_ids ? new Set(data.channel_ids) : null;
    for (const channel of state.channelsOf(data.guild_id)) {
      if (isThread(channel) && (parentIds === null || parentIds.has(channel.parent_id)))
        state.channels.delete(channel.id);
    }
    for (const thread of data.threads) state.channels.set(thread.id, { ...thread, guild_id: data.guild_id });
    for (const member of data.members ?? []) changeThreadMember(state, member.id, member);
    state.emitChange("channels", null, data.guild_id);
  },
  THREAD_MEMBER_UPDATE(state, data) {
    changeThreadMember(state, data.id, data);
    state.emitChange("channels", data.id, data.guild_id);
  },
  THREAD_MEMBERS_UPDATE(state, data) {
    const thread = state.channels.get(data.id);
    if (thread === undefined) return;
    const changes = { member_count: data.member_count };
    if (data.removed_member_ids?.includes(state.me.id)) changes.member = undefined;
    const ownMember = data.added_members?.find(member => member.user_id === state.me.id);
    if (ownMember !== undefined) changes.member = ownMember;
    state.channels.set(data.id, { ...thread, ...changes });
    state.emitChange("channels", data.id, data.guild_id);
  },

  // Members, presences and relationships

  GUILD_MEMBER_ADD(state, data) {
    storeMember(state, data.guild_id, data);
    addToMemberCount(state, data.guild_id, 1);
    state.emitChange("members", data.user.id, data.guild_id);
  },
  GUILD_MEMBER_UPDATE(state, data) {
    storeMember(state, data.guild_id, { ...state.member(data.guild_id, data.user.id), ...data });
    state.emitChange("members", data.user.id, data.guild_id);
  },
  GUILD_MEMBER_REMOVE(state, data) {
    state.members.get(data.guild_id)?.delete(data.user.id);
    addToMemberCount(state, data.guild_id, -1);
    state.emitChange("members", data.user.id, data.guild_id);
  },
  GUILD_MEMBERS_CHUNK(state, data) {
    for (const member of data.members) storeMember(state, data.guild_id, member);
    for (const presence of data.presences ?? []) state.presences.set(presence.user.id, presence);
    state.emitChange("members", null, data.guild_id);
  },
  PRESENCE_UPDATE(state, data) {
    if (data.user.username) state.storeUser(data.user);
    if (data.status === "offline") state.presences.delete(data.user.id);
    else state.presences.set(data.user.id, data);
    state.emitChange("presences", data.user.id, data.guild_id);
  },
  SESSIONS_REPLACE(state, data) {
    state.ownSessions = data;
    state.emitChange("presences", state.me.id);
  },
  RELATIONSHIP_ADD(state, data) {
    storeRelationship(state, data);
    state.emitChange("relationships", data.id);
  },
  RELATIONSHIP_UPDATE(state, data) {
    storeRelationship(state, { ...state.relationships.get(data.id), ...data });
    state.emitChange("relationships", data.id);
  },
  RELATIONSHIP_REMOVE(state, data) {
    state.relationships.delete(data.id);
    state.emitChange("relationships", data.id);
  },

  VOICE_STATE_UPDATE(state, data) {
    const guildKey = data.guild_id ?? "@me";
    if (!state.voiceStates.has(guildKey)) state.voiceStates.set(guildKey, new Map());
    if (data.member && data.guild_id) storeMember(state, data.guild_id, data.member);
    const previousVoiceState = state.voiceStates.get(guildKey).get(data.user_id);
    if (data.channel_id === null) state.voiceStates.get(guildKey).delete(data.user_id);
    else state.voiceStates.get(guildKey).set(data.user_id, data);
    state.emitChange("voiceStates", data.channel_id ?? previousVoiceState?.channel_id, data.guild_id);
  },

  MESSAGE_ACK(state, data) {
    const readState = state.readStates.get(data.channel_id);
    // An older acknowledgment from another window does not move the read position back, unless `manual` marks messages as unread.
    const isOutdated = !data.manual && readState && isNewer(readState.last_message_id, data.message_id);
    if (isOutdated) state.readStates.set(data.channel_id, { ...readState, acknowledged: data.message_id });
    else
      state.readStates.set(data.channel_id, {
        last_message_id: data.message_id,
        mention_count: data.mention_count ?? 0,
        acknowledged: data.message_id,
        isMarkedUnread: Boolean(data.manual),
      });
    state.emitChange("readStates", data.channel_id);
  },

  USER_GUILD_SETTINGS_UPDATE(state, data) {
    storeGuildSettings(state, data);
    state.emitChange("notificationSettings", data.guild_id ?? PRIVATE_SETTINGS, data.guild_id);
  },

  ...LOBBY_HANDLERS,
  ...MESSAGE_HANDLERS,
};

function emitEventChange(state, data) {
  state.emitChange("scheduledEvents", data.event_id, data.guild_id);
}

function storePrivateChannel(state, channel) {
  for (const recipient of channel.recipients ?? []) state.storeUser(recipient);
  state.channels.set(channel.id, channel);
}

function storeRelationship(state, relationship) {
  if (relationship.user) state.storeUser(relationship.user);
  state.relationships.set(relationship.id, relationship);
}

function storeMember(state, guildId, member) {
  if (!state.members.has(guildId)) state.members.set(guildId, new Map());
  state.storeUser(member.user);
  state.members.get(guildId).set(member.user.id, member);
}

function addToMemberCount(state, guildId, difference) {
  const guild = state.guilds.get(guildId);
  if (guild !== undefined)
    state.guilds.set(guildId, { ...guild, member_count: (guild.member_count ?? 0) + difference });
}

function changeGuild(state, guildId, changes) {
  const guild = state.guilds.get(guildId);
  if (guild === undefined) return;
  state.guilds.set(guildId, { ...guild, ...changes });
  state.emitChange("guilds", guildId, guildId);
}

function changeRole(state, { guild_id: guildId, role }) {
  const otherRoles = (state.guilds.get(guildId)?.roles ?? []).filter(otherRole => otherRole.id !== role.id);
  changeGuild(state, guildId, { roles: [...otherRoles, role] });
}

/** Replace a stage instance of a guild by `versions`: its new version, or none if it ended. */
function changeStage(state, { id, guild_id: guildId }, versions) {
  const otherStages = (state.guilds.get(guildId)?.stage_instances ?? []).filter(stage => stage.id !== id);
  changeGuild(state, guildId, { stage_instances: [...otherStages, ...versions] });
}

function emitRuleChange(state, rule) {
  state.emitChange("autoModeration", rule.id, rule.guild_id);
}

function emitJoinRequestChange(state, data) {
  state.emitChange("joinRequests", data.request?.id ?? data.id, data.guild_id);
}

function changeChannel(state, channel) {
  const storedChannel = state.channels.get(channel.id);
  if (isPrivate(channel)) storePrivateChannel(state, { ...storedChannel, ...channel });
  // The last message ID in channel events may be outdated: they are not sent for new messages (spec/gateway.md#10).
  else {
    const lastMessageId = latestMessageId(storedChannel, channel);
    // The event of an unlinked channel has no `linked_lobby`.
    state.channels.set(channel.id, {
      ...storedChannel,
      linked_lobby: undefined,
      ...channel,
      last_message_id: lastMessageId,
    });
  }
  state.emitChange("channels", channel.id, channel.guild_id);
}

/** Return the newer last message ID of the stored channel and the event. */
function latestMessageId(storedChannel, channel) {
  return isNewer(storedChannel?.last_message_id, channel.last_message_id)
    ? storedChannel.last_message_id
    : (channel.last_message_id ?? null);
}

function changeThreadMember(state, threadId, member) {
  const thread = state.channels.get(threadId);
  if (thread !== undefined) state.channels.set(threadId, { ...thread, member });
}

function removeChannels(state, guildId) {
  for (const channel of state.channelsOf(guildId)) state.channels.delete(channel.id);
}
