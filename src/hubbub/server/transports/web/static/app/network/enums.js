/** Enums and flags of the wire protocol, as far as the client uses them. */

export const ChannelType = Object.freeze({
  GUILD_TEXT: 0,
  DM: 1,
  GUILD_VOICE: 2,
  GROUP_DM: 3,
  GUILD_CATEGORY: 4,
  GUILD_ANNOUNCEMENT: 5,
  ANNOUNCEMENT_THREAD: 10,
  PUBLIC_THREAD: 11,
  PRIVATE_THREAD: 12,
  GUILD_STAGE_VOICE: 13,
  GUILD_DIRECTORY: 14,
  GUILD_FORUM: 15,
  GUILD_MEDIA: 16,
  LOBBY: 17,
  EPHEMERAL_DM: 18,
});

export const MessageType = Object.freeze({
  DEFAULT: 0,
  RECIPIENT_ADD: 1,
  RECIPIENT_REMOVE: 2,
  CALL: 3,
  CHANNEL_NAME_CHANGE: 4,
  CHANNEL_ICON_CHANGE: 5,
  CHANNEL_PINNED_MESSAGE: 6,
  USER_JOIN: 7,
  GUILD_BOOST: 8,
  CHANNEL_FOLLOW_ADD: 12,
  THREAD_CREATED: 18,
  REPLY: 19,
  CHAT_INPUT_COMMAND: 20,
  THREAD_STARTER_MESSAGE: 21,
  CONTEXT_MENU_COMMAND: 23,
  AUTO_MODERATION_ACTION: 24,
  STAGE_START: 27,
  STAGE_END: 28,
  STAGE_SPEAKER: 29,
  STAGE_TOPIC: 31,
  POLL_RESULT: 46,
  CHANNEL_LINKED_TO_LOBBY: 49,
});

export const MessageFlags = Object.freeze({
  EPHEMERAL: 1 << 6,
  LOADING: 1 << 7,
  IS_VOICE_MESSAGE: 1 << 13,
  IS_COMPONENTS_V2: 1 << 15,
});
export const StickerFormatType = Object.freeze({ PNG: 1, APNG: 2, LOTTIE: 3, GIF: 4 });
export const ChannelFlags = Object.freeze({ PINNED: 1 << 1, CHANNEL_OBFUSCATED: 1 << 17 });
export const RelationshipType = Object.freeze({ FRIEND: 1, BLOCKED: 2, PENDING_INCOMING: 3, PENDING_OUTGOING: 4 });
export const Opcode = Object.freeze({ PRESENCE_UPDATE: 3, VOICE_STATE_UPDATE: 4, REQUEST_GUILD_MEMBERS: 8 });

export const VerificationLevel = Object.freeze({ NONE: 0, LOW: 1, MEDIUM: 2, HIGH: 3, VERY_HIGH: 4 });
export const DefaultMessageNotifications = Object.freeze({ ALL_MESSAGES: 0, ONLY_MENTIONS: 1 });

/** Permission bits. They exceed 2^31, so they are BigInts. */
export const Permissions = Object.freeze({
  CREATE_INSTANT_INVITE: 1n << 0n,
  KICK_MEMBERS: 1n << 1n,
  BAN_MEMBERS: 1n << 2n,
  ADMINISTRATOR: 1n << 3n,
  MANAGE_CHANNELS: 1n << 4n,
  MANAGE_GUILD: 1n << 5n,
  ADD_REACTIONS: 1n << 6n,
  VIEW_AUDIT_LOG: 1n << 7n,
  PRIORITY_SPEAKER: 1n << 8n,
  STREAM: 1n << 9n,
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  SEND_TTS_MESSAGES: 1n << 12n,
  MANAGE_MESSAGES: 1n << 13n,
  EMBED_LINKS: 1n << 14n,
  ATTACH_FILES: 1n << 15n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  MENTION_EVERYONE: 1n << 17n,
  USE_EXTERNAL_EMOJIS: 1n << 18n,
  VIEW_GUILD_INSIGHTS: 1n << 19n,
  CONNECT: 1n << 20n,
  SPEAK: 1n << 21n,
  MUTE_MEMBERS: 1n << 22n,
  DEAFEN_MEMBERS: 1n << 23n,
  MOVE_MEMBERS: 1n << 24n,
  USE_VAD: 1n << 25n,
  CHANGE_NICKNAME: 1n << 26n,
  MANAGE_NICKNAMES: 1n << 27n,
  MANAGE_ROLES: 1n << 28n,
  MANAGE_WEBHOOKS: 1n << 29n,
  MANAGE_GUILD_EXPRESSIONS: 1n << 30n,
  USE_APPLICATION_COMMANDS: 1n << 31n,
  REQUEST_TO_SPEAK: 1n << 32n,
  MANAGE_EVENTS: 1n << 33n,
  MANAGE_THREADS: 1n << 34n,
  CREATE_PUBLIC_THREADS: 1n << 35n,
  CREATE_PRIVATE_THREADS: 1n << 36n,
  USE_EXTERNAL_STICKERS: 1n << 37n,
  SEND_MESSAGES_IN_THREADS: 1n << 38n,
  USE_EMBEDDED_ACTIVITIES: 1n << 39n,
  MODERATE_MEMBERS: 1n << 40n,
  VIEW_CREATOR_MONETIZATION_ANALYTICS: 1n << 41n,
  USE_SOUNDBOARD: 1n << 42n,
  CREATE_GUILD_EXPRESSIONS: 1n << 43n,
  CREATE_EVENTS: 1n << 44n,
  USE_EXTERNAL_SOUNDS: 1n << 45n,
  SEND_VOICE_MESSAGES: 1n << 46n,
  SET_VOICE_CHANNEL_STATUS: 1n << 48n,
  SEND_POLLS: 1n << 49n,
  USE_EXTERNAL_APPS: 1n << 50n,
  PIN_MESSAGES: 1n << 51n,
  BYPASS_SLOWMODE: 1n << 52n,
});

const { ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD, DM, GROUP_DM, EPHEMERAL_DM } = ChannelType;
const THREAD_TYPES = new Set([ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD]);
const PRIVATE_TYPES = new Set([DM, GROUP_DM, EPHEMERAL_DM]);

export const isThread = channel => THREAD_TYPES.has(channel.type);
export const isPrivate = channel => PRIVATE_TYPES.has(channel.type);
export const isVoice = channel =>
  channel.type === ChannelType.GUILD_VOICE || channel.type === ChannelType.GUILD_STAGE_VOICE;
export const isForum = channel => channel.type === ChannelType.GUILD_FORUM || channel.type === ChannelType.GUILD_MEDIA;
/** Return whether threads can be created in a guild channel. */
export const canHaveThreads = channel =>
  channel.type === ChannelType.GUILD_TEXT || channel.type === ChannelType.GUILD_ANNOUNCEMENT;
/** Return whether a channel contains messages. */
export const isMessageable = channel =>
  channel.type !== ChannelType.GUILD_CATEGORY && channel.type !== ChannelType.GUILD_DIRECTORY && !isForum(channel);
