/** Enums and flags of the wire protocol, generated from `hubbub.protocol` by `make generate`. Do not edit. */

/** Opcode of a gateway frame. */
export const GatewayOpcode = Object.freeze({
  DISPATCH: 0,
  HEARTBEAT: 1,
  IDENTIFY: 2,
  PRESENCE_UPDATE: 3,
  VOICE_STATE_UPDATE: 4,
  VOICE_SERVER_PING: 5,
  RESUME: 6,
  RECONNECT: 7,
  REQUEST_GUILD_MEMBERS: 8,
  INVALID_SESSION: 9,
  HELLO: 10,
  HEARTBEAT_ACK: 11,
  CALL_CONNECT: 13,
  GUILD_SUBSCRIPTIONS: 14,
  LOBBY_VOICE_STATES: 17,
  REQUEST_SOUNDBOARD_SOUNDS: 31,
  GUILD_SUBSCRIPTIONS_BULK: 37,
  GUILD_CHANNELS_RESYNC: 38,
  REQUEST_CHANNEL_MEMBER_COUNT: 39,
  QOS_HEARTBEAT: 40,
  UPDATE_TIME_SPENT_SESSION: 41,
  LOBBY_VOICE_SERVER_PING: 42,
  REQUEST_CHANNEL_INFO: 43,
});

/** Close code of a gateway connection. */
export const CloseCode = Object.freeze({
  UNKNOWN_ERROR: 4000,
  UNKNOWN_OPCODE: 4001,
  DECODE_ERROR: 4002,
  NOT_AUTHENTICATED: 4003,
  AUTHENTICATION_FAILED: 4004,
  ALREADY_AUTHENTICATED: 4005,
  INVALID_SEQ: 4007,
  RATE_LIMITED: 4008,
  SESSION_TIMED_OUT: 4009,
  INVALID_SHARD: 4010,
  SHARDING_REQUIRED: 4011,
  INVALID_API_VERSION: 4012,
  INVALID_INTENTS: 4013,
  DISALLOWED_INTENTS: 4014,
  TOO_MANY_SESSIONS: 4015,
  CONNECTION_REQUEST_CANCELED: 4016,
});

/** Action that a message offers for an activity. */
export const ActivityActionType = Object.freeze({
  JOIN: 1,
  SPECTATE: 2,
  LISTEN: 3,
  JOIN_REQUEST: 5,
  STREAM_REQUEST: 6,
});

/** Type of a presence activity. */
export const ActivityType = Object.freeze({
  PLAYING: 0,
  STREAMING: 1,
  LISTENING: 2,
  WATCHING: 3,
  CUSTOM: 4,
  COMPETING: 5,
  HANG_STATUS: 6,
});

