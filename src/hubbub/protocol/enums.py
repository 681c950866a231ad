"""Closed lists of the wire as enums: a request with any other value is refused while decoding.

Readers of answers that must survive values of the future take plain ints instead and compare them with these.
"""

from enum import IntEnum, StrEnum
from typing import Final

# Gateway (gateway.md 2 and 3; voice.md 6)


class GatewayOpcode(IntEnum):
    """What a gateway frame is about."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    PRESENCE_UPDATE = 3
    VOICE_STATE_UPDATE = 4
    VOICE_SERVER_PING = 5
    RESUME = 6
    RECONNECT = 7
    REQUEST_GUILD_MEMBERS = 8
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11
    CALL_CONNECT = 13
    GUILD_SUBSCRIPTIONS = 14
    LOBBY_VOICE_STATES = 17
    REQUEST_SOUNDBOARD_SOUNDS = 31
    GUILD_SUBSCRIPTIONS_BULK = 37
    GUILD_CHANNELS_RESYNC = 38
    REQUEST_CHANNEL_MEMBER_COUNT = 39
    QOS_HEARTBEAT = 40
    UPDATE_TIME_SPENT_SESSION = 41
    LOBBY_VOICE_SERVER_PING = 42
    REQUEST_CHANNEL_INFO = 43


class CloseCode(IntEnum):
    """Why the gateway closed a connection."""

    UNKNOWN_ERROR = 4000
    UNKNOWN_OPCODE = 4001
    DECODE_ERROR = 4002
    NOT_AUTHENTICATED = 4003
    AUTHENTICATION_FAILED = 4004
    ALREADY_AUTHENTICATED = 4005
    INVALID_SEQ = 4007
    RATE_LIMITED = 4008
    SESSION_TIMED_OUT = 4009
    INVALID_SHARD = 4010
    SHARDING_REQUIRED = 4011
    INVALID_API_VERSION = 4012
    INVALID_INTENTS = 4013
    DISALLOWED_INTENTS = 4014
    TOO_MANY_SESSIONS = 4015
    CONNECTION_REQUEST_CANCELED = 4016


class VoiceCloseCode(IntEnum):
    """Why the voice gateway closed a connection."""

    UNKNOWN_OPCODE = 4001
    DECODE_ERROR = 4002
    NOT_AUTHENTICATED = 4003
    AUTHENTICATION_FAILED = 4004
    ALREADY_AUTHENTICATED = 4005
    SESSION_NO_LONGER_VALID = 4006
    SESSION_TIMEOUT = 4009
    SERVER_NOT_FOUND = 4011
    UNKNOWN_PROTOCOL = 4012
    WEBRTC_CRASHED = 4013
    DISCONNECTED = 4014
    SERVER_CRASHED = 4015
    UNKNOWN_ENCRYPTION_MODE = 4016
    E2EE_REQUIRED = 4017
    BAD_REQUEST = 4020
    RATE_LIMITED = 4021
    CALL_TERMINATED = 4022


# Users and presence


class Status(StrEnum):
    """How present a user is."""

    ONLINE = "online"
    IDLE = "idle"
    DND = "dnd"
    INVISIBLE = "invisible"
    OFFLINE = "offline"


class ActivityType(IntEnum):
    """What a presence says the user does."""

    PLAYING = 0
    STREAMING = 1
    LISTENING = 2
    WATCHING = 3
    CUSTOM = 4
    COMPETING = 5
    HANG_STATUS = 6


class ActivityActionType(IntEnum):
    """What a message invites to do with an activity."""

    JOIN = 1
    SPECTATE = 2
    LISTEN = 3
    JOIN_REQUEST = 5
    STREAM_REQUEST = 6


class StatusDisplayType(IntEnum):
    """Which field of an activity stands beside the user."""

    NAME = 0
    STATE = 1
    DETAILS = 2


class PremiumType(IntEnum):
    """The level of premium a user has."""

    NONE = 0
    TIER_1 = 1
    TIER_2 = 2
    TIER_0 = 3


class RelationshipType(IntEnum):
    """What two users are to each other."""

    NONE = 0
    FRIEND = 1
    BLOCKED = 2
    PENDING_INCOMING = 3
    PENDING_OUTGOING = 4
    IMPLICIT = 5
    SUGGESTION = 6


class ConnectionVisibility(IntEnum):
    """Who sees a connected account."""

    NONE = 0
    EVERYONE = 1


# Guilds


class VerificationLevel(IntEnum):
    """What a guild demands of who wants to speak."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    VERY_HIGH = 4


