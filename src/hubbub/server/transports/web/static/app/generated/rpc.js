/** Values of local RPC and activity RPC, generated from `hubbub.protocol` by `make generate`. Do not edit. */

/** Opcode of an RPC frame. */
export const RpcOpcode = Object.freeze({
  HANDSHAKE: 0,
  FRAME: 1,
  CLOSE: 2,
  PING: 3,
  PONG: 4,
});

/** Close code of an RPC connection. */
export const RpcCloseCode = Object.freeze({
  NORMAL: 1000,
  UNSUPPORTED: 1003,
  ABNORMAL: 1006,
  INVALID_CLIENT_ID: 4000,
  INVALID_ORIGIN: 4001,
  RATE_LIMITED: 4002,
  TOKEN_REVOKED: 4003,
  INVALID_VERSION: 4004,
  INVALID_ENCODING: 4005,
});

/** Error code of an RPC command. */
export const RpcErrorCode = Object.freeze({
  UNKNOWN: 1000,
  SERVICE_UNAVAILABLE: 1001,
  TRANSACTION_ABORTED: 1002,
  INVALID_PAYLOAD: 4000,
  INVALID_COMMAND: 4002,
  INVALID_GUILD: 4003,
  INVALID_EVENT: 4004,
  INVALID_CHANNEL: 4005,
  INVALID_PERMISSIONS: 4006,
  INVALID_CLIENT_ID: 4007,
  INVALID_ORIGIN: 4008,
  INVALID_TOKEN: 4009,
  INVALID_USER: 4010,
  INVALID_INVITE: 4011,
  INVALID_ACTIVITY_JOIN_REQUEST: 4012,
  INVALID_LOBBY: 4013,
  INVALID_LOBBY_SECRET: 4014,
  INVALID_ENTITLEMENT: 4015,
  INVALID_GIFT_CODE: 4016,
  INVALID_GUILD_TEMPLATE: 4017,
  INVALID_SOUND: 4018,
  INVALID_PROVIDER: 4019,
  INVALID_CONNECTION_CALLBACK_STATE: 4020,
  BAD_REQUEST_FOR_PROVIDER: 4021,
  OAUTH2_ERROR: 5000,
  SELECT_CHANNEL_TIMED_OUT: 5001,
  GET_GUILD_TIMED_OUT: 5002,
  SELECT_VOICE_FORCE_REQUIRED: 5003,
  CAPTURE_ALREADY_LISTENING: 5004,
  INVALID_ACTIVITY_SECRET: 5005,
  NO_ELIGIBLE_ACTIVITY: 5006,
  LOBBY_FULL: 5007,
  PURCHASE_CANCELLED: 5008,
  PURCHASE_ERROR: 5009,
  UNAUTHORIZED_FOR_ACHIEVEMENT: 5010,
  RATE_LIMITED: 5011,
  UNAUTHORIZED_FOR_APPLICATION: 5012,
  NO_CONNECTION_FOUND: 5013,
});

/** OAuth2 scope. */
export const Scope = Object.freeze({
  IDENTIFY: "identify",
  EMAIL: "email",
  CONNECTIONS: "connections",
  GUILDS: "guilds",
  GUILDS_JOIN: "guilds.join",
  GUILDS_MEMBERS_READ: "guilds.members.read",
  GDM_JOIN: "gdm.join",
  BOT: "bot",
  RPC: "rpc",
  RPC_NOTIFICATIONS_READ: "rpc.notifications.read",
  RPC_VOICE_READ: "rpc.voice.read",
  RPC_VOICE_WRITE: "rpc.voice.write",
  RPC_VIDEO_READ: "rpc.video.read",
  RPC_VIDEO_WRITE: "rpc.video.write",
  RPC_SCREENSHARE_READ: "rpc.screenshare.read",
  RPC_SCREENSHARE_WRITE: "rpc.screenshare.write",
  RPC_ACTIVITIES_WRITE: "rpc.activities.write",
  WEBHOOK_INCOMING: "webhook.incoming",
  MESSAGES_READ: "messages.read",
  APPLICATIONS_BUILDS_UPLOAD: "applications.builds.upload",
  APPLICATIONS_BUILDS_READ: "applications.builds.read",
  APPLICATIONS_COMMANDS: "applications.commands",
  APPLICATIONS_COMMANDS_PERMISSIONS_UPDATE: "applications.commands.permissions.update",
  APPLICATIONS_COMMANDS_UPDATE: "applications.commands.update",
  APPLICATIONS_STORE_UPDATE: "applications.store.update",
  APPLICATIONS_ENTITLEMENTS: "applications.entitlements",
  ACTIVITIES_READ: "activities.read",
  ACTIVITIES_WRITE: "activities.write",
  ACTIVITIES_INVITES_WRITE: "activities.invites.write",
  RELATIONSHIPS_READ: "relationships.read",
  VOICE: "voice",
  DM_CHANNELS_READ: "dm_channels.read",
  ROLE_CONNECTIONS_WRITE: "role_connections.write",
  OPENID: "openid",
  IDENTIFY_PREMIUM: "identify.premium",
  GATEWAY_CONNECT: "gateway.connect",
  LOBBIES_WRITE: "lobbies.write",
  RELATIONSHIPS_WRITE: "relationships.write",
  PRESENCES_READ: "presences.read",
  PRESENCES_WRITE: "presences.write",
  GUILDS_CHANNELS_READ: "guilds.channels.read",
  DM_CHANNELS_MESSAGES_READ: "dm_channels.messages.read",
  DM_CHANNELS_MESSAGES_WRITE: "dm_channels.messages.write",
  APPLICATION_IDENTITIES_WRITE: "application_identities.write",
  ACCOUNT_GLOBAL_NAME_UPDATE: "account.global_name.update",
  PAYMENT_SOURCES_COUNTRY_CODE: "payment_sources.country_code",
  SDK_SOCIAL_LAYER: "sdk.social_layer",
  SDK_SOCIAL_LAYER_PRESENCE: "sdk.social_layer_presence",
});

