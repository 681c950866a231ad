"""Dated behavior: every change of the specification that takes effect on a date (spec/dated-changes.md#1).

Code calls `changes.PERMISSION_SPLITS.is_active(call.now_ms)` for each decision and does not cache the result, so that setting the
clock back restores the old behavior.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import cached_property
from typing import Final

_Date = date


@dataclass(frozen=True)
class Change:
    """A change of behavior and the time at which it takes effect."""

    name: str
    """Name of the change: the name of its constant in lower case."""
    date: _Date
    """Date on which the change takes effect, in UTC."""
    after: str
    """Behavior from the effective time on."""
    time_of_day: time = time(0)
    """Time of day in UTC; midnight unless a source states a time, because the specification names days only."""
    before: str = field(kw_only=True)
    """Behavior before the effective time."""

    @cached_property
    def at_ms(self) -> int:
        """Effective time in Unix milliseconds."""
        return int(datetime.combine(self.date, self.time_of_day, UTC).timestamp()) * 1000

    def is_active(self, now_ms: int) -> bool:
        """Return whether the change is in effect at a time in Unix milliseconds, the effective time included."""
        return now_ms >= self.at_ms


# Announced changes (spec/dated-changes.md#2)

VOICE_VERSIONS: Final = Change(
    "voice_versions",
    date(2024, 11, 18),
    "Voice gateway connections without a version, or with a version below 4, are rejected.",
    before="All versions are accepted; a connection without a version uses version 1.",
)
VOICE_ENCRYPTION: Final = Change(
    "voice_encryption",
    date(2024, 11, 18),
    "The old voice encryption modes are neither offered nor accepted.",
    before="The old modes are offered and accepted.",
)
WEBHOOK_UPLOAD_10MIB: Final = Change(
    "webhook_upload_10mib",
    date(2025, 1, 16),
    "Files uploaded by webhooks and interaction responses are limited to 10 MiB.",
    before="The limit is 25 MiB.",
)
GUILD_CREATE_REMOVED_FOR_APPS: Final = Change(
    "guild_create_removed_for_apps",
    date(2025, 7, 15),
    "Applications cannot create guilds.",
    before="An application in fewer than 10 guilds can create guilds.",
)
MEMBER_REQUEST_LIMIT_LARGE: Final = Change(
    "member_request_limit_large",
    date(2025, 8, 14),
    "In very large guilds, a bot may request all members once per 30 seconds.",
    before="There is no limit.",
)
MEMBER_REQUEST_LIMIT: Final = Change(
    "member_request_limit",
    date(2025, 10, 1),
    "In every guild, a bot may request all members once per 30 seconds.",
    before="Only very large guilds have the limit.",
)
PERMISSION_SPLITS: Final = Change(
    "permission_splits",
    date(2026, 2, 23),
    "Pinning, bypassing slowmode, and creating expressions and events require their own permissions.",
    before="MANAGE_MESSAGES, MANAGE_GUILD_EXPRESSIONS, MANAGE_EVENTS and other older permissions are also sufficient.",
)
E2EE_VOICE_ONLY: Final = Change(
    "e2ee_voice_only",
    date(2026, 3, 1),
    "Calls require end-to-end encryption.",
    before="A call is end-to-end encrypted if all its clients support it; otherwise only the transport is encrypted.",
)
SDK_SUPPORT_WINDOW: Final = Change(
    "sdk_support_window",
    date(2026, 7, 1),
    "With the release of SDK 1.10, versions 1.6 to 1.10 are supported; older versions are not rejected.",
    before="The previous five minor versions are supported; older versions are not rejected.",
)
PUBLISHER_SCHEME: Final = Change(
    "publisher_scheme",
    date(2026, 7, 7),
    "New connections of the types in the setting `publisher_connection_types` are not listed.",
    before="New connections of these types are listed.",
)
CONNECTIONS_PUBLISHER: Final = Change(
    "connections_publisher",
    date(2026, 7, 10),
    "No connections of the types in the setting `publisher_connection_types` are listed, including those created earlier.",
    before="Connections of these types that were created before 7 July 2026 are listed.",
)
CHANNEL_OBFUSCATION: Final = Change(
    "channel_obfuscation",
    date(2026, 11, 16),
    "Channels that a caller cannot view are omitted over HTTP and obfuscated on the gateway.",
    before="Such channels are returned in full, except on the gateway to sessions that opted in to obfuscation.",
)

# Past changes (spec/dated-changes.md#3). They have an effect only if the clock is set to an earlier date.

EMBED_FIELDS_REJECTED: Final = Change(
    "embed_fields_rejected",
    date(2023, 12, 19),
    "An embed with more than 25 fields is rejected.",
    before="The first 25 fields are kept, the others dropped.",
)
ENFORCE_NONCE: Final = Change(
    "enforce_nonce",
    date(2024, 2, 12),
    "The message field `enforce_nonce` takes effect.",
    before="The field is ignored.",
)
PRUNE_PERMISSIONS: Final = Change(
    "prune_permissions",
    date(2024, 3, 15),
    "Pruning members requires MANAGE_GUILD and KICK_MEMBERS.",
    before="KICK_MEMBERS is sufficient.",
)
USER_INSTALLS: Final = Change(
    "user_installs",
    date(2024, 3, 18),
    (
        "Applications can be installed by users: commands have `integration_types` and `contexts`, messages "
        "have `interaction_metadata`, and interactions always have `app_permissions`."
    ),
    before="These fields are absent; `app_permissions` is present in guilds only.",
)
MEMBER_FLAGS_PERMISSIONS: Final = Change(
    "member_flags_permissions",
    date(2024, 4, 23),
    (
        "Updating member flags requires MANAGE_GUILD, MANAGE_ROLES, or the three permissions "
        "MODERATE_MEMBERS, KICK_MEMBERS and BAN_MEMBERS."
    ),
    before="MODERATE_MEMBERS is required.",
)
MEMBER_PROFILE_RULES: Final = Change(
    "member_profile_rules",
    date(2024, 5, 31),
    "Auto moderation has the trigger type MEMBER_PROFILE and the action BLOCK_MEMBER_INTERACTION.",
    before="Neither exists.",
)
PREMIUM_BUTTONS: Final = Change(
    "premium_buttons",
    date(2024, 6, 17),
    "Messages can have premium buttons; the response type PREMIUM_REQUIRED is deprecated.",
    before="Premium buttons do not exist; an application responds with PREMIUM_REQUIRED to ask for a subscription.",
)
EXTERNAL_APPS: Final = Change(
    "external_apps",
    date(2024, 6, 27),
    (
        "The permission USE_EXTERNAL_APPS is required for activities that are not installed in the guild and for public "
        "responses of user-installed applications."
    ),
    before=(
        "The permission does not exist; in guilds with more than 25 members, responses of user-installed applications "
        "are ephemeral."
    ),
)
EXTERNAL_APP_FOLLOW_UP_LIMIT: Final = Change(
    "external_app_follow_up_limit",
    date(2024, 6, 27),
    "User-installed applications send at most 5 follow-up messages.",
    before="There is no limit.",
)
INTEGRATION_OWNER_STRINGS: Final = Change(
    "integration_owner_strings",
    date(2024, 6, 27),
    "All values of `authorizing_integration_owners` are strings.",
    before="The owner of a bot in a direct message is the number 0.",
)
AUTO_MODERATION_OF_EDITS: Final = Change(
    "auto_moderation_of_edits",
    date(2024, 6, 27),
    "An edit that auto moderation blocks fails with status 400.",
    before="Edits are not blocked, but the other actions of the rules are executed.",
)
GUILD_LIST_BANNER: Final = Change(
    "guild_list_banner",
    date(2024, 7, 9),
    "Guilds in the current user's guild list have a `banner`.",
    before="The field is absent.",
)
MESSAGE_FORWARDING: Final = Change(
    "message_forwarding",
    date(2024, 7, 15),
    "Messages can be forwarded.",
    before="Every message reference is a reply, whatever its type.",
)
MEMBER_BANNER: Final = Change(
    "member_banner",
    date(2024, 7, 16),
    "Guild members have a `banner`.",
    before="The field is absent.",
)
APPLICATION_EMOJIS: Final = Change(
    "application_emojis",
    date(2024, 7, 18),
    "Applications can have up to 2000 emoji.",
    before="The routes respond with 404.",
)
SET_ACTIVITY_TYPES: Final = Change(
    "set_activity_types",
    date(2024, 7, 25),
    "SET_ACTIVITY accepts the activity types 2, 3 and 5 in addition to 0.",
    before="Only type 0 is accepted.",
)
VOICE_STATE_READS: Final = Change(
    "voice_state_reads",
    date(2024, 8, 5),
    "Voice states can be read over HTTP.",
    before="The routes respond with 404.",
)
GET_GUILD_ROLE: Final = Change(
    "get_guild_role",
    date(2024, 8, 12),
    "A single role can be read.",
    before="The route responds with 404.",
)
ENTRY_POINT_COMMANDS: Final = Change(
    "entry_point_commands",
    date(2024, 8, 26),
    "Entry point commands and the response type LAUNCH_ACTIVITY exist.",
    before="Neither exists.",
)
ACTIVITY_PROXY_PREFIX_REQUIRED: Final = Change(
    "activity_proxy_prefix_required",
    date(2024, 8, 28),
    "Activities must use the proxy path prefix `/.proxy`.",
    before="The prefix is optional.",
)
POLL_IN_DEFERRED_EDIT: Final = Change(
    "poll_in_deferred_edit",
    date(2024, 9, 4),
    "Editing a deferred response can add a poll.",
    before="The poll is ignored.",
)
SUBSCRIPTION_ENTITLEMENTS_MIGRATING: Final = Change(
    "subscription_entitlements_migrating",
    date(2024, 10, 1),
    "Subscription entitlements become type 1 without an end when they are renewed.",
    before="Subscription entitlements have type 8 and end with the billing period.",
)
WEBHOOK_EVENTS: Final = Change(
    "webhook_events",
    date(2024, 10, 25),
    "Webhook events are sent.",
    before="No webhook events are sent.",
)
SUBSCRIPTION_ENTITLEMENTS_MIGRATED: Final = Change(
    "subscription_entitlements_migrated",
    date(2024, 11, 2),
    "All subscription entitlements have type 1, and ENTITLEMENT_UPDATE is sent only when they end.",
    time(7, 59),
    before="Entitlements that were not renewed yet have type 8, and ENTITLEMENT_UPDATE is sent at each renewal.",
)
RENEWAL_SKU_IDS: Final = Change(
    "renewal_sku_ids",
    date(2024, 12, 12),
    "Subscriptions have `renewal_sku_ids`.",
    before="The field is absent.",
)
PER_ATTACHMENT_LIMIT: Final = Change(
    "per_attachment_limit",
    date(2025, 4, 3),
    "The upload limit applies to each attachment.",
    before="For applications the limit applies to all files of a message together.",
)
ATTACHMENT_SIZE_LIMIT: Final = Change(
    "attachment_size_limit",
    date(2025, 4, 3),
    "Interactions have `attachment_size_limit`.",
    before="The field is absent.",
)
COMPONENTS_V2: Final = Change(
    "components_v2",
    date(2025, 4, 22),
    "Messages can consist of components.",
    before="Components are rows of buttons and selects below a message.",
)
COMPONENTS_40: Final = Change(
    "components_40",
    date(2025, 4, 29),
    "A message can have 40 components.",
    before="A message can have 10 top-level components, 30 in total, and 10 in a container.",
)
APPLICATION_DEAUTHORIZED_EVENT: Final = Change(
    "application_deauthorized_event",
    date(2025, 6, 5),
    "The webhook event APPLICATION_DEAUTHORIZED is sent.",
    before="The event is not sent.",
)
PAGINATED_PINS: Final = Change(
    "paginated_pins",
    date(2025, 6, 25),
    "Pins can be listed in pages.",
    before="Only the old routes exist.",
)
ROLE_GRADIENTS: Final = Change(
    "role_gradients",
    date(2025, 7, 2),
    "Roles can have gradient colors.",
    before="Roles have one color.",
)
GUILD_TAGS: Final = Change(
    "guild_tags",
    date(2025, 7, 2),
    "Guilds can have tags.",
    before="The routes respond with 404.",
)
ACTIVITY_URLS: Final = Change(
    "activity_urls",
    date(2025, 7, 17),
    "Activities have URLs and a status display type.",
    before="These fields are absent.",
)
ACTIVITY_PROXY_PREFIX_OPTIONAL: Final = Change(
    "activity_proxy_prefix_optional",
    date(2025, 7, 30),
    "The proxy path prefix `/.proxy` is optional for activities.",
    before="The prefix is required.",
)
PIN_MESSAGES_INTRODUCED: Final = Change(
    "pin_messages_introduced",
    date(2025, 8, 20),
    "The permission PIN_MESSAGES exists.",
    before="Only MANAGE_MESSAGES allows pinning.",
)
MODAL_LABELS: Final = Change(
    "modal_labels",
    date(2025, 8, 25),
    "Modals can contain labels and string selects.",
    before="Modals consist of rows of text inputs.",
)
MODAL_SELECTS: Final = Change(
    "modal_selects",
    date(2025, 9, 10),
    "Modals can contain all types of selects.",
    before="Modals can only contain string selects.",
)
MODAL_TEXT_DISPLAYS: Final = Change(
    "modal_text_displays",
    date(2025, 9, 10),
    "Modals can contain text displays.",
    before="Modals cannot contain text displays.",
)
BOT_GUILD_PROFILES: Final = Change(
    "bot_guild_profiles",
    date(2025, 9, 10),
    "Bots can set their avatar, banner and bio per guild.",
    before="These fields are ignored for bots.",
)
MODAL_FILE_UPLOAD: Final = Change(
    "modal_file_upload",
    date(2025, 10, 15),
    "Modals can contain file uploads.",
    before="File uploads do not exist.",
)
CREATE_PERMISSIONS_FOR_BOTS: Final = Change(
    "create_permissions_for_bots",
    date(2025, 11, 20),
    "CREATE_GUILD_EXPRESSIONS and CREATE_EVENTS are sufficient for bots.",
    before="Bots need MANAGE_GUILD_EXPRESSIONS or MANAGE_EVENTS.",
)
BYPASS_SLOWMODE_INTRODUCED: Final = Change(
    "bypass_slowmode_introduced",
    date(2025, 11, 24),
    "The permission BYPASS_SLOWMODE exists.",
    before="Only MANAGE_MESSAGES, MANAGE_CHANNELS and MANAGE_THREADS exempt users from slowmode.",
)
ROLE_MEMBER_COUNTS: Final = Change(
    "role_member_counts",
    date(2025, 12, 9),
    "The number of members of each role can be read.",
    before="The route responds with 404.",
)
INVITE_TARGET_USERS: Final = Change(
    "invite_target_users",
    date(2026, 1, 13),
    "Invites can be limited to certain users.",
    before="The list of users is ignored, and the routes respond with 404.",
)
INVITE_ROLES: Final = Change(
    "invite_roles",
    date(2026, 1, 13),
    "Invites can grant roles.",
    before="The field `role_ids` is ignored.",
)
RELATIONSHIPS_FOR_ACTIVITIES: Final = Change(
    "relationships_for_activities",
    date(2026, 1, 21),
    "Activities can read relationships without approval.",
    before="Each application needs approval.",
)
TARGET_USERS_HEADER: Final = Change(
    "target_users_header",
    date(2026, 2, 5),
    "The CSV of target users has the header `user_id`.",
    before="The CSV has the header of the upload.",
)
INVITE_PARTIAL_ROLES: Final = Change(
    "invite_partial_roles",
    date(2026, 2, 5),
    "Invites contain partial roles.",
    before="Invites contain full roles.",
)
MODAL_CHOICES: Final = Change(
    "modal_choices",
    date(2026, 2, 12),
    "Modals can contain radio groups, checkbox groups and checkboxes.",
    before="These components do not exist.",
)
MODERATION_METADATA: Final = Change(
    "moderation_metadata",
    date(2026, 2, 20),
    "Lobby messages and direct messages can have moderation metadata.",
    before="The routes respond with 404.",
)
CONTEXT_MENU_LIMIT_15: Final = Change(
    "context_menu_limit_15",
    date(2026, 3, 3),
    "An application can have 15 context menu commands of each type.",
    before="An application can have 5 of each type.",
)
MESSAGE_SEARCH_FOR_APPS: Final = Change(
    "message_search_for_apps",
    date(2026, 3, 19),
    "Applications can search guild messages.",
    before="Only users can search.",
)
FORWARD_READABLE_CONTENT: Final = Change(
    "forward_readable_content",
    date(2026, 4, 14),
    "Applications can only forward messages whose content they can read (160014).",
    before="Applications can forward every message.",
)
OIDC_REFRESH_DEPRECATED: Final = Change(
    "oidc_refresh_deprecated",
    date(2026, 4, 16),
    "The refresh grant for provisional accounts with OIDC is deprecated, but still accepted.",
    before="The grant is not deprecated.",
)
VOICE_STATUS: Final = Change(
    "voice_status",
    date(2026, 4, 20),
    "Voice channels can have a status.",
    before="The route responds with 404.",
)
OIDC_STRICT_ISSUER: Final = Change(
    "oidc_strict_issuer",
    date(2026, 4, 22),
    (
        "OIDC issuers are checked more strictly and redirects are not followed; existing configurations are "
        "not checked again until they are edited."
    ),
    before="The checks are less strict.",
)
BULK_LOBBY_MEMBERS: Final = Change(
    "bulk_lobby_members",
    date(2026, 4, 24),
    "Lobby members can be changed in bulk.",
    before="The route responds with 404.",
)
PREMIUM_TYPE_SCOPE: Final = Change(
    "premium_type_scope",
    date(2026, 5, 5),
    "The user field `premium_type` requires the scope `identify.premium`.",
    before="The scope `identify` is sufficient.",
)
APPLICATION_FLAGS_NEW: Final = Change(
    "application_flags_new",
    date(2026, 5, 7),
    "Applications have `flags_new`.",
    before="The field is absent.",
)
BAN_UNMERGE: Final = Change(
    "ban_unmerge",
    date(2026, 5, 22),
    "A ban unmerges provisional accounts (documented from this date on).",
    before="The behavior is the same, but is not documented.",
)
LOBBY_ROUTES: Final = Change(
    "lobby_routes",
    date(2026, 6, 3),
    "Lobbies can be created and joined, and have messages and channel invites (documented from this date on).",
    before="The behavior is the same, but is not documented.",
)
PRIVILEGED_INTENTS_BY_USERS: Final = Change(
    "privileged_intents_by_users",
    date(2026, 6, 10),
    "Privileged intents require approval from 10,000 users on.",
    before="Privileged intents require approval from 100 guilds on.",
)
ATTACHMENT_SPOILER: Final = Change(
    "attachment_spoiler",
    date(2026, 6, 24),
    "The attachment fields `is_spoiler` and `description` can be set and edited.",
    before="Only the prefix `SPOILER_` of the file name marks a spoiler.",
)
RESOLVED_CHANNEL_PERMISSIONS: Final = Change(
    "resolved_channel_permissions",
    date(2026, 7, 16),
    "Resolved channels have `app_permissions`.",
    before="The field is absent.",
)
LOBBY_ADDITIONAL_NAME: Final = Change(
    "lobby_additional_name",
    date(2026, 7, 28),
    "Lobby members can have an additional name.",
    before="The field is ignored.",
)
CHANNEL_APPLICATION_ID_NULLABLE: Final = Change(
    "channel_application_id_nullable",
    date(2026, 8, 5),
    "A channel's `application_id` can be null.",
    before="The field is never null.",
)
FILE_UPLOAD_TYPES: Final = Change(
    "file_upload_types",
    date(2026, 8, 5),
    "File uploads of modals can be limited to file types.",
    before="The field `file_types` is ignored.",
)

ENFORCE_NONCE_DEFAULT_VERSION: Final = 11
"""API version from which `enforce_nonce` defaults to true; a version, not a date."""

ALL: Final[dict[str, Change]] = {value.name: value for value in list(globals().values()) if isinstance(value, Change)}
"""All changes by name."""
