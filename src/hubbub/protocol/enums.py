"""Enumerations of the wire protocol, groups of their members, and locales.

Decoding rejects a request with a value that its enumeration does not have. Response models that must tolerate values of
future versions use plain integers instead.
"""

from enum import IntEnum, StrEnum
from typing import Final

from hubbub.protocol.shared_enums import ActivityActionType as ActivityActionType
from hubbub.protocol.shared_enums import ActivityPartyPrivacy as ActivityPartyPrivacy
from hubbub.protocol.shared_enums import ActivityType as ActivityType
from hubbub.protocol.shared_enums import ApplicationIntegrationType as ApplicationIntegrationType
from hubbub.protocol.shared_enums import ChannelType as ChannelType
from hubbub.protocol.shared_enums import CloseCode as CloseCode
from hubbub.protocol.shared_enums import DisclosureType as DisclosureType
from hubbub.protocol.shared_enums import GatewayOpcode as GatewayOpcode
from hubbub.protocol.shared_enums import RelationshipType as RelationshipType
from hubbub.protocol.shared_enums import StatusDisplayType as StatusDisplayType

# Voice (spec/voice.md#6)


class VoiceCloseCode(IntEnum):
    """Close code of a voice gateway connection."""

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
    """The client was disconnected, for example because it was moved or its channel was deleted."""
    SERVER_CRASHED = 4015
    UNKNOWN_ENCRYPTION_MODE = 4016
    E2EE_REQUIRED = 4017
    """The client does not support end-to-end encryption."""
    BAD_REQUEST = 4020
    RATE_LIMITED = 4021
    CALL_TERMINATED = 4022
    """The call ended for all clients."""


# Users and presence


class Status(StrEnum):
    """Online status of a user."""

    ONLINE = "online"
    IDLE = "idle"
    DND = "dnd"
    INVISIBLE = "invisible"
    """Status that other users see as offline; only the user's own clients receive it."""
    OFFLINE = "offline"


class PremiumType(IntEnum):
    """Premium subscription of a user."""

    NONE = 0
    TIER_1 = 1
    TIER_2 = 2
    TIER_0 = 3
    """The basic subscription, below TIER_1."""


class ConnectionVisibility(IntEnum):
    """Visibility of a connected account."""

    NONE = 0
    """Visible only to its owner."""
    EVERYONE = 1


# Guilds


class VerificationLevel(IntEnum):
    """Criteria that members without roles must meet before they may send messages; each level includes those below it."""

    NONE = 0
    LOW = 1
    """Verified email address."""
    MEDIUM = 2
    """Registered for at least 5 minutes."""
    HIGH = 3
    """Member for at least 10 minutes."""
    VERY_HIGH = 4
    """Verified phone number on the public platform; equivalent to HIGH on this server (decisions/0013)."""


class DefaultMessageNotifications(IntEnum):
    """Default notification setting of a guild's members."""

    ALL_MESSAGES = 0
    ONLY_MENTIONS = 1


class NotificationLevel(IntEnum):
    """Messages that notify a user."""

    ALL_MESSAGES = 0
    ONLY_MENTIONS = 1
    NOTHING = 2
    INHERIT = 3
    """The level of the parent: of a thread's channel, of a channel's category or guild, or the default of a guild."""


class ExplicitContentFilter(IntEnum):
    """Members whose media is scanned for explicit content."""

    DISABLED = 0
    MEMBERS_WITHOUT_ROLES = 1
    ALL_MEMBERS = 2


class MfaLevel(IntEnum):
    """Whether moderation requires two-factor authentication."""

    NONE = 0
    ELEVATED = 1


class NsfwLevel(IntEnum):
    """Age rating of a guild."""

    DEFAULT = 0
    EXPLICIT = 1
    SAFE = 2
    AGE_RESTRICTED = 3


class PremiumTier(IntEnum):
    """Boost level of a guild."""

    NONE = 0
    TIER_1 = 1
    TIER_2 = 2
    TIER_3 = 3


class AfkTimeout(IntEnum):
    """Seconds until idle members are moved to the AFK channel."""

    ONE_MINUTE = 60
    FIVE_MINUTES = 300
    FIFTEEN_MINUTES = 900
    THIRTY_MINUTES = 1800
    ONE_HOUR = 3600


class GuildFeature(StrEnum):
    """Feature of a guild; other values may occur."""

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
    """Channels that count toward the requirements of onboarding."""

    DEFAULT = 0
    """Only default channels count."""
    ADVANCED = 1
    """Default channels and channels offered by prompts count."""


class OnboardingPromptType(IntEnum):
    """Presentation of an onboarding prompt."""

    MULTIPLE_CHOICE = 0
    DROPDOWN = 1


