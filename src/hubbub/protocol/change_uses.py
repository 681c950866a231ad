"""Uses of the platform that each dated change concerns, so that a rehearsal reports the changes that a program will notice.

A use is a text: a request (`POST /guilds`), a request with a field in its body (`POST /guilds name`) or with files
(`upload POST /guilds`), a field of any request (`field embeds`), a received event (`event MESSAGE_CREATE`), an intent of a session
(`intent GUILDS`), a frame of a gateway client (`frame REQUEST_GUILD_MEMBERS`), or a mode of a voice client (`voice ...`).
"""

from collections.abc import Mapping
from typing import Final

from hubbub.protocol import changes
from hubbub.protocol.changes import Change

VOICE_VERSION_BELOW_4: Final = "voice version below 4"
VOICE_OLD_ENCRYPTION: Final = "voice old encryption mode"
VOICE_WITHOUT_E2EE: Final = "voice without end-to-end encryption"

_CALLBACK: Final = "POST /interactions/{interaction_id}/{interaction_token}/callback"
_ORIGINAL_EDIT: Final = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original"
_EXECUTION: Final = "POST /webhooks/{webhook_id}/{webhook_token}"
_MESSAGE: Final = "POST /channels/{channel_id}/messages"
_MESSAGE_EDIT: Final = "PATCH /channels/{channel_id}/messages/{message_id}"
_INVITE: Final = "POST /channels/{channel_id}/invites"
_PINS: Final = (
    "PUT /channels/{channel_id}/pins/{message_id}",
    "DELETE /channels/{channel_id}/pins/{message_id}",
    "PUT /channels/{channel_id}/messages/pins/{message_id}",
    "DELETE /channels/{channel_id}/messages/pins/{message_id}",
)
_EXPRESSIONS_AND_EVENTS: Final = (
    "POST /guilds/{guild_id}/emojis",
    "POST /guilds/{guild_id}/stickers",
    "POST /guilds/{guild_id}/soundboard-sounds",
    "POST /guilds/{guild_id}/scheduled-events",
)
_COMMAND_WRITES: Final = (
    "POST /applications/{application_id}/commands",
    "PUT /applications/{application_id}/commands",
    "POST /applications/{application_id}/guilds/{guild_id}/commands",
    "PUT /applications/{application_id}/guilds/{guild_id}/commands",
)
_TARGET_USERS: Final = (
    "GET /invites/{code}/target-users",
    "GET /invites/{code}/target-users/job-status",
    "PUT /invites/{code}/target-users",
)
_ENTITLEMENTS: Final = (
    "GET /applications/{application_id}/entitlements",
    "event ENTITLEMENT_CREATE",
    "event ENTITLEMENT_UPDATE",
)

