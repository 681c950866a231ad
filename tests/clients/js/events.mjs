// Functions that convert the arguments of each client event to plain data; undefined means that the event is not reported.

const message = m => ({
  id: m.id,
  content: m.content,
  author: m.author?.id,
  channel: m.channelId,
  guild: m.guildId,
  type: m.type,
});
const member = m => ({
  id: m.id,
  name: m.displayName,
  roles: [...m.roles.cache.keys()],
  timedOut: m.isCommunicationDisabled(),
});
const thread = t => ({ id: t.id, name: t.name, parent: t.parentId, archived: t.archived, tags: t.appliedTags });
const role = r => ({ id: r.id, name: r.name, color: r.colors.primaryColor, permissions: r.permissions.toArray() });
const channel = c => ({ id: c.id, name: c.name, type: c.type });

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
  messageCreate: m => ({ ...message(m), mentions: [...m.mentions.users.keys()], reference: m.reference?.messageId }),
  messageUpdate: (_, m) => ({ ...message(m), edited: m.editedTimestamp !== null }),
  messageDelete: m => ({ id: m.id }),
  messageDeleteBulk: messages => [...messages.keys()],
  messageReactionAdd: (r, user) => ({ emoji: r.emoji.name, count: r.count, user: user.id, me: r.me }),
  messageReactionRemove: (r, user) => ({ emoji: r.emoji.name, user: user.id }),
  messageReactionRemoveAll: m => ({ id: m.id }),
  messageReactionRemoveEmoji: r => ({ emoji: r.emoji.name }),
  threadCreate: thread,
  threadUpdate: (_, t) => thread(t),
  threadDelete: t => ({ id: t.id }),
  threadMembersUpdate: (added, removed, t) => ({ id: t.id, added: [...added.keys()], removed: [...removed.keys()] }),
  channelCreate: channel,
  channelUpdate: (_, c) => channel(c),
  channelDelete: channel,
  channelPinsUpdate: c => ({ id: c.id }),
  roleCreate: role,
  roleUpdate: (_, r) => role(r),
  roleDelete: r => ({ id: r.id }),
  guildMemberAdd: member,
  guildMemberUpdate: (_, m) => member(m),
  guildMemberRemove: m => ({ id: m.id }),
  guildBanAdd: ban => ({ user: ban.user.id }),
  guildBanRemove: ban => ({ user: ban.user.id }),
  guildAuditLogEntryCreate: entry => ({ action: entry.action, target: entry.targetId, reason: entry.reason }),
  inviteCreate: invite => ({ code: invite.code }),
  inviteDelete: invite => ({ code: invite.code }),
  typingStart: typing => ({ channel: typing.channel.id, user: typing.user.id }),
  presenceUpdate: (_, presence) => ({ user: presence.userId, status: presence.status }),
  voiceStateUpdate: (before, after) => ({
    user: after.id,
    before: before.channelId,
    after: after.channelId,
    mute: after.selfMute,
  }),
};