class DefaultMessageNotifications(IntEnum):
    """Which messages of a guild notify by default."""

    ALL_MESSAGES = 0
    ONLY_MENTIONS = 1


class ExplicitContentFilter(IntEnum):
    """Whose media are looked at."""

    DISABLED = 0
    MEMBERS_WITHOUT_ROLES = 1
    ALL_MEMBERS = 2


class MfaLevel(IntEnum):
    """Whether moderators need two-factor."""

    NONE = 0
    ELEVATED = 1


class NsfwLevel(IntEnum):
    """How a guild is rated."""

    DEFAULT = 0
    EXPLICIT = 1
    SAFE = 2
    AGE_RESTRICTED = 3


class PremiumTier(IntEnum):
    """The level a guild reached by boosts."""

    NONE = 0
    TIER_1 = 1
    TIER_2 = 2
    TIER_3 = 3


class AfkTimeout(IntEnum):
    """Seconds until idle members are moved."""

    ONE_MINUTE = 60
    FIVE_MINUTES = 300
    FIFTEEN_MINUTES = 900
    THIRTY_MINUTES = 1800
    ONE_HOUR = 3600


class GuildFeature(StrEnum):
    """A trait of a guild that the wire names; unknown ones may come."""

    ANIMATED_BANNER = "ANIMATED_BANNER"
    ANIMATED_ICON = "ANIMATED_ICON"
    APPLICATION_COMMAND_PERMISSIONS_V2 = "APPLICATION_COMMAND_PERMISSIONS_V2"
    AUTO_MODERATION = "AUTO_MODERATION"
    BANNER = "BANNER"
    COMMUNITY = "COMMUNITY"
    CREATOR_MONETIZABLE_PROVISIONAL = "CREATOR_MONETIZABLE_PROVISIONAL"
    CREATOR_STORE_PAGE = "CREATOR_STORE_PAGE"
    DEVELOPER_SUPPORT_SERVER = "DEVELOPER_SUPPORT_SERVER"
    DISCOVERABLE = "DISCOVERABLE"
    ENHANCED_ROLE_COLORS = "ENHANCED_ROLE_COLORS"
    FEATURABLE = "FEATURABLE"
    GUESTS_ENABLED = "GUESTS_ENABLED"
    GUILD_ONBOARDING = "GUILD_ONBOARDING"
    GUILD_TAGS = "GUILD_TAGS"
    INVITES_DISABLED = "INVITES_DISABLED"
    INVITE_SPLASH = "INVITE_SPLASH"
    MEMBER_VERIFICATION_GATE_ENABLED = "MEMBER_VERIFICATION_GATE_ENABLED"
    MEMBER_VERIFICATION_MANUAL_APPROVAL = "MEMBER_VERIFICATION_MANUAL_APPROVAL"
    MORE_EMOJI = "MORE_EMOJI"
    MORE_SOUNDBOARD = "MORE_SOUNDBOARD"
    MORE_STICKERS = "MORE_STICKERS"
    NEWS = "NEWS"
    OFFICIAL_GAME_GUILD = "OFFICIAL_GAME_GUILD"
    PARTNERED = "PARTNERED"
    PREVIEW_ENABLED = "PREVIEW_ENABLED"
    PRUNE_REQUIRES_ADMIN = "PRUNE_REQUIRES_ADMIN"
    RAID_ALERTS_DISABLED = "RAID_ALERTS_DISABLED"
    ROLE_ICONS = "ROLE_ICONS"
    ROLE_SUBSCRIPTIONS_AVAILABLE_FOR_PURCHASE = "ROLE_SUBSCRIPTIONS_AVAILABLE_FOR_PURCHASE"
    ROLE_SUBSCRIPTIONS_ENABLED = "ROLE_SUBSCRIPTIONS_ENABLED"
    SOUNDBOARD = "SOUNDBOARD"
    TICKETED_EVENTS_ENABLED = "TICKETED_EVENTS_ENABLED"
    VANITY_URL = "VANITY_URL"
    VERIFIED = "VERIFIED"
    VIP_REGIONS = "VIP_REGIONS"
    WELCOME_SCREEN_ENABLED = "WELCOME_SCREEN_ENABLED"


class OnboardingMode(IntEnum):
    """What counts toward the requirements of onboarding."""

    DEFAULT = 0
    ADVANCED = 1