/** Type of an audit log entry. */
export const AuditLogAction = Object.freeze({
  GUILD_UPDATE: 1,
  CHANNEL_CREATE: 10,
  CHANNEL_UPDATE: 11,
  CHANNEL_DELETE: 12,
  CHANNEL_OVERWRITE_CREATE: 13,
  CHANNEL_OVERWRITE_UPDATE: 14,
  CHANNEL_OVERWRITE_DELETE: 15,
  MEMBER_KICK: 20,
  MEMBER_PRUNE: 21,
  MEMBER_BAN_ADD: 22,
  MEMBER_BAN_REMOVE: 23,
  MEMBER_UPDATE: 24,
  MEMBER_ROLE_UPDATE: 25,
  MEMBER_MOVE: 26,
  MEMBER_DISCONNECT: 27,
  BOT_ADD: 28,
  ROLE_CREATE: 30,
  ROLE_UPDATE: 31,
  ROLE_DELETE: 32,
  INVITE_CREATE: 40,
  INVITE_UPDATE: 41,
  INVITE_DELETE: 42,
  WEBHOOK_CREATE: 50,
  WEBHOOK_UPDATE: 51,
  WEBHOOK_DELETE: 52,
  EMOJI_CREATE: 60,
  EMOJI_UPDATE: 61,
  EMOJI_DELETE: 62,
  MESSAGE_DELETE: 72,
  MESSAGE_BULK_DELETE: 73,
  MESSAGE_PIN: 74,
  MESSAGE_UNPIN: 75,
  INTEGRATION_CREATE: 80,
  INTEGRATION_UPDATE: 81,
  INTEGRATION_DELETE: 82,
  STAGE_INSTANCE_CREATE: 83,
  STAGE_INSTANCE_UPDATE: 84,
  STAGE_INSTANCE_DELETE: 85,
  STICKER_CREATE: 90,
  STICKER_UPDATE: 91,
  STICKER_DELETE: 92,
  GUILD_SCHEDULED_EVENT_CREATE: 100,
  GUILD_SCHEDULED_EVENT_UPDATE: 101,
  GUILD_SCHEDULED_EVENT_DELETE: 102,
  THREAD_CREATE: 110,
  THREAD_UPDATE: 111,
  THREAD_DELETE: 112,
  APPLICATION_COMMAND_PERMISSION_UPDATE: 121,
  SOUNDBOARD_SOUND_CREATE: 130,
  SOUNDBOARD_SOUND_UPDATE: 131,
  SOUNDBOARD_SOUND_DELETE: 132,
  AUTO_MODERATION_RULE_CREATE: 140,
  AUTO_MODERATION_RULE_UPDATE: 141,
  AUTO_MODERATION_RULE_DELETE: 142,
  AUTO_MODERATION_BLOCK_MESSAGE: 143,
  AUTO_MODERATION_FLAG_TO_CHANNEL: 144,
  AUTO_MODERATION_USER_COMMUNICATION_DISABLED: 145,
  AUTO_MODERATION_QUARANTINE_USER: 146,
  CREATOR_MONETIZATION_REQUEST_CREATED: 150,
  CREATOR_MONETIZATION_TERMS_ACCEPTED: 151,
  ONBOARDING_PROMPT_CREATE: 163,
  ONBOARDING_PROMPT_UPDATE: 164,
  ONBOARDING_PROMPT_DELETE: 165,
  ONBOARDING_CREATE: 166,
  ONBOARDING_UPDATE: 167,
  GUILD_HOME_FEATURE_ITEM: 171,
  GUILD_HOME_REMOVE_ITEM: 172,
  HARMFUL_LINKS_BLOCKED_MESSAGE: 180,
  HOME_SETTINGS_CREATE: 190,
  HOME_SETTINGS_UPDATE: 191,
  VOICE_CHANNEL_STATUS_UPDATE: 192,
  VOICE_CHANNEL_STATUS_DELETE: 193,
  GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE: 200,
  GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE: 201,
  GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE: 202,
  MEMBER_VERIFICATION_UPDATE: 210,
  GUILD_PROFILE_UPDATE: 211,
  GUILD_MIGRATE_PIN_PERMISSION: 212,
  GUILD_MIGRATE_BYPASS_SLOWMODE_PERMISSION: 213,
});

/** Action that a rule performs. */
export const AutoModerationActionType = Object.freeze({
  BLOCK_MESSAGE: 1,
  SEND_ALERT_MESSAGE: 2,
  TIMEOUT: 3,
  BLOCK_MEMBER_INTERACTION: 4,
});

/** Event on which a rule is checked. */
export const AutoModerationEventType = Object.freeze({
  MESSAGE_SEND: 1,
  MEMBER_UPDATE: 2,
});

/** Keyword list maintained by the platform. */
export const AutoModerationKeywordPresetType = Object.freeze({
  PROFANITY: 1,
  SEXUAL_CONTENT: 2,
  SLURS: 3,
});

/** Type of content that triggers a rule. */
export const AutoModerationTriggerType = Object.freeze({
  KEYWORD: 1,
  SPAM: 3,
  KEYWORD_PRESET: 4,
  MENTION_SPAM: 5,
  MEMBER_PROFILE: 6,
});

/** Style of a button. */
export const ButtonStyle = Object.freeze({
  PRIMARY: 1,
  SECONDARY: 2,
  SUCCESS: 3,
  DANGER: 4,
  LINK: 5,
  PREMIUM: 6,
});

/** Type of a channel. */
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

