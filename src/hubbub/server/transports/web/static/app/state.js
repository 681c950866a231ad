/** What the client knows: what READY told, and every event since. Messages are kept for open channels only. */

import { ChannelFlags, isPrivate, isThread } from "./enums.js";
import { HANDLERS } from "./state_events.js";
import { idAt, isNewer } from "./ids.js";
import { MessageLog } from "./messages.js";
import { channelPermissions, guildPermissions } from "./permissions.js";

/** People remembered besides members and friends: authors, those mentioned. */
const USERS_MOST = 5_000;
const LOGS_MOST = 5;

/**
 * Dispatches `CustomEvent("change", {detail: {kind, id, guildId}})` after each change; `kind` is the name of the map, or
 * `messages`, `typing`, `me`, `ready`.
 */
export class State extends EventTarget {
  constructor() {
    super();
    this.clear();
    /** Open channels, the last one opened at the end. @type {Map<string, MessageLog>} */
    this.logs = new Map();
  }

  /** Know nothing; a new READY tells everything again. */
  clear() {
    /** @type {any} */
    this.me = this.me ?? null;
    /** @type {Map<string, any>} */
    this.users = new Map();
    /** With `roles`, `emojis`, `stickers`; one that is out of order has `unavailable`. @type {Map<string, any>} */
    this.guilds = new Map();
    /** Guild channels, threads and private channels. @type {Map<string, any>} */
    this.channels = new Map();
    /** By guild, then by user. @type {Map<string, Map<string, any>>} */
    this.members = new Map();
    /** @type {Map<string, any>} */
    this.relationships = new Map();
    /** `{status, activities}` by user. @type {Map<string, any>} */
    this.presences = new Map();
    /** `{last_message_id, mention_count, kept}` by channel. @type {Map<string, any>} */
    this.readStates = new Map();
    /** By guild (`@me` for private calls), then by user. @type {Map<string, Map<string, any>>} */
    this.voiceStates = new Map();
    /** Who writes: by channel, user to the moment when they are taken to have stopped. @type {Map<string, Map<string, number>>} */
    this.typing = new Map();
    this.ready = false;
  }

  /** Hear the gateway. */
  follow(gateway) {
    gateway.addEventListener("event", ({ detail }) => this.apply(detail.name, detail.data));
  }

  /** Take one event in. */
  apply(name, data) {
    HANDLERS[name]?.(this, data);
  }

  changed(kind, id, guildId) {
    this.dispatchEvent(new CustomEvent("change", { detail: { kind, id, guildId } }));
  }

  // People

  /** Remember a user; the newest word counts. */
  keepUser(user) {
    if (!user?.id) return;
    const known = this.users.get(user.id);
    if (known === undefined && this.users.size >= USERS_MOST) this.users.delete(this.users.keys().next().value);
    this.users.set(user.id, { ...known, ...user });
  }

  user(id) {
    return id === this.me?.id ? this.me : this.users.get(id);
  }

  member(guildId, userId) {
    return this.members.get(guildId)?.get(userId);
  }

  /** What somebody is called where we are. */
  nameOf(user, guildId) {
    const nick = guildId ? this.member(guildId, user.id)?.nick : this.relationships.get(user.id)?.nickname;
    return nick || user.global_name || user.username || "Somebody";
  }

  statusOf(userId) {
    return this.presences.get(userId)?.status ?? "offline";
  }

  // Places

  channelsOf(guildId) {
    return [...this.channels.values()].filter(each => each.guild_id === guildId);
  }

  /** Private channels, the latest first. */
  privateChannels() {
    const last = channel => channel.last_message_id ?? channel.id;
    return [...this.channels.values()].filter(isPrivate).sort((a, b) => (isNewer(last(a), last(b)) ? -1 : 1));
  }

  threadsOf(channelId) {
    return [...this.channels.values()].filter(each => isThread(each) && each.parent_id === channelId);
  }

  /** What I may do in a channel; nothing where it is unknown. */
  permissionsIn(channelId) {
    const channel = this.channels.get(channelId);
    if (channel === undefined) return 0n;
    if (isPrivate(channel)) return channelPermissions(null, null, channel);
    const guild = this.guilds.get(channel.guild_id), member = this.member(channel.guild_id, this.me.id);
    if (guild === undefined || member === undefined || (channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED) return 0n;
    return channelPermissions(guild, member, channel, isThread(channel) ? this.channels.get(channel.parent_id) : undefined);
  }

  can(channelId, bits) {
    return (this.permissionsIn(channelId) & bits) === bits;
  }

  canInGuild(guildId, bits) {
    const guild = this.guilds.get(guildId), member = this.member(guildId, this.me.id);
    return guild !== undefined && member !== undefined && (guildPermissions(guild, member) & bits) === bits;
  }

  // Reading

  /** The last message that was read; before somebody came, everything counts as read. */
  lastRead(channelId) {
    const known = this.readStates.get(channelId)?.last_message_id;
    if (known) return known;
    const channel = this.channels.get(channelId);
    const joined = channel?.guild_id ? this.member(channel.guild_id, this.me?.id)?.joined_at : null;
    return joined ? idAt(Date.parse(joined)) : "0";
  }

  isUnread(channelId) {
    const channel = this.channels.get(channelId);
    return channel !== undefined && isNewer(channel.last_message_id, this.lastRead(channelId));
  }

  mentionsIn(channelId) {
    return this.isUnread(channelId) ? this.readStates.get(channelId)?.mention_count ?? 0 : 0;
  }

  /** Whether a message speaks to me. */
  isForMe(message) {
    if (message.mention_everyone || message.mentions?.some(each => each.id === this.me.id)) return true;
    const guildId = this.channels.get(message.channel_id)?.guild_id;
    const roles = guildId ? this.member(guildId, this.me.id)?.roles ?? [] : [];
    return (message.mention_roles ?? []).some(each => roles.includes(each));
  }

  // Messages

  /** The window on a channel's messages; the channels opened long ago are forgotten. */
  open(channelId) {
    const log = this.logs.get(channelId) ?? new MessageLog(channelId);
    this.logs.delete(channelId);
    this.logs.set(channelId, log);
    for (const id of this.logs.keys()) {
      if (this.logs.size <= LOGS_MOST) break;
      this.logs.delete(id);
    }
    return log;
  }

  /** Who writes in a channel now, besides me. */
  typingIn(channelId, now = Date.now()) {
    const found = [...(this.typing.get(channelId) ?? [])].filter(([, until]) => until > now);
    return found.map(([id]) => id).filter(id => id !== this.me?.id && this.relationships.get(id)?.type !== 2);
  }

  // Voice

  /** Who is in a voice channel. */
  voiceIn(channelId) {
    const channel = this.channels.get(channelId);
    const states = this.voiceStates.get(channel?.guild_id ?? "@me");
    return [...(states?.values() ?? [])].filter(each => each.channel_id === channelId);
  }

  /** Where I am in voice, if anywhere. */
  myVoiceState() {
    for (const states of this.voiceStates.values()) {
      const mine = states.get(this.me?.id);
      if (mine?.channel_id) return mine;
    }
    return null;
  }
}
