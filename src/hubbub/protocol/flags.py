"""Bit flags of objects, as plain ints (permissions and intents have their own files)."""

from typing import Final


class ApplicationFlags:
    """What an application is and may do; bits above 30 are only in `flags_new` (http.md 3.1)."""

    AUTO_MODERATION_RULE_CREATE_BADGE: Final = 1 << 6
    """Uses auto moderation in many guilds."""
    PUBLIC_OAUTH2_CLIENT: Final = 1 << 8
    """May exchange codes without a client secret."""
    SOCIAL_LAYER_INTEGRATION_LIMITED: Final = 1 << 10
    """Uses the social layer with the limits of development."""
    GATEWAY_PRESENCE: Final = 1 << 12
    """Was granted the GUILD_PRESENCES intent."""
    GATEWAY_PRESENCE_LIMITED: Final = 1 << 13
    """Enabled the GUILD_PRESENCES intent while small."""
    GATEWAY_GUILD_MEMBERS: Final = 1 << 14
    """Was granted the GUILD_MEMBERS intent."""
    GATEWAY_GUILD_MEMBERS_LIMITED: Final = 1 << 15
    """Enabled the GUILD_MEMBERS intent while small."""
    VERIFICATION_PENDING_GUILD_LIMIT: Final = 1 << 16
    """Grows unusually and is held back."""
    EMBEDDED: Final = 1 << 17
    """Is an activity."""
    GATEWAY_MESSAGE_CONTENT: Final = 1 << 18
    """Was granted the MESSAGE_CONTENT intent."""
    GATEWAY_MESSAGE_CONTENT_LIMITED: Final = 1 << 19
    """Enabled the MESSAGE_CONTENT intent while small."""
    APPLICATION_COMMAND_BADGE: Final = 1 << 23
    """Has global commands."""
    IFRAME_MODAL: Final = 1 << 26
    """May open its own page in a modal."""
    SOCIAL_LAYER_INTEGRATION: Final = 1 << 27
    """Uses the social layer with full access."""
    PARENT: Final = 1 << 33
    """Is the publisher of other applications."""
    DISABLE_RELATIONSHIP_ACCESS: Final = 1 << 34
    """Does without relationships."""
    STOREFRONT_ELIGIBLE: Final = 1 << 35
    """May have a store page."""

    EDITABLE: Final = GATEWAY_PRESENCE_LIMITED | GATEWAY_GUILD_MEMBERS_LIMITED | GATEWAY_MESSAGE_CONTENT_LIMITED
    """What the application itself may change."""
    NARROW: Final = (1 << 31) - 1
    """The bits that the number `flags` carries."""


class UserFlags:
    """What a user is; most are badges."""

    STAFF: Final = 1 << 0
    """Works for the platform."""
    PARTNER: Final = 1 << 1
    """Owns a partnered guild."""
    HYPESQUAD: Final = 1 << 2
    """Took part in events."""
    BUG_HUNTER_LEVEL_1: Final = 1 << 3
    """Found bugs."""
    HYPESQUAD_ONLINE_HOUSE_1: Final = 1 << 6
    """House of bravery."""
    HYPESQUAD_ONLINE_HOUSE_2: Final = 1 << 7
    """House of brilliance."""
    HYPESQUAD_ONLINE_HOUSE_3: Final = 1 << 8
    """House of balance."""
    PREMIUM_EARLY_SUPPORTER: Final = 1 << 9
    """Paid early."""
    TEAM_PSEUDO_USER: Final = 1 << 10
    """Stands for a team."""
    SYSTEM: Final = 1 << 12
    """Speaks for the platform."""
    BUG_HUNTER_LEVEL_2: Final = 1 << 14
    """Found many bugs."""
    VERIFIED_BOT: Final = 1 << 16
    """A bot that was verified."""
    VERIFIED_DEVELOPER: Final = 1 << 17
    """Verified a bot early."""
    CERTIFIED_MODERATOR: Final = 1 << 18
    """Passed the moderators' examination."""
    BOT_HTTP_INTERACTIONS: Final = 1 << 19
    """A bot that answers by HTTP and is shown as online."""
    SPAMMER: Final = 1 << 20
    """Sends what nobody wants."""
    ACTIVE_DEVELOPER: Final = 1 << 22
    """Has an application in use."""
    PROVISIONAL_ACCOUNT: Final = 1 << 23
    """Made by a game, without an account of its own."""
    QUARANTINED: Final = 1 << 44
    """Held back by the platform."""
    COLLABORATOR: Final = 1 << 50
    """Works with the platform."""
    RESTRICTED_COLLABORATOR: Final = 1 << 51
    """Works with the platform, with less access."""

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
    """What others see as `public_flags`."""