USES_BY_CHANGE: Final[Mapping[Change, tuple[str, ...]]] = {
    changes.VOICE_VERSIONS: (VOICE_VERSION_BELOW_4,),
    changes.VOICE_ENCRYPTION: (VOICE_OLD_ENCRYPTION,),
    changes.WEBHOOK_UPLOAD_10MIB: tuple(f"upload {use}" for use in (_EXECUTION, _CALLBACK, _ORIGINAL_EDIT)),
    changes.GUILD_CREATE_REMOVED_FOR_APPS: ("POST /guilds",),
    changes.MEMBER_REQUEST_LIMIT_LARGE: ("frame REQUEST_GUILD_MEMBERS",),
    changes.MEMBER_REQUEST_LIMIT: ("frame REQUEST_GUILD_MEMBERS",),
    changes.PERMISSION_SPLITS: (*_PINS, *_EXPRESSIONS_AND_EVENTS, _MESSAGE),
    changes.E2EE_VOICE_ONLY: (VOICE_WITHOUT_E2EE,),
    changes.PUBLISHER_SCHEME: ("GET /users/@me/connections",),
    changes.CONNECTIONS_PUBLISHER: ("GET /users/@me/connections",),
    changes.CHANNEL_OBFUSCATION: ("GET /guilds/{guild_id}/channels", "intent GUILDS"),
    changes.EMBED_FIELDS_REJECTED: ("field embeds",),
    changes.ENFORCE_NONCE: ("field enforce_nonce",),
    changes.PRUNE_PERMISSIONS: ("GET /guilds/{guild_id}/prune", "POST /guilds/{guild_id}/prune"),
    changes.USER_INSTALLS: ("field integration_types", "field contexts", "event INTERACTION_CREATE"),
    changes.MEMBER_FLAGS_PERMISSIONS: ("PATCH /guilds/{guild_id}/members/{user_id} flags",),
    changes.MEMBER_PROFILE_RULES: (
        "POST /guilds/{guild_id}/auto-moderation/rules",
        "PATCH /guilds/{guild_id}/auto-moderation/rules/{rule_id}",
    ),
    changes.PREMIUM_BUTTONS: ("field components", f"{_CALLBACK} type"),
    changes.EXTERNAL_APPS: (_CALLBACK,),
    changes.EXTERNAL_APP_FOLLOW_UP_LIMIT: (_EXECUTION,),
    changes.INTEGRATION_OWNER_STRINGS: ("event INTERACTION_CREATE",),
    changes.AUTO_MODERATION_OF_EDITS: (_MESSAGE_EDIT,),
    changes.GUILD_LIST_BANNER: ("GET /users/@me/guilds",),
    changes.MESSAGE_FORWARDING: ("field message_reference",),
    changes.MEMBER_BANNER: ("GET /guilds/{guild_id}/members/{user_id}", "event GUILD_MEMBER_UPDATE"),
    changes.APPLICATION_EMOJIS: (
        "GET /applications/{application_id}/emojis",
        "POST /applications/{application_id}/emojis",
    ),
    changes.VOICE_STATE_READS: (
        "GET /guilds/{guild_id}/voice-states/@me",
        "GET /guilds/{guild_id}/voice-states/{user_id}",
    ),
    changes.GET_GUILD_ROLE: ("GET /guilds/{guild_id}/roles/{role_id}",),
    changes.ENTRY_POINT_COMMANDS: tuple(f"{use} handler" for use in _COMMAND_WRITES),
    changes.POLL_IN_DEFERRED_EDIT: (f"{_ORIGINAL_EDIT} poll",),
    changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATING: _ENTITLEMENTS,
    changes.SUBSCRIPTION_ENTITLEMENTS_MIGRATED: _ENTITLEMENTS,
    changes.RENEWAL_SKU_IDS: ("GET /skus/{sku_id}/subscriptions", "event SUBSCRIPTION_CREATE"),
    changes.PER_ATTACHMENT_LIMIT: tuple(f"upload {use}" for use in (_MESSAGE, _MESSAGE_EDIT, _EXECUTION, _CALLBACK)),
    changes.ATTACHMENT_SIZE_LIMIT: ("event INTERACTION_CREATE",),
    changes.COMPONENTS_V2: ("field components",),
    changes.COMPONENTS_40: ("field components",),
    changes.PAGINATED_PINS: (
        "GET /channels/{channel_id}/messages/pins",
        "PUT /channels/{channel_id}/messages/pins/{message_id}",
        "DELETE /channels/{channel_id}/messages/pins/{message_id}",
    ),
    changes.ROLE_GRADIENTS: ("field colors",),
    changes.GUILD_TAGS: ("PATCH /users/@me",),
    changes.ACTIVITY_URLS: ("event PRESENCE_UPDATE", "frame PRESENCE_UPDATE"),
    changes.PIN_MESSAGES_INTRODUCED: _PINS,
    changes.MODAL_LABELS: (f"{_CALLBACK} custom_id",),
    changes.MODAL_SELECTS: (f"{_CALLBACK} custom_id",),
    changes.MODAL_TEXT_DISPLAYS: (f"{_CALLBACK} custom_id",),
    changes.BOT_GUILD_PROFILES: tuple(
        f"PATCH /guilds/{{guild_id}}/members/@me {name}" for name in ("avatar", "banner", "bio")
    ),
    changes.MODAL_FILE_UPLOAD: (f"{_CALLBACK} custom_id",),
    changes.CREATE_PERMISSIONS_FOR_BOTS: _EXPRESSIONS_AND_EVENTS,
    changes.BYPASS_SLOWMODE_INTRODUCED: (_MESSAGE,),
    changes.ROLE_MEMBER_COUNTS: ("GET /guilds/{guild_id}/roles/member-counts",),
    changes.INVITE_TARGET_USERS: (f"upload {_INVITE}", *_TARGET_USERS),
    changes.INVITE_ROLES: (f"{_INVITE} role_ids",),
    changes.RELATIONSHIPS_FOR_ACTIVITIES: ("GET /users/@me/relationships",),
    changes.TARGET_USERS_HEADER: ("GET /invites/{code}/target-users",),
    changes.INVITE_PARTIAL_ROLES: ("GET /invites/{code}", "GET /guilds/{guild_id}/invites", _INVITE),
    changes.MODAL_CHOICES: (f"{_CALLBACK} custom_id",),
    changes.MODERATION_METADATA: (
        "PUT /lobbies/{lobby_id}/messages/{message_id}/moderation-metadata",
        "PUT /partner-sdk/dms/{user_id_1}/{user_id_2}/messages/{message_id}/moderation-metadata",
    ),
    changes.CONTEXT_MENU_LIMIT_15: _COMMAND_WRITES,
    changes.MESSAGE_SEARCH_FOR_APPS: ("GET /guilds/{guild_id}/messages/search",),
    changes.FORWARD_READABLE_CONTENT: ("field message_reference",),
    changes.OIDC_REFRESH_DEPRECATED: ("POST /oauth2/token",),
    changes.VOICE_STATUS: ("PUT /channels/{channel_id}/voice-status",),
    changes.OIDC_STRICT_ISSUER: (
        "PUT /applications/{application_id}/external-identity-provider-configurations/{type}",
    ),
    changes.BULK_LOBBY_MEMBERS: ("POST /lobbies/{lobby_id}/members/bulk",),
    changes.PREMIUM_TYPE_SCOPE: ("GET /users/@me",),
    changes.APPLICATION_FLAGS_NEW: ("GET /applications/@me", "GET /oauth2/applications/@me"),
    changes.LOBBY_ROUTES: ("PUT /lobbies", "POST /lobbies/{lobby_id}/messages"),
    changes.PRIVILEGED_INTENTS_BY_USERS: ("intent GUILD_MEMBERS", "intent GUILD_PRESENCES", "intent MESSAGE_CONTENT"),
    changes.ATTACHMENT_SPOILER: ("field is_spoiler",),
    changes.RESOLVED_CHANNEL_PERMISSIONS: ("event INTERACTION_CREATE",),
    changes.LOBBY_ADDITIONAL_NAME: (
        "PUT /lobbies/{lobby_id}/members/{user_id}",
        "POST /lobbies/{lobby_id}/members/bulk",
    ),
    changes.CHANNEL_APPLICATION_ID_NULLABLE: ("GET /channels/{channel_id}", "event CHANNEL_UPDATE"),
    changes.FILE_UPLOAD_TYPES: ("field file_types",),
}
"""Uses that a change concerns. A change that no traffic of a program shows, such as one of the documentation, is absent."""

ALL_USES: Final = frozenset(use for uses in USES_BY_CHANGE.values() for use in uses)
"""All uses that a change concerns; a rehearsal records no others."""