class OnboardingPromptType(IntEnum):
    """How an onboarding question is shown."""

    MULTIPLE_CHOICE = 0
    DROPDOWN = 1


class JoinRequestStatus(StrEnum):
    """How far a request to join has come."""

    STARTED = "STARTED"
    SUBMITTED = "SUBMITTED"
    REJECTED = "REJECTED"
    APPROVED = "APPROVED"


class FormFieldType(StrEnum):
    """A kind of question in the form that new members answer."""

    TERMS = "TERMS"
    TEXT_INPUT = "TEXT_INPUT"
    PARAGRAPH = "PARAGRAPH"
    MULTIPLE_CHOICE = "MULTIPLE_CHOICE"


class NewMemberActionType(IntEnum):
    """What a new member should do in a channel."""

    VIEW = 0
    TALK = 1


class IntegrationExpireBehavior(IntEnum):
    """What happens to a subscriber who stops."""

    REMOVE_ROLE = 0
    KICK = 1


class WidgetStyle(StrEnum):
    """How the widget picture looks."""

    SHIELD = "shield"
    BANNER1 = "banner1"
    BANNER2 = "banner2"
    BANNER3 = "banner3"
    BANNER4 = "banner4"


class InviteType(IntEnum):
    """Where an invite leads."""

    GUILD = 0
    GROUP_DM = 1
    FRIEND = 2


class InGameMessages(IntEnum):
    """Whose direct messages the games that somebody plays show (sdk.md 9.3)."""

    UNSET = 0
    """Not decided: as ALL."""
    ALL = 1
    USERS_WITH_GAME = 2
    """Of those who play the same game."""
    NONE = 3


class InviteTargetType(IntEnum):
    """What in a voice channel an invite leads to."""

    STREAM = 1
    EMBEDDED_APPLICATION = 2
    ROLE_SUBSCRIPTIONS_PURCHASE = 3
    LOBBY = 5
    """Into the guild of a lobby's linked channel; only lobbies make these (sdk.md 12.6)."""


class TargetUsersJobStatus(IntEnum):
    """How far the reading of an invite's target users has come."""

    UNSPECIFIED = 0
    PROCESSING = 1
    COMPLETED = 2
    FAILED = 3


# Channels


class ChannelType(IntEnum):
    """What kind a channel is."""

    GUILD_TEXT = 0
    DM = 1
    GUILD_VOICE = 2
    GROUP_DM = 3
    GUILD_CATEGORY = 4
    GUILD_ANNOUNCEMENT = 5
    ANNOUNCEMENT_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    GUILD_STAGE_VOICE = 13
    GUILD_DIRECTORY = 14
    GUILD_FORUM = 15
    GUILD_MEDIA = 16
    LOBBY = 17
    EPHEMERAL_DM = 18


class OverwriteType(IntEnum):
    """Whom a channel overwrite is about."""

    ROLE = 0
    MEMBER = 1


class VideoQualityMode(IntEnum):
    """How sharp the video of a voice channel is."""

    AUTO = 1
    FULL = 2


class AutoArchiveDuration(IntEnum):
    """Minutes without messages until a thread is archived."""

    ONE_HOUR = 60
    ONE_DAY = 1440
    THREE_DAYS = 4320
    SEVEN_DAYS = 10080


class SortOrder(IntEnum):
    """How the posts of a forum are ordered."""

    LATEST_ACTIVITY = 0
    CREATION_DATE = 1


class ForumLayout(IntEnum):
    """How the posts of a forum are shown."""

    DEFAULT = 0
    LIST = 1
    GRID = 2


# Messages


