"""Bit flags of objects, as plain integers. Permissions and intents have their own modules."""

from typing import Final


class ApplicationFlags:
    """Flags of an application; bits above 30 are only in `flags_new` (spec/http.md#3.1)."""

    AUTO_MODERATION_RULE_CREATE_BADGE: Final = 1 << 6
    """The application uses auto moderation in many guilds."""
    PUBLIC_OAUTH2_CLIENT: Final = 1 << 8
    """The application exchanges authorization codes without a client secret."""
    SOCIAL_LAYER_INTEGRATION_LIMITED: Final = 1 << 10
    """The application uses the social layer with development limits."""
    GATEWAY_PRESENCE: Final = 1 << 12
    """The application was granted the GUILD_PRESENCES intent."""
    GATEWAY_PRESENCE_LIMITED: Final = 1 << 13
    """The application enabled the GUILD_PRESENCES intent itself, below the size that requires approval."""
    GATEWAY_GUILD_MEMBERS: Final = 1 << 14
    """The application was granted the GUILD_MEMBERS intent."""
    GATEWAY_GUILD_MEMBERS_LIMITED: Final = 1 << 15
    """The application enabled the GUILD_MEMBERS intent itself, below the size that requires approval."""
    VERIFICATION_PENDING_GUILD_LIMIT: Final = 1 << 16
    """The application shows unusual growth that prevents verification."""
    EMBEDDED: Final = 1 << 17
    """The application is an activity."""
    GATEWAY_MESSAGE_CONTENT: Final = 1 << 18
    """The application was granted the MESSAGE_CONTENT intent."""
    GATEWAY_MESSAGE_CONTENT_LIMITED: Final = 1 << 19
    """The application enabled the MESSAGE_CONTENT intent itself, below the size that requires approval."""
    APPLICATION_COMMAND_BADGE: Final = 1 << 23
    """The application has global commands."""
    IFRAME_MODAL: Final = 1 << 26
    """The application may display its own page in a modal."""
    SOCIAL_LAYER_INTEGRATION: Final = 1 << 27
    """The application uses the social layer with full access."""
    PARENT: Final = 1 << 33
    """The application is the publisher of other applications."""
    DISABLE_RELATIONSHIP_ACCESS: Final = 1 << 34
    """The application does not use relationships."""
    STOREFRONT_ELIGIBLE: Final = 1 << 35
    """The application may have a store page."""

    EDITABLE: Final = GATEWAY_PRESENCE_LIMITED | GATEWAY_GUILD_MEMBERS_LIMITED | GATEWAY_MESSAGE_CONTENT_LIMITED
    """Bits that the application may change itself."""
    LEGACY_FIELD_MASK: Final = (1 << 31) - 1
    """Bits that `flags` contains; `flags_new` contains all bits."""


class UserFlags:
    """Flags of a user; most are badges."""

    STAFF: Final = 1 << 0
    """Employee of the platform."""
    PARTNER: Final = 1 << 1
    """Owner of a partnered guild."""
    HYPESQUAD: Final = 1 << 2
    """Participant in community events."""
    BUG_HUNTER_LEVEL_1: Final = 1 << 3
    """User who reported bugs to the platform, on the first level."""
    HYPESQUAD_ONLINE_HOUSE_1: Final = 1 << 6
    """Member of the house of bravery."""
    HYPESQUAD_ONLINE_HOUSE_2: Final = 1 << 7
    """Member of the house of brilliance."""
    HYPESQUAD_ONLINE_HOUSE_3: Final = 1 << 8
    """Member of the house of balance."""
    PREMIUM_EARLY_SUPPORTER: Final = 1 << 9
    """Early premium subscriber."""
    TEAM_PSEUDO_USER: Final = 1 << 10
    """User that represents a team."""
    SYSTEM: Final = 1 << 12
    """User that represents the platform."""
    BUG_HUNTER_LEVEL_2: Final = 1 << 14
    """User who reported bugs to the platform, on the second level."""
    VERIFIED_BOT: Final = 1 << 16
    """Bot whose application the platform verified."""
    VERIFIED_DEVELOPER: Final = 1 << 17
    """Developer who verified a bot early."""
    CERTIFIED_MODERATOR: Final = 1 << 18
    """Alumnus of the moderator program."""
    BOT_HTTP_INTERACTIONS: Final = 1 << 19
    """Bot that receives interactions only over HTTP and is displayed as online."""
    SPAMMER: Final = 1 << 20
    """User marked as a spammer."""
    ACTIVE_DEVELOPER: Final = 1 << 22
    """Developer of an application in use."""
    PROVISIONAL_ACCOUNT: Final = 1 << 23
    """Provisional account created by a game."""
    QUARANTINED: Final = 1 << 44
    """User restricted by the platform."""
    COLLABORATOR: Final = 1 << 50
    """Collaborator of the platform."""
    RESTRICTED_COLLABORATOR: Final = 1 << 51
    """Collaborator of the platform with restricted access."""

    PUBLIC: Final = (
        STAFF
        | PARTNER
        | HYPESQUAD
        | BUG_HUNTER_LEVEL_1
        | HYPESQUAD_ONLINE_HOUSE_1
        | HYPESQUAD_ONLINE_HOUSE_2
        | HYPESQUAD_ONLINE_HOUSE_3
        | PREMIUM_EARLY_SUPPORTER
        | TEAM_PSEUDO_USER
        | BUG_HUNTER_LEVEL_2
        | VERIFIED_BOT
        | VERIFIED_DEVELOPER
        | CERTIFIED_MODERATOR
        | BOT_HTTP_INTERACTIONS
        | SPAMMER
        | ACTIVE_DEVELOPER
        | PROVISIONAL_ACCOUNT
    )
    """Bits that other users see as `public_flags`."""