/** Type of a command option. */
export const CommandOptionType = Object.freeze({
  SUB_COMMAND: 1,
  SUB_COMMAND_GROUP: 2,
  STRING: 3,
  INTEGER: 4,
  BOOLEAN: 5,
  USER: 6,
  CHANNEL: 7,
  ROLE: 8,
  MENTIONABLE: 9,
  NUMBER: 10,
  ATTACHMENT: 11,
});

/** Type of a command permission's target. */
export const CommandPermissionType = Object.freeze({
  ROLE: 1,
  USER: 2,
  CHANNEL: 3,
});

/** Type of an application command. */
export const CommandType = Object.freeze({
  CHAT_INPUT: 1,
  USER: 2,
  MESSAGE: 3,
  PRIMARY_ENTRY_POINT: 4,
});

/** Type of a component. */
export const ComponentType = Object.freeze({
  ACTION_ROW: 1,
  BUTTON: 2,
  STRING_SELECT: 3,
  TEXT_INPUT: 4,
  USER_SELECT: 5,
  ROLE_SELECT: 6,
  MENTIONABLE_SELECT: 7,
  CHANNEL_SELECT: 8,
  SECTION: 9,
  TEXT_DISPLAY: 10,
  THUMBNAIL: 11,
  MEDIA_GALLERY: 12,
  FILE: 13,
  SEPARATOR: 14,
  CONTAINER: 17,
  LABEL: 18,
  FILE_UPLOAD: 19,
  RADIO_GROUP: 21,
  CHECKBOX_GROUP: 22,
  CHECKBOX: 23,
});

/** Default notification setting of a guild's members. */
export const DefaultMessageNotifications = Object.freeze({
  ALL_MESSAGES: 0,
  ONLY_MENTIONS: 1,
});

/** Members whose media is scanned for explicit content. */
export const ExplicitContentFilter = Object.freeze({
  DISABLED: 0,
  MEMBERS_WITHOUT_ROLES: 1,
  ALL_MEMBERS: 2,
});

/** Type of a field in the member verification form. */
export const FormFieldType = Object.freeze({
  TERMS: "TERMS",
  TEXT_INPUT: "TEXT_INPUT",
  PARAGRAPH: "PARAGRAPH",
  MULTIPLE_CHOICE: "MULTIPLE_CHOICE",
});

/** Layout of forum posts. */
export const ForumLayout = Object.freeze({
  DEFAULT: 0,
  LIST: 1,
  GRID: 2,
});

/** Direct messages that games display to the user (spec/sdk.md#9.3). */
export const InGameMessages = Object.freeze({
  UNSET: 0,
  ALL: 1,
  USERS_WITH_GAME: 2,
  NONE: 3,
});

/** Location type of a scheduled event. */
export const EventEntityType = Object.freeze({
  NONE: 0,
  STAGE_INSTANCE: 1,
  VOICE: 2,
  EXTERNAL: 3,
});

/** Privacy level of a scheduled event. */
export const EventPrivacyLevel = Object.freeze({
  GUILD_ONLY: 2,
});

/** Status of a scheduled event. */
export const EventStatus = Object.freeze({
  SCHEDULED: 1,
  ACTIVE: 2,
  COMPLETED: 3,
  CANCELED: 4,
});

/** Type of an interaction. */
export const InteractionType = Object.freeze({
  PING: 1,
  APPLICATION_COMMAND: 2,
  MESSAGE_COMPONENT: 3,
  APPLICATION_COMMAND_AUTOCOMPLETE: 4,
  MODAL_SUBMIT: 5,
  SOCIAL_LAYER_SKU_PURCHASE_ELIGIBILITY: 6,
});

/** Kind of object that an invite leads to, in addition to its channel. */
export const InviteTargetType = Object.freeze({
  STREAM: 1,
  EMBEDDED_APPLICATION: 2,
  ROLE_SUBSCRIPTIONS_PURCHASE: 3,
  LOBBY: 5,
});

/** Status of a join request. */
export const JoinRequestStatus = Object.freeze({
  STARTED: "STARTED",
  SUBMITTED: "SUBMITTED",
  REJECTED: "REJECTED",
  APPROVED: "APPROVED",
});