class MessageType(IntEnum):
    """What kind a message is."""

    DEFAULT = 0
    RECIPIENT_ADD = 1
    RECIPIENT_REMOVE = 2
    CALL = 3
    CHANNEL_NAME_CHANGE = 4
    CHANNEL_ICON_CHANGE = 5
    CHANNEL_PINNED_MESSAGE = 6
    USER_JOIN = 7
    GUILD_BOOST = 8
    GUILD_BOOST_TIER_1 = 9
    GUILD_BOOST_TIER_2 = 10
    GUILD_BOOST_TIER_3 = 11
    CHANNEL_FOLLOW_ADD = 12
    GUILD_DISCOVERY_DISQUALIFIED = 14
    GUILD_DISCOVERY_REQUALIFIED = 15
    GUILD_DISCOVERY_GRACE_PERIOD_INITIAL_WARNING = 16
    GUILD_DISCOVERY_GRACE_PERIOD_FINAL_WARNING = 17
    THREAD_CREATED = 18
    REPLY = 19
    CHAT_INPUT_COMMAND = 20
    THREAD_STARTER_MESSAGE = 21
    GUILD_INVITE_REMINDER = 22
    CONTEXT_MENU_COMMAND = 23
    AUTO_MODERATION_ACTION = 24
    ROLE_SUBSCRIPTION_PURCHASE = 25
    INTERACTION_PREMIUM_UPSELL = 26
    STAGE_START = 27
    STAGE_END = 28
    STAGE_SPEAKER = 29
    STAGE_TOPIC = 31
    GUILD_APPLICATION_PREMIUM_SUBSCRIPTION = 32
    GUILD_INCIDENT_ALERT_MODE_ENABLED = 36
    GUILD_INCIDENT_ALERT_MODE_DISABLED = 37
    GUILD_INCIDENT_REPORT_RAID = 38
    GUILD_INCIDENT_REPORT_FALSE_ALARM = 39
    PURCHASE_NOTIFICATION = 44
    POLL_RESULT = 46
    CHANNEL_LINKED_TO_LOBBY = 49
    HD_STREAMING_UPGRADED = 55


class MessageReferenceType(IntEnum):
    """What a message does with the one it refers to."""

    DEFAULT = 0
    FORWARD = 1


class AllowedMentionType(StrEnum):
    """A kind of mention that may notify."""

    USERS = "users"
    ROLES = "roles"
    EVERYONE = "everyone"


class ReactionType(IntEnum):
    """What kind a reaction is."""

    NORMAL = 0
    BURST = 1


class PollLayoutType(IntEnum):
    """How a poll is shown."""

    DEFAULT = 1


class StickerType(IntEnum):
    """Where a sticker comes from."""

    STANDARD = 1
    GUILD = 2


class StickerFormatType(IntEnum):
    """What a sticker's file is."""

    PNG = 1
    APNG = 2
    LOTTIE = 3
    GIF = 4


class WebhookType(IntEnum):
    """What kind a webhook is."""

    INCOMING = 1
    CHANNEL_FOLLOWER = 2
    APPLICATION = 3


class ComponentType(IntEnum):
    """What kind a component is."""

    ACTION_ROW = 1
    BUTTON = 2
    STRING_SELECT = 3
    TEXT_INPUT = 4
    USER_SELECT = 5
    ROLE_SELECT = 6
    MENTIONABLE_SELECT = 7
    CHANNEL_SELECT = 8
    SECTION = 9
    TEXT_DISPLAY = 10
    THUMBNAIL = 11
    MEDIA_GALLERY = 12
    FILE = 13
    SEPARATOR = 14
    CONTAINER = 17
    LABEL = 18
    FILE_UPLOAD = 19
    RADIO_GROUP = 21
    CHECKBOX_GROUP = 22
    CHECKBOX = 23


class ButtonStyle(IntEnum):
    """How a button looks and what it does."""

    PRIMARY = 1
    SECONDARY = 2
    SUCCESS = 3
    DANGER = 4
    LINK = 5
    PREMIUM = 6


class TextInputStyle(IntEnum):
    """How many lines a text input has."""

    SHORT = 1
    PARAGRAPH = 2


class SeparatorSpacing(IntEnum):
    """How much room a separator takes."""

    SMALL = 1
    LARGE = 2


class BaseTheme(IntEnum):
    """What a shared theme is built on."""

    UNSET = 0
    DARK = 1
    LIGHT = 2
    DARKER = 3
    MIDNIGHT = 4


# Applications, commands, interactions


class ApplicationIntegrationType(IntEnum):
    """Where an application is installed."""

    GUILD_INSTALL = 0
    USER_INSTALL = 1


class EventWebhooksStatus(IntEnum):
    """Whether webhook events are sent."""

    DISABLED = 1
    ENABLED = 2
    DISABLED_BY_PLATFORM = 3


class CommandType(IntEnum):
    """How a command is called."""

    CHAT_INPUT = 1
    USER = 2
    MESSAGE = 3
    PRIMARY_ENTRY_POINT = 4


class CommandOptionType(IntEnum):
    """What a command's option takes."""

    SUB_COMMAND = 1
    SUB_COMMAND_GROUP = 2
    STRING = 3
    INTEGER = 4
    BOOLEAN = 5
    USER = 6
    CHANNEL = 7
    ROLE = 8
    MENTIONABLE = 9
    NUMBER = 10
    ATTACHMENT = 11


