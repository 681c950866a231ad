// Functions that convert the arguments of each client event to plain data; undefined means that the event is not reported.

const describeMessage = message => ({
  id: message.id,
  content: message.content,
  author: message.author?.id,
  channel: message.channelId,
  guild: message.guildId,
  type: message.type,
});
const describeMember = member => ({
  id: member.id,
  name: member.displayName,
  roles: [...member.roles.cache.keys()],
  timedOut: member.isCommunicationDisabled(),
});
const describeThread = thread => ({
  id: thread.id,
  name: thread.name,
  parent: thread.parentId,
  archived: thread.archived,
  tags: thread.appliedTags,
});
const describeRole = role => ({
  id: role.id,
  name: role.name,
  color: role.colors.primaryColor,
  permissions: role.permissions.toArray(),
});
const describeChannel = channel => ({ id: channel.id, name: channel.name, type: channel.type });

export const events = {
  clientReady: client => ({ user: client.user.id, guilds: [...client.guilds.cache.keys()] }),
  error: error => String(error.stack),
  warn: text => text,
  shardDisconnect: (event, shard) => ({ shard, code: event.code }),
  debug: text => text.match(/^\s*compression: .*$/m)?.[0].trim(),
  shardResume: (shard, replayed) => ({ shard, replayed }),
  shardReady: shard => ({ shard }),
  guildCreate: guild => ({ id: guild.id, name: guild.name }),
  guildDelete: guild => ({ id: guild.id }),
  guildUpdate: (_, guild) => ({ name: guild.name }),
  messageCreate: message => ({
    ...describeMessage(message),
    mentions: [...message.mentions.users.keys()],
    reference: message.reference?.messageId,
  }),
  messageUpdate: (_, message) => ({ ...describeMessage(message), edited: message.editedTimestamp !== null }),
  messageDelete: message => ({ id: message.id }),
  messageDeleteBulk: messages => [...messages.keys()],
  messageReactionAdd: (reaction, user) => ({
    emoji: reaction.emoji.name,
    count: reaction.count,
    user: user.id,
    me: reaction.me,
  }),
  messageReactionRemove: (reaction, user) => ({ emoji: reaction.emoji.name, user: user.id }),
  messageReactionRemoveAll: message => ({ id: message.id }),
  messageReactionRemoveEmoji: reaction => ({ emoji: reaction.emoji.name }),
  threadCreate: describeThread,
  threadUpdate: (_, thread) => describeThread(thread),
  threadDelete: thread => ({ id: thread.id }),
  threadMembersUpdate: (added, removed, thread) => ({
    id: thread.id,
    added: [...added.keys()],
    removed: [...removed.keys()],
  }),
  channelCreate: describeChannel,
  channelUpdate: (_, channel) => describeChannel(channel),
  channelDelete: describeChannel,
  channelPinsUpdate: channel => ({ id: channel.id }),
  roleCreate: describeRole,
  roleUpdate: (_, role) => describeRole(role),
  roleDelete: role => ({ id: role.id }),
  guildMemberAdd: describeMember,
  guildMemberUpdate: (_, member) => describeMember(member),
  guildMemberRemove: member => ({ id: member.id }),
  guildBanAdd: ban => ({ user: ban.user.id }),
  guildBanRemove: ban => ({ user: ban.user.id }),
  guildAuditLogEntryCreate: entry => ({ action: entry.action, target: entry.targetId, reason: entry.reason }),
  inviteCreate: invite => ({ code: invite.code }),
  inviteDelete: invite => ({ code: invite.code }),
  typingStart: typing => ({ channel: typing.channel.id, user: typing.user.id }),
  presenceUpdate: (_, presence) => ({ user: presence.userId, status: presence.status }),
  voiceStateUpdate: (oldState, newState) => ({
    user: newState.id,
    before: oldState.channelId,
    after: newState.channelId,
    mute: newState.selfMute,
  }),
};