/** Type of a message reference. */
export const MessageReferenceType = Object.freeze({
  DEFAULT: 0,
  FORWARD: 1,
});

/** Type of a message. */
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
  GUILD_BOOST_TIER_1: 9,
  GUILD_BOOST_TIER_2: 10,
  GUILD_BOOST_TIER_3: 11,
  CHANNEL_FOLLOW_ADD: 12,
  GUILD_DISCOVERY_DISQUALIFIED: 14,
  GUILD_DISCOVERY_REQUALIFIED: 15,
  GUILD_DISCOVERY_GRACE_PERIOD_INITIAL_WARNING: 16,
  GUILD_DISCOVERY_GRACE_PERIOD_FINAL_WARNING: 17,
  THREAD_CREATED: 18,
  REPLY: 19,
  CHAT_INPUT_COMMAND: 20,
  THREAD_STARTER_MESSAGE: 21,
  GUILD_INVITE_REMINDER: 22,
  CONTEXT_MENU_COMMAND: 23,
  AUTO_MODERATION_ACTION: 24,
  ROLE_SUBSCRIPTION_PURCHASE: 25,
  INTERACTION_PREMIUM_UPSELL: 26,
  STAGE_START: 27,
  STAGE_END: 28,
  STAGE_SPEAKER: 29,
  STAGE_TOPIC: 31,
  GUILD_APPLICATION_PREMIUM_SUBSCRIPTION: 32,
  GUILD_INCIDENT_ALERT_MODE_ENABLED: 36,
  GUILD_INCIDENT_ALERT_MODE_DISABLED: 37,
  GUILD_INCIDENT_REPORT_RAID: 38,
  GUILD_INCIDENT_REPORT_FALSE_ALARM: 39,
  PURCHASE_NOTIFICATION: 44,
  POLL_RESULT: 46,
  CHANNEL_LINKED_TO_LOBBY: 49,
  HD_STREAMING_UPGRADED: 55,
});

/** Whether moderation requires two-factor authentication. */
export const MfaLevel = Object.freeze({
  NONE: 0,
  ELEVATED: 1,
});

/** Messages that notify a user. */
export const NotificationLevel = Object.freeze({
  ALL_MESSAGES: 0,
  ONLY_MENTIONS: 1,
  NOTHING: 2,
  INHERIT: 3,
});

/** Action that a new member is asked to take in a channel. */
export const NewMemberActionType = Object.freeze({
  VIEW: 0,
  TALK: 1,
});

/** Channels that count toward the requirements of onboarding. */
export const OnboardingMode = Object.freeze({
  DEFAULT: 0,
  ADVANCED: 1,
});

/** Presentation of an onboarding prompt. */
export const OnboardingPromptType = Object.freeze({
  MULTIPLE_CHOICE: 0,
  DROPDOWN: 1,
});

/** Type of a permission overwrite's target. */
export const OverwriteType = Object.freeze({
  ROLE: 0,
  MEMBER: 1,
});

/** Frequency at which a scheduled event repeats. */
export const RecurrenceFrequency = Object.freeze({
  YEARLY: 0,
  MONTHLY: 1,
  WEEKLY: 2,
  DAILY: 3,
});

/** Relationship between two users. */
export const RelationshipType = Object.freeze({
  NONE: 0,
  FRIEND: 1,
  BLOCKED: 2,
  PENDING_INCOMING: 3,
  PENDING_OUTGOING: 4,
  IMPLICIT: 5,
  SUGGESTION: 6,
});

/** Comparison of a role connection value with the value that a guild configured. */
export const RoleConnectionMetadataType = Object.freeze({
  INTEGER_LESS_THAN_EQUAL: 1,
  INTEGER_GREATER_THAN_EQUAL: 2,
  INTEGER_EQUAL: 3,
  INTEGER_NOT_EQUAL: 4,
  DATETIME_LESS_THAN_EQUAL: 5,
  DATETIME_GREATER_THAN_EQUAL: 6,
  BOOLEAN_EQUAL: 7,
  BOOLEAN_NOT_EQUAL: 8,
});

