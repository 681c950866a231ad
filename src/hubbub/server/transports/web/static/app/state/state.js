/** The client's state: the READY payload and all events since. Messages are stored for open channels only. */

import { ChannelFlags, RelationshipType, isPrivate, isThread } from "../network/enums.js";
import { lowestIdAt, isNewer } from "../network/ids.js";
import { ChannelMap } from "./channel_map.js";
import { GATEWAY_HANDLERS } from "./gateway_events.js";
import { MessageLog } from "./message_log.js";
import { isChannelMuted } from "./notification_rules.js";
import { channelPermissions, guildPermissions } from "./permissions.js";
import { t } from "../ui/translation.js";

/** Maximum number of users in `users`; members, recipients and relationships contain users of their own. */
const USERS_MAX = 5_000;
const LOGS_MAX = 5;

/**
 * The objects that the client knows, by ID.
 *
 * Dispatches `CustomEvent("change", {detail: {kind, id, guildId}})` after each change. `kind` is one of:
 * - the name of a map of this class
 * - `messages`, `me`, `settings` for the settings of the user, `notificationSettings`, and `ready` after READY
 * - objects that are not stored, which screens fetch from the API: `auditLog`, `autoModeration`, `integrations`,
 *   `invites`, `joinRequests`, `scheduledEvents`, `sounds`, `webhooks`
 * - `route` after a navigation
 * - `call` for the voice call of this client, `calls` for calls in private channels
 */
export class State extends EventTarget {
  constructor() {
    super();
    this.clear();
    /** Message logs of open channels, the most recently opened last. @type {Map<string, MessageLog>} */
    this.logs = new Map();
  }

  /** Reset the state, which READY fills again. The user, their settings and the names of former guilds stay. */
  clear() {
    /** @type {any} */
    this.me = this.me ?? null;
    /** The settings of the user. @type {any} */
    this.settings = this.settings ?? {};
    /** @type {Map<string, any>} */
    this.users = new Map();
    /** Guilds with `roles`, `emojis` and `stickers`; `unavailable` during an outage. @type {Map<string, any>} */
    this.guilds = new Map();
    /** Names of the guilds that the user left or was removed from while the page was open. @type {Map<string, string>} */
    this.formerGuilds = this.formerGuilds ?? new Map();
    /** Guild channels, threads and private channels. */
    this.channels = new ChannelMap();
    /** Members by guild ID, then by user ID. @type {Map<string, Map<string, any>>} */
    this.members = new Map();
    /** @type {Map<string, any>} */
    this.relationships = new Map();
    /** `{status, activities}` by user. @type {Map<string, any>} */
    this.presences = new Map();
    /** The sessions of the user, including sessions in games; empty until the user has several. @type {any[]} */
    this.ownSessions = [];
    /** `{last_message_id, mention_count, acknowledged, isMarkedUnread}` by channel. @type {Map<string, any>} */
    this.readStates = new Map();
    /** Notification settings by guild (`@me` for private channels). @type {Map<string, any>} */
    this.guildSettings = new Map();
    /** Voice states by guild ID or lobby ID (`@me` for private calls), then by user ID. @type {Map<string, Map<string, any>>} */
    this.voiceStates = new Map();
    /** Lobbies of games that the user is in. @type {Map<string, any>} */
    this.lobbies = new Map();
    /** Typing users by channel: user ID and end of the indicator as Unix milliseconds. @type {Map<string, Map<string, number>>} */
    this.typing = new Map();
    this.ready = false;
  }

  /** Apply all events of a gateway. */
  listenTo(gateway) {
    gateway.addEventListener("event", ({ detail }) => this.apply(detail.name, detail.data));
  }

  /** Apply an event; events without a handler are ignored. */
  apply(name, payload) {
    GATEWAY_HANDLERS[name]?.(this, payload);
  }

  /** Dispatch a `change` event. */
  emitChange(kind, id, guildId) {
    this.dispatchEvent(new CustomEvent("change", { detail: { kind, id, guildId } }));
  }

  // Users

  /** Store a user; newer data overwrites older data. */
  storeUser(user) {
    if (!user?.id) return;
    const storedUser = this.users.get(user.id);
    if (storedUser === undefined && this.users.size >= USERS_MAX) this.users.delete(this.users.keys().next().value);
    this.users.set(user.id, { ...storedUser, ...user });
  }

  user(id) {
    return id === this.me?.id ? this.me : this.users.get(id);
  }

  member(guildId, userId) {
    return this.members.get(guildId)?.get(userId);
  }

  /** Return the display name of a user: the nickname in the guild, or in the friend list without a guild, if there is one. */
  displayName(user, guildId) {
    const nick = guildId ? this.member(guildId, user.id)?.nick : this.relationships.get(user.id)?.nickname;
    return nick || user.global_name || user.username || t("Unknown user");
  }

  statusOf(userId) {
    return this.presences.get(userId)?.status ?? "offline";
  }

  /** Return the activities that a user shows, newest first. */
  activitiesOf(userId) {
    if (userId === this.me?.id) return this.ownSessions.flatMap(session => session.activities ?? []).toReversed();
    return this.presences.get(userId)?.activities ?? [];
  }