/** Scope that the agent assigns to a connection, in addition to the scopes of its token (spec/rpc.md#6). */
export const PseudoScope = Object.freeze({
  LOCAL: "rpc.local",
  AUTHENTICATED: "rpc.authenticated",
  EMBEDDED_APP: "rpc.embedded_app",
  PRIVATE: "rpc.private",
});

/** Scopes that a command of an activity requires. */
export const ACTIVITY_COMMAND_SCOPES = Object.freeze({
  AUTHORIZE: [],
  AUTHENTICATE: [],
  GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: ["rpc.authenticated"],
  GET_CHANNEL: ["guilds"],
  GET_CHANNEL_PERMISSIONS: ["guilds.members.read"],
  GET_RELATIONSHIPS: ["relationships.read"],
  GET_USER: [],
  INVITE_USER_EMBEDDED: ["relationships.read"],
  SET_ACTIVITY: ["rpc.activities.write"],
  OPEN_EXTERNAL_LINK: [],
  OPEN_INVITE_DIALOG: [],
  OPEN_SHARE_MOMENT_DIALOG: ["rpc.authenticated"],
  INITIATE_IMAGE_UPLOAD: ["rpc.authenticated"],
  SHARE_LINK: ["rpc.authenticated"],
  REQUEST_PROXY_TICKET_REFRESH: ["rpc.authenticated"],
  GET_SKUS_EMBEDDED: ["rpc.authenticated"],
  GET_ENTITLEMENTS_EMBEDDED: ["rpc.authenticated"],
  START_PURCHASE: ["rpc.authenticated"],
  USER_SETTINGS_GET_LOCALE: ["identify"],
  ENCOURAGE_HW_ACCELERATION: [],
  SET_CONFIG: [],
  SET_ORIENTATION_LOCK_STATE: [],
  GET_PLATFORM_BEHAVIORS: [],
});

/** Scopes that the subscription of an activity to an event requires. */
export const ACTIVITY_EVENT_SCOPES = Object.freeze({
  ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE: [],
  ACTIVITY_LAYOUT_MODE_UPDATE: [],
  ORIENTATION_UPDATE: [],
  THERMAL_STATE_UPDATE: [],
  VOICE_STATE_UPDATE: ["rpc.voice.read"],
  SPEAKING_START: ["rpc.voice.read"],
  SPEAKING_STOP: ["rpc.voice.read"],
  CURRENT_USER_UPDATE: ["identify"],
  CURRENT_GUILD_MEMBER_UPDATE: ["identify", "guilds.members.read"],
  RELATIONSHIP_UPDATE: ["relationships.read"],
  ENTITLEMENT_CREATE: ["rpc.authenticated"],
  ACTIVITY_JOIN: [],
});

/** Scopes that include others (spec/webhooks-and-interactions.md#8.5). */
export const INCLUDED_SCOPES = Object.freeze({
  "sdk.social_layer_presence": [
    "activities.invites.write",
    "activities.read",
    "activities.write",
    "application_identities.write",
    "gateway.connect",
    "identify",
    "relationships.read",
    "relationships.write",
  ],
  "sdk.social_layer": [
    "activities.invites.write",
    "activities.read",
    "activities.write",
    "application_identities.write",
    "gateway.connect",
    "identify",
    "relationships.read",
    "relationships.write",
    "dm_channels.read",
    "dm_channels.messages.read",
    "dm_channels.messages.write",
    "guilds",
    "guilds.channels.read",
    "lobbies.write",
  ],
});

export const RPC_VERSION = 1;
export const ACTIVITY_UPDATES_MAX = 5;
export const ACTIVITY_UPDATES_WINDOW_SECONDS = 20;
export const PROGRAM_FRAME_BYTES_MAX = 65536;
export const WEBSOCKET_PORTS = [6463, 6464, 6465, 6466, 6467, 6468, 6469, 6470, 6471, 6472];
