/** Handlers of gateway events: `(state, payload)` (spec/gateway.md#10). Unknown events are ignored. */

import { isPrivate, isThread } from "../network/enums.js";
import { isNewer } from "../network/ids.js";
import { LOBBY_HANDLERS, storeLobby } from "./lobby_events.js";
import { MESSAGE_HANDLERS } from "./message_events.js";
import { PRIVATE_SETTINGS, storeGuildSettings } from "./notification_rules.js";

/** @type {Record<string, (state: any, payload: any) => void>} */
export const GATEWAY_HANDLERS = {
  READY(state, payload) {
    state.clear();
    state.me = payload.user;
    state.settings = payload.user_settings ?? {};
    state.storeUser(payload.user);
    for (const channel of payload.private_channels ?? []) storePrivateChannel(state, channel);
    for (const relationship of payload.relationships ?? []) storeRelationship(state, relationship);
    for (const presence of payload.presences ?? []) state.presences.set(presence.user.id, presence);
    for (const guild of payload.guilds ?? [])
      state.guilds.set(guild.id, { ...guild, roles: [], emojis: [], stickers: [] });
    for (const readState of payload.read_state?.entries ?? []) {
      // `acknowledged` is the server's value; `last_message_id` may be ahead of it.
      state.readStates.set(readState.id, {
        last_message_id: readState.last_message_id,
        mention_count: readState.mention_count ?? 0,
        acknowledged: readState.last_message_id,
      });
    }
    for (const settings of payload.user_guild_settings?.entries ?? []) storeGuildSettings(state, settings);
    for (const lobby of payload.lobbies ?? []) storeLobby(state, lobby);
    // Messages missed while disconnected are in no event, so reload the logs.
    for (const log of state.logs.values()) log.isLoaded = false;
    state.ready = true;
    state.emitChange("ready");
  },

  USER_UPDATE(state, payload) {
    state.me = { ...state.me, ...payload };
    state.storeUser(payload);
    state.emitChange("me", payload.id);
  },

  USER_SETTINGS_UPDATE(state, payload) {
    state.settings = payload;
    state.emitChange("settings");
  },

  // Guilds

  GUILD_CREATE(state, payload) {
    const { channels, threads, members, presences, voice_states: voiceStates, ...guild } = payload;
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

  GUILD_UPDATE(state, payload) {
    state.guilds.set(payload.id, { ...state.guilds.get(payload.id), ...payload });
    state.emitChange("guilds", payload.id, payload.id);
  },

  GUILD_DELETE(state, payload) {
    if (payload.unavailable) {
      state.guilds.set(payload.id, { ...state.guilds.get(payload.id), unavailable: true });
      removeChannels(state, payload.id);
    } else {
      const name = state.guilds.get(payload.id)?.name;
      if (name) state.formerGuilds.set(payload.id, name);
      state.guilds.delete(payload.id);
      state.members.delete(payload.id);
      state.voiceStates.delete(payload.id);
      removeChannels(state, payload.id);
    }
    state.emitChange("guilds", payload.id, payload.id);
  },

  GUILD_EMOJIS_UPDATE: (state, payload) => changeGuild(state, payload.guild_id, { emojis: payload.emojis }),
  GUILD_STICKERS_UPDATE: (state, payload) => changeGuild(state, payload.guild_id, { stickers: payload.stickers }),
  GUILD_ROLE_CREATE: changeRole,
  GUILD_ROLE_UPDATE: changeRole,
  GUILD_ROLE_DELETE(state, payload) {
    const roles = (state.guilds.get(payload.guild_id)?.roles ?? []).filter(role => role.id !== payload.role_id);
    changeGuild(state, payload.guild_id, { roles });
  },

  STAGE_INSTANCE_CREATE: (state, payload) => changeStage(state, payload, [payload]),
  STAGE_INSTANCE_UPDATE: (state, payload) => changeStage(state, payload, [payload]),
  STAGE_INSTANCE_DELETE: (state, payload) => changeStage(state, payload, []),

  // Audit log entries, rules, join requests, sounds, webhooks, integrations, invites and scheduled events are not stored:
  // the screens that show them fetch them again after a change.

  GUILD_AUDIT_LOG_ENTRY_CREATE: (state, payload) => state.emitChange("auditLog", payload.id, payload.guild_id),

  AUTO_MODERATION_RULE_CREATE: emitRuleChange,
  AUTO_MODERATION_RULE_UPDATE: emitRuleChange,
  AUTO_MODERATION_RULE_DELETE: emitRuleChange,
  GUILD_JOIN_REQUEST_CREATE: emitJoinRequestChange,
  GUILD_JOIN_REQUEST_UPDATE: emitJoinRequestChange,
  GUILD_JOIN_REQUEST_DELETE: emitJoinRequestChange,
  GUILD_SOUNDBOARD_SOUND_CREATE: (state, payload) => state.emitChange("sounds", payload.sound_id, payload.guild_id),
  GUILD_SOUNDBOARD_SOUND_UPDATE: (state, payload) => state.emitChange("sounds", payload.sound_id, payload.guild_id),
  GUILD_SOUNDBOARD_SOUND_DELETE: (state, payload) => state.emitChange("sounds", payload.sound_id, payload.guild_id),
  GUILD_SOUNDBOARD_SOUNDS_UPDATE: (state, payload) => state.emitChange("sounds", null, payload.guild_id),

  WEBHOOKS_UPDATE: (state, payload) => state.emitChange("webhooks", payload.channel_id, payload.guild_id),

  GUILD_INTEGRATIONS_UPDATE: (state, payload) => state.emitChange("integrations", null, payload.guild_id),

  INVITE_CREATE: (state, payload) => state.emitChange("invites", payload.code, payload.guild_id),
  INVITE_DELETE: (state, payload) => state.emitChange("invites", payload.code, payload.guild_id),

  GUILD_SCHEDULED_EVENT_CREATE: (state, payload) => state.emitChange("scheduledEvents", payload.id, payload.guild_id),
  GUILD_SCHEDULED_EVENT_UPDATE: (state, payload) => state.emitChange("scheduledEvents", payload.id, payload.guild_id),
  GUILD_SCHEDULED_EVENT_DELETE: (state, payload) => state.emitChange("scheduledEvents", payload.id, payload.guild_id),
  GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE: emitEventChange,
  GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE: emitEventChange,
  GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE: emitEventChange,
  GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE: emitEventChange,
  GUILD_SCHEDULED_EVENT_USER_ADD: (state, payload) => state.emitChange("scheduledEvents", null, payload.guild_id),
  GUILD_SCHEDULED_EVENT_USER_REMOVE: (state, payload) => state.emitChange("scheduledEvents", null, payload.guild_id),

  // Channels and threads

  CHANNEL_CREATE: changeChannel,
  CHANNEL_UPDATE: changeChannel,
  CHANNEL_DELETE(state, payload) {
    for (const thread of state.threadsOf(payload.id)) state.channels.delete(thread.id);
    state.channels.delete(payload.id);
    state.emitChange("channels", payload.id, payload.guild_id);
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
  CHANNEL_PINS_UPDATE(state, payload) {
    const channel = state.channels.get(payload.channel_id);
    if (channel === undefined) return;
    state.channels.set(channel.id, { ...channel, last_pin_timestamp: payload.last_pin_timestamp });
    state.emitChange("channels", channel.id, channel.guild_id);
  },
  VOICE_CHANNEL_STATUS_UPDATE(state, payload) {
    const channel = state.channels.get(payload.id);
    if (channel === undefined) return;
    state.channels.set(channel.id, { ...channel, status: payload.status });
    state.emitChange("channels", channel.id, channel.guild_id);
  },
  THREAD_CREATE: changeChannel,
  THREAD_UPDATE: changeChannel,
  THREAD_DELETE(state, payload) {
    state.channels.delete(payload.id);
    state.emitChange("channels", payload.id, payload.guild_id);
  },
  THREAD_LIST_SYNC(state, payload) {
    const parentIds = payload.channel_ids ? new Set(payload.channel_ids) : null;
    for (const channel of state.channelsOf(payload.guild_id)) {
      if (isThread(channel) && (parentIds === null || parentIds.has(channel.parent_id)))
        state.channels.delete(channel.id);
    }
    for (const thread of payload.threads) state.channels.set(thread.id, { ...thread, guild_id: payload.guild_id });
    for (const member of payload.members ?? []) changeThreadMember(state, member.id, member);
    state.emitChange("channels", null, payload.guild_id);
  },
  THREAD_MEMBER_UPDATE(state, payload) {
    changeThreadMember(state, payload.id, payload);
    state.emitChange("channels", payload.id, payload.guild_id);
  },
  THREAD_MEMBERS_UPDATE(state, payload) {
    const thread = state.channels.get(payload.id);
    if (thread === undefined) return;
    const changes = { member_count: payload.member_count };
    if (payload.removed_member_ids?.includes(state.me.id)) changes.member = undefined;
    const ownMember = payload.added_members?.find(member => member.user_id === state.me.id);
    if (ownMember !== undefined) changes.member = ownMember;
    state.channels.set(payload.id, { ...thread, ...changes });
    state.emitChange("channels", payload.id, payload.guild_id);
  },

  // Members, presences and relationships

  GUILD_MEMBER_ADD(state, payload) {
    storeMember(state, payload.guild_id, payload);
    addToMemberCount(state, payload.guild_id, 1);
    state.emitChange("members", payload.user.id, payload.guild_id);
  },
  GUILD_MEMBER_UPDATE(state, payload) {
    storeMember(state, payload.guild_id, { ...state.member(payload.guild_id, payload.user.id), ...payload });
    state.emitChange("members", payload.user.id, payload.guild_id);
  },
  GUILD_MEMBER_REMOVE(state, payload) {
    state.members.get(payload.guild_id)?.delete(payload.user.id);
    addToMemberCount(state, payload.guild_id, -1);
    state.emitChange("members", payload.user.id, payload.guild_id);
  },
  GUILD_MEMBERS_CHUNK(state, payload) {
    for (const member of payload.members) storeMember(state, payload.guild_id, member);
    for (const presence of payload.presences ?? []) state.presences.set(presence.user.id, presence);
    state.emitChange("members", null, payload.guild_id);
  },
  PRESENCE_UPDATE(state, payload) {
    if (payload.user.username) state.storeUser(payload.user);
    if (payload.status === "offline") state.presences.delete(payload.user.id);
    else state.presences.set(payload.user.id, payload);
    state.emitChange("presences", payload.user.id, payload.guild_id);
  },
  SESSIONS_REPLACE(state, payload) {
    state.ownSessions = payload;
    state.emitChange("presences", state.me.id);
  },
  RELATIONSHIP_ADD(state, payload) {
    storeRelationship(state, payload);
    state.emitChange("relationships", payload.id);
  },
  RELATIONSHIP_UPDATE(state, payload) {
    storeRelationship(state, { ...state.relationships.get(payload.id), ...payload });
    state.emitChange("relationships", payload.id);
  },
  RELATIONSHIP_REMOVE(state, payload) {
    state.relationships.delete(payload.id);
    state.emitChange("relationships", payload.id);
  },

  VOICE_STATE_UPDATE(state, payload) {
    const guildKey = payload.guild_id ?? "@me";
    if (!state.voiceStates.has(guildKey)) state.voiceStates.set(guildKey, new Map());
    if (payload.member && payload.guild_id) storeMember(state, payload.guild_id, payload.member);
    const previousVoiceState = state.voiceStates.get(guildKey).get(payload.user_id);
    if (payload.channel_id === null) state.voiceStates.get(guildKey).delete(payload.user_id);
    else state.voiceStates.get(guildKey).set(payload.user_id, payload);
    state.emitChange("voiceStates", payload.channel_id ?? previousVoiceState?.channel_id, payload.guild_id);
  },

  MESSAGE_ACK(state, payload) {
    const readState = state.readStates.get(payload.channel_id);
    // An older acknowledgment from another window does not move the read position back, unless `manual` marks messages as unread.
    const isOutdated = !payload.manual && readState && isNewer(readState.last_message_id, payload.message_id);
    if (isOutdated) state.readStates.set(payload.channel_id, { ...readState, acknowledged: payload.message_id });
    else
      state.readStates.set(payload.channel_id, {
        last_message_id: payload.message_id,
        mention_count: payload.mention_count ?? 0,
        acknowledged: payload.message_id,
        isMarkedUnread: Boolean(payload.manual),
      });
    state.emitChange("readStates", payload.channel_id);
  },

  USER_GUILD_SETTINGS_UPDATE(state, payload) {
    storeGuildSettings(state, payload);
    state.emitChange("notificationSettings", payload.guild_id ?? PRIVATE_SETTINGS, payload.guild_id);
  },

  ...LOBBY_HANDLERS,
  ...MESSAGE_HANDLERS,
};

function emitEventChange(state, payload) {
  state.emitChange("scheduledEvents", payload.event_id, payload.guild_id);
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

function emitJoinRequestChange(state, payload) {
  state.emitChange("joinRequests", payload.request?.id ?? payload.id, payload.guild_id);
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