  // Channels

  channelsOf(guildId) {
    return this.channels.inGuild(guildId);
  }

  /** Return the private channels, most recent first. */
  privateChannels() {
    const activityId = channel => channel.last_message_id ?? channel.id;
    return [...this.channels.values()]
      .filter(isPrivate)
      .sort((a, b) => (isNewer(activityId(a), activityId(b)) ? -1 : 1));
  }

  threadsOf(channelId) {
    return this.channels.under(channelId).filter(isThread);
  }

  /** Return the user's permissions in a channel; 0n if it is unknown. */
  permissionsIn(channelId) {
    const channel = this.channels.get(channelId);
    if (channel === undefined) return 0n;
    if (isPrivate(channel)) return channelPermissions(null, null, channel);
    const guild = this.guilds.get(channel.guild_id),
      member = this.member(channel.guild_id, this.me.id);
    if (guild === undefined || member === undefined || (channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED)
      return 0n;
    return channelPermissions(
      guild,
      member,
      channel,
      isThread(channel) ? this.channels.get(channel.parent_id) : undefined,
    );
  }

  /** Return whether the user has all these permissions in a channel. */
  can(channelId, bits) {
    return (this.permissionsIn(channelId) & bits) === bits;
  }

  /** Return the user's permissions in a guild; 0n if the user is not a member. */
  permissionsInGuild(guildId) {
    const guild = this.guilds.get(guildId),
      member = this.member(guildId, this.me.id);
    return guild === undefined || member === undefined ? 0n : guildPermissions(guild, member);
  }

  /** Return whether the user has all these permissions in a guild. */
  canInGuild(guildId, bits) {
    return (this.permissionsInGuild(guildId) & bits) === bits;
  }

  // Read state

  /** Return the ID of the last read message. Everything before the user joined counts as read. */
  lastRead(channelId) {
    const lastReadId = this.readStates.get(channelId)?.last_message_id;
    if (lastReadId) return lastReadId;
    const channel = this.channels.get(channelId);
    const joinedAt = channel?.guild_id ? this.member(channel.guild_id, this.me?.id)?.joined_at : null;
    return joinedAt ? lowestIdAt(Date.parse(joinedAt)) : "0";
  }

  /** Return whether a channel has messages after the last read one. */
  isUnread(channelId) {
    const channel = this.channels.get(channelId);
    return channel !== undefined && isNewer(channel.last_message_id, this.lastRead(channelId));
  }

  /** Return whether the user has muted a channel, one of its parents or its guild. */
  isMuted(channelId) {
    const channel = this.channels.get(channelId);
    return channel !== undefined && isChannelMuted(this, channel);
  }

  /** Return whether a channel is shown as unread; muted channels are not. */
  isShownUnread(channelId) {
    return this.isUnread(channelId) && !this.isMuted(channelId);
  }

  /** Return the number of unread mentions in a channel. */
  mentionCountIn(channelId) {
    return this.isUnread(channelId) ? (this.readStates.get(channelId)?.mention_count ?? 0) : 0;
  }

  /** Return whether a message mentions the user: directly, with @everyone or @here, or by a role. */
  mentionsMe(message) {
    if (message.mention_everyone || message.mentions?.some(user => user.id === this.me.id)) return true;
    const guildId = this.channels.get(message.channel_id)?.guild_id;
    const roleIds = guildId ? (this.member(guildId, this.me.id)?.roles ?? []) : [];
    return (message.mention_roles ?? []).some(roleId => roleIds.includes(roleId));
  }

  // Messages

  /** Return the message log of a channel and mark it as most recent; the oldest logs are dropped. */
  openLog(channelId) {
    const log = this.logs.get(channelId) ?? new MessageLog(channelId);
    this.logs.delete(channelId);
    this.logs.set(channelId, log);
    for (const id of this.logs.keys()) {
      if (this.logs.size <= LOGS_MAX) break;
      this.logs.delete(id);
    }
    return log;
  }

  /** Return the IDs of the other users who are typing in a channel, without blocked users. */
  typingIn(channelId, now = Date.now()) {
    const typingUsers = [...(this.typing.get(channelId) ?? [])].filter(([, until]) => until > now);
    return typingUsers
      .map(([id]) => id)
      .filter(id => id !== this.me?.id && this.relationships.get(id)?.type !== RelationshipType.BLOCKED);
  }

  // Voice

  /** Return the voice states in the call of a channel or lobby. */
  voiceStatesIn(id) {
    const key = this.lobbies.has(id) ? id : (this.channels.get(id)?.guild_id ?? "@me");
    return [...(this.voiceStates.get(key)?.values() ?? [])].filter(voiceState => voiceState.channel_id === id);
  }

  /** Return the user's voice state in a voice channel or private call, or null. */
  myVoiceState() {
    for (const [key, states] of this.voiceStates) {
      if (this.lobbies.has(key)) continue;
      const ownState = states.get(this.me?.id);
      if (ownState?.channel_id) return ownState;
    }
    return null;
  }
}