class JoinRequestStatus(StrEnum):
    """Status of a join request."""

    STARTED = "STARTED"
    SUBMITTED = "SUBMITTED"
    REJECTED = "REJECTED"
    APPROVED = "APPROVED"


class FormFieldType(StrEnum):
    """Type of a field in the member verification form."""

    TERMS = "TERMS"
    TEXT_INPUT = "TEXT_INPUT"
    PARAGRAPH = "PARAGRAPH"
    MULTIPLE_CHOICE = "MULTIPLE_CHOICE"


class NewMemberActionType(IntEnum):
    """Action that a new member is asked to take in a channel."""

    VIEW = 0
    TALK = 1
    """Send a message."""


class IntegrationExpireBehavior(IntEnum):
    """Effect of an expired subscription on the member."""

    REMOVE_ROLE = 0
    KICK = 1


class WidgetStyle(StrEnum):
    """Style of the widget image."""

    SHIELD = "shield"
    BANNER1 = "banner1"
    BANNER2 = "banner2"
    BANNER3 = "banner3"
    BANNER4 = "banner4"


class InviteType(IntEnum):
    """Destination of an invite."""

    GUILD = 0
    GROUP_DM = 1
    FRIEND = 2


class InGameMessages(IntEnum):
    """Direct messages that games display to the user (spec/sdk.md#9.3)."""

    UNSET = 0
    """Not set; equivalent to ALL."""
    ALL = 1
    USERS_WITH_GAME = 2
    """Messages of users who play the same game."""
    NONE = 3


class InviteTargetType(IntEnum):
    """Kind of object that an invite leads to, in addition to its channel."""

    STREAM = 1
    EMBEDDED_APPLICATION = 2
    ROLE_SUBSCRIPTIONS_PURCHASE = 3
    LOBBY = 5
    """Guild of a lobby's linked channel; only lobbies create these invites (spec/sdk.md#12.6)."""


class TargetUsersJobStatus(IntEnum):
    """Status of the job that imports an invite's target users."""

    UNSPECIFIED = 0
    PROCESSING = 1
    COMPLETED = 2
    FAILED = 3


# Channels


class OverwriteType(IntEnum):
    """Type of a permission overwrite's target."""

    ROLE = 0
    MEMBER = 1


class VideoQualityMode(IntEnum):
    """Camera video quality of a voice channel."""

    AUTO = 1
    FULL = 2
    """720p."""


class AutoArchiveDuration(IntEnum):
    """Minutes of inactivity until a thread is archived."""

    ONE_HOUR = 60
    ONE_DAY = 1440
    THREE_DAYS = 4320
    SEVEN_DAYS = 10080


class SortOrder(IntEnum):
    """Sort order of forum posts."""

    LATEST_ACTIVITY = 0
    CREATION_DATE = 1


class ForumLayout(IntEnum):
    """Layout of forum posts."""

    DEFAULT = 0
    LIST = 1
    GRID = 2


# Messages


class MessageType(IntEnum):
    """Type of a message."""

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
    """Type of a message reference."""

    DEFAULT = 0
    """Reply to the message."""
    FORWARD = 1


class AllowedMentionType(StrEnum):
    """Type of mentions that may notify users."""

    USERS = "users"
    ROLES = "roles"
    EVERYONE = "everyone"
    """Mentions of @everyone and @here."""


class ReactionType(IntEnum):
    """Type of a reaction."""

    NORMAL = 0
    BURST = 1
    """Super reaction."""


class PollLayoutType(IntEnum):
    """Layout of a poll."""

    DEFAULT = 1


class StickerType(IntEnum):
    """Origin of a sticker."""

    STANDARD = 1
    """Official sticker of a pack."""
    GUILD = 2


class StickerFormatType(IntEnum):
    """File format of a sticker."""

    PNG = 1
    APNG = 2
    LOTTIE = 3
    GIF = 4


class WebhookType(IntEnum):
    """Type of a webhook."""

    INCOMING = 1
    CHANNEL_FOLLOWER = 2
    """Posts messages of a followed announcement channel."""
    APPLICATION = 3
    """Used by an application to respond to interactions."""


class ComponentType(IntEnum):
    """Type of a component."""

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
    """Style of a button."""

    PRIMARY = 1
    SECONDARY = 2
    SUCCESS = 3
    DANGER = 4
    LINK = 5
    """Opens a URL; sends no interaction."""
    PREMIUM = 6
    """Offers a SKU for purchase; sends no interaction."""


class TextInputStyle(IntEnum):
    """Style of a text input."""

    SHORT = 1
    PARAGRAPH = 2


class SeparatorSpacing(IntEnum):
    """Spacing around a separator."""

    SMALL = 1
    LARGE = 2