class CommandPermissionType(IntEnum):
    """Whom a command permission is about."""

    ROLE = 1
    USER = 2
    CHANNEL = 3


class CommandHandlerType(IntEnum):
    """Who answers an entry point command."""

    APP_HANDLER = 1
    PLATFORM_LAUNCH_ACTIVITY = 2


class InteractionType(IntEnum):
    """What caused an interaction."""

    PING = 1
    APPLICATION_COMMAND = 2
    MESSAGE_COMPONENT = 3
    APPLICATION_COMMAND_AUTOCOMPLETE = 4
    MODAL_SUBMIT = 5
    SOCIAL_LAYER_SKU_PURCHASE_ELIGIBILITY = 6


class InteractionCallbackType(IntEnum):
    """How an interaction is answered."""

    PONG = 1
    CHANNEL_MESSAGE_WITH_SOURCE = 4
    DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE = 5
    DEFERRED_UPDATE_MESSAGE = 6
    UPDATE_MESSAGE = 7
    APPLICATION_COMMAND_AUTOCOMPLETE_RESULT = 8
    MODAL = 9
    PREMIUM_REQUIRED = 10
    LAUNCH_ACTIVITY = 12
    SOCIAL_LAYER_SKU_PURCHASE_ELIGIBILITY = 13


class LaunchFailureReason(IntEnum):
    """Why no activity was launched (activities.md 2), as far as it can happen here."""

    UNKNOWN_APPLICATION = 3
    UNKNOWN_CHANNEL = 4
    CHANNEL_TYPE = 8
    AFK_CHANNEL = 9
    MISSING_PERMISSIONS = 13
    NOT_EMBEDDED = 14
    FAILED = 17
    NO_ACCESS = 18


class InteractionContextType(IntEnum):
    """Where an interaction happens."""

    GUILD = 0
    BOT_DM = 1
    PRIVATE_CHANNEL = 2


class RoleConnectionMetadataType(IntEnum):
    """How a role connection compares a value."""

    INTEGER_LESS_THAN_EQUAL = 1
    INTEGER_GREATER_THAN_EQUAL = 2
    INTEGER_EQUAL = 3
    INTEGER_NOT_EQUAL = 4
    DATETIME_LESS_THAN_EQUAL = 5
    DATETIME_GREATER_THAN_EQUAL = 6
    BOOLEAN_EQUAL = 7
    BOOLEAN_NOT_EQUAL = 8


class ConnectionType(StrEnum):
    """Where people have accounts that they connect."""

    BATTLENET = "battlenet"
    BLUESKY = "bluesky"
    BUNGIE = "bungie"
    DOMAIN = "domain"
    EBAY = "ebay"
    EPIC_GAMES = "epicgames"
    FACEBOOK = "facebook"
    GITHUB = "github"
    INSTAGRAM = "instagram"
    LEAGUE_OF_LEGENDS = "leagueoflegends"
    MASTODON = "mastodon"
    PAYPAL = "paypal"
    PLAYSTATION = "playstation"
    REDDIT = "reddit"
    RIOT_GAMES = "riotgames"
    ROBLOX = "roblox"
    SKYPE = "skype"
    SPOTIFY = "spotify"
    STEAM = "steam"
    TIKTOK = "tiktok"
    TWITCH = "twitch"
    TWITTER = "twitter"
    XBOX = "xbox"
    YOUTUBE = "youtube"


class TeamMembershipState(IntEnum):
    """Whether one has accepted to be in a team."""

    INVITED = 1
    ACCEPTED = 2


class TeamRole(StrEnum):
    """What a member of a team may do."""

    ADMIN = "admin"
    DEVELOPER = "developer"
    READ_ONLY = "read_only"


class IdentityProvider(StrEnum):
    """What kind of proof of identity a game hands in."""

    OIDC = "OIDC"
    EPIC_ONLINE_SERVICES_ACCESS_TOKEN = "EPIC_ONLINE_SERVICES_ACCESS_TOKEN"
    EPIC_ONLINE_SERVICES_ID_TOKEN = "EPIC_ONLINE_SERVICES_ID_TOKEN"
    STEAM_SESSION_TICKET = "STEAM_SESSION_TICKET"
    UNITY_SERVICES_ID_TOKEN = "UNITY_SERVICES_ID_TOKEN"
    BOT_ISSUED_ACCESS_TOKEN = "DISCORD_BOT_ISSUED_ACCESS_TOKEN"
    APPLE_ID_TOKEN = "APPLE_ID_TOKEN"
    PLAYSTATION_NETWORK_ID_TOKEN = "PLAYSTATION_NETWORK_ID_TOKEN"