class ChannelFlags:
    """Flags of a channel (spec/http.md#3.2)."""

    PINNED: Final = 1 << 1
    """Post pinned to the top of its forum or media channel."""
    REQUIRE_TAG: Final = 1 << 4
    """Forum or media channel whose posts require a tag."""
    HIDE_MEDIA_DOWNLOAD_OPTIONS: Final = 1 << 15
    """Media channel that does not offer downloads."""
    CHANNEL_OBFUSCATED: Final = 1 << 17
    """The current user cannot view this channel; its data is obfuscated."""
    IS_SPOILER_CHANNEL: Final = 1 << 21
    """All media in the channel is hidden behind a spoiler warning."""


class MessageFlags:
    """Flags of a message."""

    CROSSPOSTED: Final = 1 << 0
    """The message was published to the channels that follow its channel."""
    IS_CROSSPOST: Final = 1 << 1
    """The message is a copy of a message from a followed channel."""
    SUPPRESS_EMBEDS: Final = 1 << 2
    """The message is delivered without its embeds."""
    SOURCE_MESSAGE_DELETED: Final = 1 << 3
    """The message that this crosspost was copied from was deleted."""
    URGENT: Final = 1 << 4
    """The message comes from the platform's urgent message system."""
    HAS_THREAD: Final = 1 << 5
    """The message has a thread with the same ID."""
    EPHEMERAL: Final = 1 << 6
    """The message is visible only to the user who triggered the interaction."""
    LOADING: Final = 1 << 7
    """The message is a deferred interaction response whose content is not available yet."""
    FAILED_TO_MENTION_SOME_ROLES_IN_THREAD: Final = 1 << 8
    """Some mentioned roles and their members could not be added to the thread."""
    SUPPRESS_NOTIFICATIONS: Final = 1 << 12
    """The message does not trigger push and desktop notifications."""
    IS_VOICE_MESSAGE: Final = 1 << 13
    """The message consists of one audio attachment with a duration and a waveform."""
    HAS_SNAPSHOT: Final = 1 << 14
    """The message is a forward and contains a snapshot of the original."""
    IS_COMPONENTS_V2: Final = 1 << 15
    """The message consists of components only; the flag cannot be removed once set."""
    SENT_BY_SOCIAL_LAYER_INTEGRATION: Final = 1 << 16
    """The message was sent from a game."""

    SETTABLE: Final = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | IS_VOICE_MESSAGE | IS_COMPONENTS_V2
    """Bits that the author of a message may set."""


class AttachmentFlags:
    """Flags of an attachment."""

    IS_CLIP: Final = 1 << 0
    """Clip of a stream."""
    IS_THUMBNAIL: Final = 1 << 1
    """Thumbnail of a post in a media channel."""
    IS_REMIX: Final = 1 << 2
    """Edited with the remix feature."""
    IS_SPOILER: Final = 1 << 3
    """Hidden behind a spoiler warning."""
    CONTAINS_EXPLICIT_MEDIA: Final = 1 << 4
    """Detected as explicit."""
    IS_ANIMATED: Final = 1 << 5
    """Animated image."""


class EmbedFlags:
    """Flags of an embed."""

    CONTAINS_EXPLICIT_MEDIA: Final = 1 << 4
    """Contains media detected as explicit."""
    IS_CONTENT_INVENTORY_ENTRY: Final = 1 << 5
    """Displays an entry of the activity feed."""