class ChannelFlags:
    """Traits of a channel (http.md 3.2)."""

    PINNED: Final = 1 << 1
    """A post pinned to the top of its forum."""
    REQUIRE_TAG: Final = 1 << 4
    """A forum whose posts need a tag."""
    HIDE_MEDIA_DOWNLOAD_OPTIONS: Final = 1 << 15
    """A media channel that does not offer downloads."""
    CHANNEL_OBFUSCATED: Final = 1 << 17
    """The viewer cannot see this channel; its data is made up."""
    IS_SPOILER_CHANNEL: Final = 1 << 21
    """All media in it are shown veiled."""


class MessageFlags:
    """Traits of a message."""

    CROSSPOSTED: Final = 1 << 0
    """Was published to the channels that follow."""
    IS_CROSSPOST: Final = 1 << 1
    """Came from a channel that is followed."""
    SUPPRESS_EMBEDS: Final = 1 << 2
    """Shows no embeds."""
    SOURCE_MESSAGE_DELETED: Final = 1 << 3
    """The message this one was copied from is gone."""
    URGENT: Final = 1 << 4
    """Came from the platform's urgent system."""
    HAS_THREAD: Final = 1 << 5
    """A thread with the same id was started from it."""
    EPHEMERAL: Final = 1 << 6
    """Only the user who caused the interaction sees it."""
    LOADING: Final = 1 << 7
    """An interaction's answer that is still being made."""
    FAILED_TO_MENTION_SOME_ROLES_IN_THREAD: Final = 1 << 8
    """Some roles could not be mentioned and added to the thread."""
    SUPPRESS_NOTIFICATIONS: Final = 1 << 12
    """Notifies nobody loudly."""
    IS_VOICE_MESSAGE: Final = 1 << 13
    """Is spoken."""
    HAS_SNAPSHOT: Final = 1 << 14
    """Is a forward and carries a copy."""
    IS_COMPONENTS_V2: Final = 1 << 15
    """Is made of components only."""
    SENT_BY_SOCIAL_LAYER_INTEGRATION: Final = 1 << 16
    """Was sent from a game."""

    SETTABLE: Final = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | IS_VOICE_MESSAGE | IS_COMPONENTS_V2
    """What the sender of a message may set."""


class AttachmentFlags:
    """Traits of an attachment."""

    IS_CLIP: Final = 1 << 0
    """A clip of a stream."""
    IS_THUMBNAIL: Final = 1 << 1
    """The picture of a post in a media channel."""
    IS_REMIX: Final = 1 << 2
    """Was edited with the remix feature."""
    IS_SPOILER: Final = 1 << 3
    """Is shown veiled."""
    CONTAINS_EXPLICIT_MEDIA: Final = 1 << 4
    """Was found to be explicit."""
    IS_ANIMATED: Final = 1 << 5
    """Moves."""


class EmbedFlags:
    """Traits of an embed."""

    CONTAINS_EXPLICIT_MEDIA: Final = 1 << 4
    """Was found to be explicit."""
    IS_CONTENT_INVENTORY_ENTRY: Final = 1 << 5
    """Shows an entry of the activity feed."""