class Scope(StrEnum):
    """What an OAuth2 token may do."""

    IDENTIFY = "identify"
    EMAIL = "email"
    CONNECTIONS = "connections"
    GUILDS = "guilds"
    GUILDS_JOIN = "guilds.join"
    GUILDS_MEMBERS_READ = "guilds.members.read"
    GDM_JOIN = "gdm.join"
    BOT = "bot"
    RPC = "rpc"
    RPC_NOTIFICATIONS_READ = "rpc.notifications.read"
    RPC_VOICE_READ = "rpc.voice.read"
    RPC_VOICE_WRITE = "rpc.voice.write"
    RPC_VIDEO_READ = "rpc.video.read"
    RPC_VIDEO_WRITE = "rpc.video.write"
    RPC_SCREENSHARE_READ = "rpc.screenshare.read"
    RPC_SCREENSHARE_WRITE = "rpc.screenshare.write"
    RPC_ACTIVITIES_WRITE = "rpc.activities.write"
    WEBHOOK_INCOMING = "webhook.incoming"
    MESSAGES_READ = "messages.read"
    APPLICATIONS_BUILDS_UPLOAD = "applications.builds.upload"
    APPLICATIONS_BUILDS_READ = "applications.builds.read"
    APPLICATIONS_COMMANDS = "applications.commands"
    APPLICATIONS_COMMANDS_PERMISSIONS_UPDATE = "applications.commands.permissions.update"
    APPLICATIONS_COMMANDS_UPDATE = "applications.commands.update"
    APPLICATIONS_STORE_UPDATE = "applications.store.update"
    APPLICATIONS_ENTITLEMENTS = "applications.entitlements"
    ACTIVITIES_READ = "activities.read"
    ACTIVITIES_WRITE = "activities.write"
    ACTIVITIES_INVITES_WRITE = "activities.invites.write"
    RELATIONSHIPS_READ = "relationships.read"
    VOICE = "voice"
    DM_CHANNELS_READ = "dm_channels.read"
    ROLE_CONNECTIONS_WRITE = "role_connections.write"
    OPENID = "openid"
    IDENTIFY_PREMIUM = "identify.premium"
    GATEWAY_CONNECT = "gateway.connect"
    LOBBIES_WRITE = "lobbies.write"
    RELATIONSHIPS_WRITE = "relationships.write"
    PRESENCES_READ = "presences.read"
    PRESENCES_WRITE = "presences.write"
    GUILDS_CHANNELS_READ = "guilds.channels.read"
    DM_CHANNELS_MESSAGES_READ = "dm_channels.messages.read"
    DM_CHANNELS_MESSAGES_WRITE = "dm_channels.messages.write"
    APPLICATION_IDENTITIES_WRITE = "application_identities.write"
    ACCOUNT_GLOBAL_NAME_UPDATE = "account.global_name.update"
    PAYMENT_SOURCES_COUNTRY_CODE = "payment_sources.country_code"
    SDK_SOCIAL_LAYER = "sdk.social_layer"
    SDK_SOCIAL_LAYER_PRESENCE = "sdk.social_layer_presence"


# Outgoing webhook events


class WebhookPayloadType(IntEnum):
    """What an outgoing webhook request is."""

    PING = 0
    EVENT = 1


class WebhookEventType(StrEnum):
    """What an application can be told of by an outgoing webhook event."""

    APPLICATION_AUTHORIZED = "APPLICATION_AUTHORIZED"
    APPLICATION_DEAUTHORIZED = "APPLICATION_DEAUTHORIZED"
    ENTITLEMENT_CREATE = "ENTITLEMENT_CREATE"
    ENTITLEMENT_UPDATE = "ENTITLEMENT_UPDATE"
    ENTITLEMENT_DELETE = "ENTITLEMENT_DELETE"
    QUEST_USER_ENROLLMENT = "QUEST_USER_ENROLLMENT"
    LOBBY_MESSAGE_CREATE = "LOBBY_MESSAGE_CREATE"
    LOBBY_MESSAGE_UPDATE = "LOBBY_MESSAGE_UPDATE"
    LOBBY_MESSAGE_DELETE = "LOBBY_MESSAGE_DELETE"
    GAME_DIRECT_MESSAGE_CREATE = "GAME_DIRECT_MESSAGE_CREATE"
    GAME_DIRECT_MESSAGE_UPDATE = "GAME_DIRECT_MESSAGE_UPDATE"
    GAME_DIRECT_MESSAGE_DELETE = "GAME_DIRECT_MESSAGE_DELETE"