class MemberFlags:
    """Flags of a guild member."""

    DID_REJOIN: Final = 1 << 0
    """The member left the guild and joined again."""
    COMPLETED_ONBOARDING: Final = 1 << 1
    """The member submitted responses to onboarding."""
    BYPASSES_VERIFICATION: Final = 1 << 2
    """The member is exempt from the verification requirements; the only bit that can be edited."""
    STARTED_ONBOARDING: Final = 1 << 3
    """The member joined while onboarding was enabled, or submitted responses to it."""
    IS_GUEST: Final = 1 << 4
    """The member is a guest, who may only use the voice channel of their invite."""
    STARTED_HOME_ACTIONS: Final = 1 << 5
    """The member started the new member actions of the server guide."""
    COMPLETED_HOME_ACTIONS: Final = 1 << 6
    """The member completed the new member actions of the server guide."""
    AUTOMOD_QUARANTINED_USERNAME: Final = 1 << 7
    """Auto moderation quarantined the member because of a username, display name or nickname."""
    DM_SETTINGS_UPSELL_ACKNOWLEDGED: Final = 1 << 9
    """The member dismissed the notice about direct message settings."""
    AUTOMOD_QUARANTINED_GUILD_TAG: Final = 1 << 10
    """Auto moderation quarantined the member because of a guild tag."""

    AUTOMOD_QUARANTINED: Final = AUTOMOD_QUARANTINED_USERNAME | AUTOMOD_QUARANTINED_GUILD_TAG
    """Bits of members who may only read until their profile no longer matches a rule."""

    EDITABLE: Final = BYPASSES_VERIFICATION
    """Bits that moderators may change."""


class RoleFlags:
    """Flags of a role."""

    IN_PROMPT: Final = 1 << 0
    """The role can be selected in onboarding."""


class InviteFlags:
    """Flags of an invite."""

    IS_GUEST_INVITE: Final = 1 << 0
    """The invite is for guests of a voice channel."""


class SystemChannelFlags:
    """System messages and buttons on them that a guild suppresses."""

    SUPPRESS_JOIN_NOTIFICATIONS: Final = 1 << 0
    """Suppress messages about new members."""
    SUPPRESS_PREMIUM_SUBSCRIPTIONS: Final = 1 << 1
    """Suppress messages about boosts."""
    SUPPRESS_GUILD_REMINDER_NOTIFICATIONS: Final = 1 << 2
    """Suppress tips for setting up the guild."""
    SUPPRESS_JOIN_NOTIFICATION_REPLIES: Final = 1 << 3
    """Hide the reply buttons on messages about new members."""
    SUPPRESS_ROLE_SUBSCRIPTION_PURCHASE_NOTIFICATIONS: Final = 1 << 4
    """Suppress messages about role subscription purchases."""
    SUPPRESS_ROLE_SUBSCRIPTION_PURCHASE_NOTIFICATION_REPLIES: Final = 1 << 5
    """Hide the reply buttons on messages about role subscription purchases."""

    ALL: Final = (1 << 6) - 1


class ActivityFlags:
    """Flags of a presence activity (spec/gateway.md#8)."""

    INSTANCE: Final = 1 << 0
    """The activity is a single match or session of a game."""
    JOIN: Final = 1 << 1
    """The activity can be joined."""
    SPECTATE: Final = 1 << 2
    """The activity can be spectated."""
    JOIN_REQUEST: Final = 1 << 3
    """The activity accepts requests to join."""
    SYNC: Final = 1 << 4
    """The activity can be listened to together."""
    PLAY: Final = 1 << 5
    """The activity can be played."""
    PARTY_PRIVACY_FRIENDS: Final = 1 << 6
    """Friends may join the party."""
    PARTY_PRIVACY_VOICE_CHANNEL: Final = 1 << 7
    """Users in the same voice channel may join the party."""
    EMBEDDED: Final = 1 << 8
    """The activity runs inside the chat client."""


class SkuFlags:
    """Flags of a SKU."""

    AVAILABLE: Final = 1 << 2
    """The SKU can be bought."""
    GUILD_SUBSCRIPTION: Final = 1 << 7
    """Subscription for a guild."""
    USER_SUBSCRIPTION: Final = 1 << 8
    """Subscription for a user."""


class LobbyFlags:
    """Flags of a lobby."""

    REQUIRE_APPLICATION_AUTHORIZATION: Final = 1 << 0
    """Users must authorize the application to post in the linked channel."""


class LobbyMemberFlags:
    """Flags of a lobby member."""

    CAN_LINK_LOBBY: Final = 1 << 0
    """The member may link a channel to the lobby."""