class MemberFlags:
    """Traits of a guild member."""

    DID_REJOIN: Final = 1 << 0
    """Left and came back."""
    COMPLETED_ONBOARDING: Final = 1 << 1
    """Went through onboarding."""
    BYPASSES_VERIFICATION: Final = 1 << 2
    """Is exempt from verification; the one bit that may be edited."""
    STARTED_ONBOARDING: Final = 1 << 3
    """Began onboarding."""
    IS_GUEST: Final = 1 << 4
    """May only be in the voice channel of their invite."""
    STARTED_HOME_ACTIONS: Final = 1 << 5
    """Began the new members' actions of the guide."""
    COMPLETED_HOME_ACTIONS: Final = 1 << 6
    """Did the new members' actions of the guide."""
    AUTOMOD_QUARANTINED_USERNAME: Final = 1 << 7
    """Their name was caught by auto moderation."""
    DM_SETTINGS_UPSELL_ACKNOWLEDGED: Final = 1 << 9
    """Has read the hint about direct messages."""
    AUTOMOD_QUARANTINED_GUILD_TAG: Final = 1 << 10
    """Their guild tag was caught by auto moderation."""

    AUTOMOD_QUARANTINED: Final = AUTOMOD_QUARANTINED_USERNAME | AUTOMOD_QUARANTINED_GUILD_TAG
    """Who may only read until their profile changes."""

    EDITABLE: Final = BYPASSES_VERIFICATION
    """What moderators may change."""
    QUARANTINED: Final = AUTOMOD_QUARANTINED_USERNAME | AUTOMOD_QUARANTINED_GUILD_TAG
    """Either of these takes the member's interaction rights."""


class RoleFlags:
    """Traits of a role."""

    IN_PROMPT: Final = 1 << 0
    """Can be chosen in onboarding."""


class InviteFlags:
    """Traits of an invite."""

    IS_GUEST_INVITE: Final = 1 << 0
    """Leads to a voice channel as a guest."""


class SystemChannelFlags:
    """Which messages the system channel does without."""

    SUPPRESS_JOIN_NOTIFICATIONS: Final = 1 << 0
    """Who joined."""
    SUPPRESS_PREMIUM_SUBSCRIPTIONS: Final = 1 << 1
    """Who boosted."""
    SUPPRESS_GUILD_REMINDER_NOTIFICATIONS: Final = 1 << 2
    """Hints about setting the guild up."""
    SUPPRESS_JOIN_NOTIFICATION_REPLIES: Final = 1 << 3
    """Buttons to wave at who joined."""
    SUPPRESS_ROLE_SUBSCRIPTION_PURCHASE_NOTIFICATIONS: Final = 1 << 4
    """Who bought a role."""
    SUPPRESS_ROLE_SUBSCRIPTION_PURCHASE_NOTIFICATION_REPLIES: Final = 1 << 5
    """Buttons to greet who bought a role."""

    ALL: Final = (1 << 6) - 1


class ActivityFlags:
    """What a presence's activity offers (gateway.md 8)."""

    INSTANCE: Final = 1 << 0
    """Is a single run of a game."""
    JOIN: Final = 1 << 1
    """Can be joined."""
    SPECTATE: Final = 1 << 2
    """Can be watched."""
    JOIN_REQUEST: Final = 1 << 3
    """One may ask to join."""
    SYNC: Final = 1 << 4
    """Can be listened to together."""
    PLAY: Final = 1 << 5
    """Can be played."""
    PARTY_PRIVACY_FRIENDS: Final = 1 << 6
    """Friends may join the party."""
    PARTY_PRIVACY_VOICE_CHANNEL: Final = 1 << 7
    """Who is in the voice channel may join the party."""
    EMBEDDED: Final = 1 << 8
    """Runs inside the client."""


class SkuFlags:
    """What a SKU is sold as."""

    AVAILABLE: Final = 1 << 2
    """Can be bought."""
    GUILD_SUBSCRIPTION: Final = 1 << 7
    """A subscription for a whole guild."""
    USER_SUBSCRIPTION: Final = 1 << 8
    """A subscription for one user."""


class LobbyFlags:
    """Traits of a lobby."""

    REQUIRE_APPLICATION_AUTHORIZATION: Final = 1 << 0
    """Users must authorize the application to post in the linked channel."""


class LobbyMemberFlags:
    """What a member of a lobby may do."""

    CAN_LINK_LOBBY: Final = 1 << 0
    """Link a channel to the lobby."""


class SpeakingFlags:
    """How a voice client speaks."""

    MICROPHONE: Final = 1 << 0
    """Voice."""
    SOUNDSHARE: Final = 1 << 1
    """Sound of a program, without a speaking mark."""
    PRIORITY: Final = 1 << 2
    """Voice that lowers the others."""