# Monetization


class SkuType(IntEnum):
    """What kind a SKU is."""

    DURABLE = 2
    CONSUMABLE = 3
    SUBSCRIPTION = 5
    SUBSCRIPTION_GROUP = 6


class EntitlementType(IntEnum):
    """How an entitlement came about."""

    PURCHASE = 1
    PREMIUM_SUBSCRIPTION = 2
    DEVELOPER_GIFT = 3
    TEST_MODE_PURCHASE = 4
    FREE_PURCHASE = 5
    USER_GIFT = 6
    PREMIUM_PURCHASE = 7
    APPLICATION_SUBSCRIPTION = 8
    QUEST_REWARD = 10


class EntitlementOwnerType(IntEnum):
    """Who a test entitlement is for."""

    GUILD = 1
    USER = 2


class SubscriptionStatus(IntEnum):
    """Whether a subscription goes on."""

    ACTIVE = 0
    INACTIVE = 1
    ENDING = 2


# Stages, events, auto moderation


class StagePrivacyLevel(IntEnum):
    """Who may hear a stage."""

    PUBLIC = 1
    GUILD_ONLY = 2


class EventPrivacyLevel(IntEnum):
    """Who sees a scheduled event."""

    GUILD_ONLY = 2


class EventStatus(IntEnum):
    """How far a scheduled event has come."""

    SCHEDULED = 1
    ACTIVE = 2
    COMPLETED = 3
    CANCELED = 4


class EventEntityType(IntEnum):
    """Where a scheduled event takes place."""

    NONE = 0
    STAGE_INSTANCE = 1
    VOICE = 2
    EXTERNAL = 3


class ScheduledEventResponse(IntEnum):
    """Whether somebody wants to come to a scheduled event."""

    UNINTERESTED = 0
    INTERESTED = 1


class RecurrenceFrequency(IntEnum):
    """How often a scheduled event comes back."""

    YEARLY = 0
    MONTHLY = 1
    WEEKLY = 2
    DAILY = 3


class Weekday(IntEnum):
    """A day of the week in a recurrence rule."""

    MONDAY = 0
    TUESDAY = 1
    WEDNESDAY = 2
    THURSDAY = 3
    FRIDAY = 4
    SATURDAY = 5
    SUNDAY = 6


class VoiceEffectAnimationType(IntEnum):
    """How a voice effect moves."""

    PREMIUM = 0
    BASIC = 1


class AutoModerationTriggerType(IntEnum):
    """What makes a rule look."""

    KEYWORD = 1
    SPAM = 3
    KEYWORD_PRESET = 4
    MENTION_SPAM = 5
    MEMBER_PROFILE = 6


class AutoModerationEventType(IntEnum):
    """When a rule looks."""

    MESSAGE_SEND = 1
    MEMBER_UPDATE = 2


class AutoModerationActionType(IntEnum):
    """What a rule does."""

    BLOCK_MESSAGE = 1
    SEND_ALERT_MESSAGE = 2
    TIMEOUT = 3
    BLOCK_MEMBER_INTERACTION = 4


class AutoModerationKeywordPresetType(IntEnum):
    """A list of words that the platform keeps."""

    PROFANITY = 1
    SEXUAL_CONTENT = 2
    SLURS = 3


# Audit log (http.md 3.11)