class BaseTheme(IntEnum):
    """Base of a shared client theme."""

    UNSET = 0
    DARK = 1
    LIGHT = 2
    DARKER = 3
    MIDNIGHT = 4


# Applications, commands, interactions


class EventWebhooksStatus(IntEnum):
    """Status of an application's webhook events."""

    DISABLED = 1
    ENABLED = 2
    DISABLED_BY_PLATFORM = 3


class CommandType(IntEnum):
    """Type of an application command."""

    CHAT_INPUT = 1
    USER = 2
    """Command in the context menu of a user."""
    MESSAGE = 3
    """Command in the context menu of a message."""
    PRIMARY_ENTRY_POINT = 4
    """Command that launches the application's activity."""


class CommandOptionType(IntEnum):
    """Type of a command option."""

    SUB_COMMAND = 1
    SUB_COMMAND_GROUP = 2
    STRING = 3
    INTEGER = 4
    BOOLEAN = 5
    USER = 6
    CHANNEL = 7
    ROLE = 8
    MENTIONABLE = 9
    """User or role."""
    NUMBER = 10
    ATTACHMENT = 11


class CommandPermissionType(IntEnum):
    """Type of a command permission's target."""

    ROLE = 1
    USER = 2
    CHANNEL = 3


class CommandHandlerType(IntEnum):
    """Handler of an entry point command."""

    APP_HANDLER = 1
    PLATFORM_LAUNCH_ACTIVITY = 2


class InteractionType(IntEnum):
    """Type of an interaction."""

    PING = 1
    APPLICATION_COMMAND = 2
    MESSAGE_COMPONENT = 3
    APPLICATION_COMMAND_AUTOCOMPLETE = 4
    MODAL_SUBMIT = 5
    SOCIAL_LAYER_SKU_PURCHASE_ELIGIBILITY = 6


class InteractionCallbackType(IntEnum):
    """Type of an interaction response."""

    PONG = 1
    CHANNEL_MESSAGE_WITH_SOURCE = 4
    DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE = 5
    """Acknowledges the interaction; a message follows."""
    DEFERRED_UPDATE_MESSAGE = 6
    """Acknowledges a component interaction; an edit of its message may follow."""
    UPDATE_MESSAGE = 7
    APPLICATION_COMMAND_AUTOCOMPLETE_RESULT = 8
    MODAL = 9
    PREMIUM_REQUIRED = 10
    """Deprecated: offers a subscription; use premium buttons instead."""
    LAUNCH_ACTIVITY = 12
    SOCIAL_LAYER_SKU_PURCHASE_ELIGIBILITY = 13


class LaunchFailureReason(IntEnum):
    """Reason why an activity was not launched (spec/activities.md#2); only the reasons that this server sends."""

    UNKNOWN_APPLICATION = 3
    UNKNOWN_CHANNEL = 4
    CHANNEL_TYPE = 8
    AFK_CHANNEL = 9
    MISSING_PERMISSIONS = 13
    NOT_EMBEDDED = 14
    FAILED = 17
    NO_ACCESS = 18


class InteractionContextType(IntEnum):
    """Context in which an interaction occurs."""

    GUILD = 0
    BOT_DM = 1
    """Direct message channel with the application's bot."""
    PRIVATE_CHANNEL = 2
    """Other direct message channel or group."""


class RoleConnectionMetadataType(IntEnum):
    """Comparison of a role connection value with the value that a guild configured."""

    INTEGER_LESS_THAN_EQUAL = 1
    INTEGER_GREATER_THAN_EQUAL = 2
    INTEGER_EQUAL = 3
    INTEGER_NOT_EQUAL = 4
    DATETIME_LESS_THAN_EQUAL = 5
    DATETIME_GREATER_THAN_EQUAL = 6
    BOOLEAN_EQUAL = 7
    BOOLEAN_NOT_EQUAL = 8


class ConnectionType(StrEnum):
    """Service of a connected account."""

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
    """State of a team membership."""

    INVITED = 1
    ACCEPTED = 2


class TeamRole(StrEnum):
    """Role of a team member."""

    ADMIN = "admin"
    DEVELOPER = "developer"
    READ_ONLY = "read_only"


class Scope(StrEnum):
    """OAuth2 scope."""

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
    """Type of an outgoing webhook request."""

    PING = 0
    """Verifies the URL."""
    EVENT = 1


class WebhookEventType(StrEnum):
    """Type of a webhook event."""

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
    """Type of a SKU."""

    DURABLE = 2
    CONSUMABLE = 3
    SUBSCRIPTION = 5
    SUBSCRIPTION_GROUP = 6
    """Group that the platform creates for each subscription SKU."""