/** Sort order of forum posts. */
export const SortOrder = Object.freeze({
  LATEST_ACTIVITY: 0,
  CREATION_DATE: 1,
});

/** Field of an activity that is displayed in the user's status. */
export const StatusDisplayType = Object.freeze({
  NAME: 0,
  STATE: 1,
  DETAILS: 2,
});

/** File format of a sticker. */
export const StickerFormatType = Object.freeze({
  PNG: 1,
  APNG: 2,
  LOTTIE: 3,
  GIF: 4,
});

/** Style of a text input. */
export const TextInputStyle = Object.freeze({
  SHORT: 1,
  PARAGRAPH: 2,
});

/** Criteria that members without roles must meet before they may send messages; each level includes those below it. */
export const VerificationLevel = Object.freeze({
  NONE: 0,
  LOW: 1,
  MEDIUM: 2,
  HIGH: 3,
  VERY_HIGH: 4,
});

/** Camera video quality of a voice channel. */
export const VideoQualityMode = Object.freeze({
  AUTO: 1,
  FULL: 2,
});

/** Style of the widget image. */
export const WidgetStyle = Object.freeze({
  SHIELD: "shield",
  BANNER1: "banner1",
  BANNER2: "banner2",
  BANNER3: "banner3",
  BANNER4: "banner4",
});

/** Type of a webhook. */
export const WebhookType = Object.freeze({
  INCOMING: 1,
  CHANNEL_FOLLOWER: 2,
  APPLICATION: 3,
});

/** Flags of a presence activity (spec/gateway.md#8). */
export const ActivityFlags = Object.freeze({
  INSTANCE: 1 << 0,
  JOIN: 1 << 1,
  SPECTATE: 1 << 2,
  JOIN_REQUEST: 1 << 3,
  SYNC: 1 << 4,
  PLAY: 1 << 5,
  PARTY_PRIVACY_FRIENDS: 1 << 6,
  PARTY_PRIVACY_VOICE_CHANNEL: 1 << 7,
  EMBEDDED: 1 << 8,
});

/** Flags of an attachment. */
export const AttachmentFlags = Object.freeze({
  IS_CLIP: 1 << 0,
  IS_THUMBNAIL: 1 << 1,
  IS_REMIX: 1 << 2,
  IS_SPOILER: 1 << 3,
  CONTAINS_EXPLICIT_MEDIA: 1 << 4,
  IS_ANIMATED: 1 << 5,
});

/** Optional features that a client declares in Identify; unknown bits are ignored. */
export const Capabilities = Object.freeze({
  DEDUPE_USER_OBJECTS: 1 << 4,
  PRIORITIZED_READY_PAYLOAD: 1 << 5,
  AUTO_CALL_CONNECT: 1 << 12,
  CHANNEL_OBFUSCATION: 1 << 15,
  AUTO_LOBBY_CONNECT: 1 << 16,
});

/** Flags of a channel (spec/http.md#3.2). */
export const ChannelFlags = Object.freeze({
  PINNED: 1 << 1,
  REQUIRE_TAG: 1 << 4,
  HIDE_MEDIA_DOWNLOAD_OPTIONS: 1 << 15,
  CHANNEL_OBFUSCATED: 1 << 17,
  IS_SPOILER_CHANNEL: 1 << 21,
});

/** Flags of a message. */
export const MessageFlags = Object.freeze({
  CROSSPOSTED: 1 << 0,
  IS_CROSSPOST: 1 << 1,
  SUPPRESS_EMBEDS: 1 << 2,
  SOURCE_MESSAGE_DELETED: 1 << 3,
  URGENT: 1 << 4,
  HAS_THREAD: 1 << 5,
  EPHEMERAL: 1 << 6,
  LOADING: 1 << 7,
  FAILED_TO_MENTION_SOME_ROLES_IN_THREAD: 1 << 8,
  SUPPRESS_NOTIFICATIONS: 1 << 12,
  IS_VOICE_MESSAGE: 1 << 13,
  HAS_SNAPSHOT: 1 << 14,
  IS_COMPONENTS_V2: 1 << 15,
  SENT_BY_SOCIAL_LAYER_INTEGRATION: 1 << 16,
});