class AuditLogAction(IntEnum):
    """What an audit log entry says was done."""

    GUILD_UPDATE = 1
    CHANNEL_CREATE = 10
    CHANNEL_UPDATE = 11
    CHANNEL_DELETE = 12
    CHANNEL_OVERWRITE_CREATE = 13
    CHANNEL_OVERWRITE_UPDATE = 14
    CHANNEL_OVERWRITE_DELETE = 15
    MEMBER_KICK = 20
    MEMBER_PRUNE = 21
    MEMBER_BAN_ADD = 22
    MEMBER_BAN_REMOVE = 23
    MEMBER_UPDATE = 24
    MEMBER_ROLE_UPDATE = 25
    MEMBER_MOVE = 26
    MEMBER_DISCONNECT = 27
    BOT_ADD = 28
    ROLE_CREATE = 30
    ROLE_UPDATE = 31
    ROLE_DELETE = 32
    INVITE_CREATE = 40
    INVITE_UPDATE = 41
    INVITE_DELETE = 42
    WEBHOOK_CREATE = 50
    WEBHOOK_UPDATE = 51
    WEBHOOK_DELETE = 52
    EMOJI_CREATE = 60
    EMOJI_UPDATE = 61
    EMOJI_DELETE = 62
    MESSAGE_DELETE = 72
    MESSAGE_BULK_DELETE = 73
    MESSAGE_PIN = 74
    MESSAGE_UNPIN = 75
    INTEGRATION_CREATE = 80
    INTEGRATION_UPDATE = 81
    INTEGRATION_DELETE = 82
    STAGE_INSTANCE_CREATE = 83
    STAGE_INSTANCE_UPDATE = 84
    STAGE_INSTANCE_DELETE = 85
    STICKER_CREATE = 90
    STICKER_UPDATE = 91
    STICKER_DELETE = 92
    GUILD_SCHEDULED_EVENT_CREATE = 100
    GUILD_SCHEDULED_EVENT_UPDATE = 101
    GUILD_SCHEDULED_EVENT_DELETE = 102
    THREAD_CREATE = 110
    THREAD_UPDATE = 111
    THREAD_DELETE = 112
    APPLICATION_COMMAND_PERMISSION_UPDATE = 121
    SOUNDBOARD_SOUND_CREATE = 130
    SOUNDBOARD_SOUND_UPDATE = 131
    SOUNDBOARD_SOUND_DELETE = 132
    AUTO_MODERATION_RULE_CREATE = 140
    AUTO_MODERATION_RULE_UPDATE = 141
    AUTO_MODERATION_RULE_DELETE = 142
    AUTO_MODERATION_BLOCK_MESSAGE = 143
    AUTO_MODERATION_FLAG_TO_CHANNEL = 144
    AUTO_MODERATION_USER_COMMUNICATION_DISABLED = 145
    AUTO_MODERATION_QUARANTINE_USER = 146
    CREATOR_MONETIZATION_REQUEST_CREATED = 150
    CREATOR_MONETIZATION_TERMS_ACCEPTED = 151
    ONBOARDING_PROMPT_CREATE = 163
    ONBOARDING_PROMPT_UPDATE = 164
    ONBOARDING_PROMPT_DELETE = 165
    ONBOARDING_CREATE = 166
    ONBOARDING_UPDATE = 167
    GUILD_HOME_FEATURE_ITEM = 171
    GUILD_HOME_REMOVE_ITEM = 172
    HARMFUL_LINKS_BLOCKED_MESSAGE = 180
    HOME_SETTINGS_CREATE = 190
    HOME_SETTINGS_UPDATE = 191
    VOICE_CHANNEL_STATUS_UPDATE = 192
    VOICE_CHANNEL_STATUS_DELETE = 193
    GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE = 200
    GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE = 201
    GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE = 202
    MEMBER_VERIFICATION_UPDATE = 210
    GUILD_PROFILE_UPDATE = 211
    GUILD_MIGRATE_PIN_PERMISSION = 212
    GUILD_MIGRATE_BYPASS_SLOWMODE_PERMISSION = 213


THREAD_TYPES: Final = frozenset(
    {ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD}
)
"""Channels that live in another."""

VOICE_TYPES: Final = frozenset({ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE})
"""Guild channels one connects to."""

FORUM_TYPES: Final = frozenset({ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA})
"""Channels whose messages are all in threads."""

PRIVATE_TYPES: Final = frozenset({ChannelType.DM, ChannelType.GROUP_DM})
"""Channels outside guilds."""

# fmt: off
LOCALES: Final = frozenset((
    "id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr",
    "hr", "it", "lt", "hu", "nl", "no", "pl", "pt-BR",
    "ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg",
    "ru", "uk", "hi", "th", "zh-CN", "ja", "zh-TW", "ko",
))
# fmt: on
"""The languages of users, guilds and command translations (http.md 1.13)."""

LOCALE_FALLBACKS: Final = {"en-US": "en-GB", "en-GB": "en-US", "es-419": "es-ES"}
"""Where a command's text is looked for next."""