class EntitlementType(IntEnum):
    """Origin of an entitlement."""

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
    """Type of a test entitlement's owner."""

    GUILD = 1
    USER = 2


class SubscriptionStatus(IntEnum):
    """Status of a subscription."""

    ACTIVE = 0
    INACTIVE = 1
    ENDING = 2
    """Active, but will not renew."""


# Stages, events, auto moderation


class StagePrivacyLevel(IntEnum):
    """Privacy level of a stage instance."""

    PUBLIC = 1
    """Deprecated: visible publicly."""
    GUILD_ONLY = 2


class EventPrivacyLevel(IntEnum):
    """Privacy level of a scheduled event."""

    GUILD_ONLY = 2


class EventStatus(IntEnum):
    """Status of a scheduled event."""

    SCHEDULED = 1
    ACTIVE = 2
    COMPLETED = 3
    CANCELED = 4


class EventEntityType(IntEnum):
    """Location type of a scheduled event."""

    NONE = 0
    STAGE_INSTANCE = 1
    VOICE = 2
    EXTERNAL = 3


class ScheduledEventResponse(IntEnum):
    """Response of a user to a scheduled event."""

    UNINTERESTED = 0
    INTERESTED = 1


class RecurrenceFrequency(IntEnum):
    """Frequency at which a scheduled event repeats."""

    YEARLY = 0
    MONTHLY = 1
    WEEKLY = 2
    DAILY = 3


class Weekday(IntEnum):
    """Day of the week in a recurrence rule."""

    MONDAY = 0
    TUESDAY = 1
    WEDNESDAY = 2
    THURSDAY = 3
    FRIDAY = 4
    SATURDAY = 5
    SUNDAY = 6


class VoiceEffectAnimationType(IntEnum):
    """Animation of a voice channel effect."""

    PREMIUM = 0
    BASIC = 1


class AutoModerationTriggerType(IntEnum):
    """Type of content that triggers a rule."""

    KEYWORD = 1
    SPAM = 3
    KEYWORD_PRESET = 4
    MENTION_SPAM = 5
    MEMBER_PROFILE = 6


class AutoModerationEventType(IntEnum):
    """Event on which a rule is checked."""

    MESSAGE_SEND = 1
    MEMBER_UPDATE = 2


class AutoModerationActionType(IntEnum):
    """Action that a rule performs."""

    BLOCK_MESSAGE = 1
    SEND_ALERT_MESSAGE = 2
    TIMEOUT = 3
    BLOCK_MEMBER_INTERACTION = 4
    """Prevents the member from posting, reacting and joining voice until their profile changes."""


class AutoModerationKeywordPresetType(IntEnum):
    """Keyword list maintained by the platform."""

    PROFANITY = 1
    SEXUAL_CONTENT = 2
    SLURS = 3


# Audit log (spec/http.md#3.11)


class AuditLogAction(IntEnum):
    """Type of an audit log entry."""

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

VOICE_TYPES: Final = frozenset({ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE})
"""Types of guild channels with voice."""

FORUM_TYPES: Final = frozenset({ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA})
"""Types of channels whose messages are all in threads."""

PRIVATE_TYPES: Final = frozenset({ChannelType.DM, ChannelType.GROUP_DM})
"""Types of private channels: direct messages and groups."""

CREATABLE_CHANNEL_TYPES: Final = frozenset(
    {
        ChannelType.GUILD_TEXT,
        ChannelType.GUILD_VOICE,
        ChannelType.GUILD_CATEGORY,
        ChannelType.GUILD_ANNOUNCEMENT,
        ChannelType.GUILD_STAGE_VOICE,
        ChannelType.GUILD_FORUM,
        ChannelType.GUILD_MEDIA,
    }
)
"""Types of channels that can be created in a guild."""

USER_MESSAGE_TYPES: Final = frozenset(
    {MessageType.DEFAULT, MessageType.REPLY, MessageType.CHAT_INPUT_COMMAND, MessageType.CONTEXT_MENU_COMMAND}
)
"""Types of messages that users write, or applications on their behalf; all other types are system messages."""

# fmt: off
LOCALES: Final = frozenset((
    "id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr",
    "hr", "it", "lt", "hu", "nl", "no", "pl", "pt-BR",
    "ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg",
    "ru", "uk", "hi", "th", "zh-CN", "ja", "zh-TW", "ko",
))
# fmt: on
"""Locales of users, guilds and command translations (spec/http.md#1.13)."""

LOCALE_FALLBACKS: Final = {"en-US": "en-GB", "en-GB": "en-US", "es-419": "es-ES"}
"""Locale to use for a command that has no translation in the user's locale, by the user's locale."""
