"""Dated behaviour: every change of the specification that has a day, in one table (dated-changes.md).

A rule asks `changes.PERMISSION_SPLITS.active(call.now)` each time and keeps no answer, so that a clock that is set back
finds the old behaviour again.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import cached_property
from typing import Final


@dataclass(frozen=True)
class Change:
    """One change of behaviour and the moment it holds from."""

    name: str
    date: date
    subject: str
    """The new behaviour."""
    time_of_day: time = time(0)
    """UTC; the specification names days only, so midnight unless a source says otherwise."""
    before: str = field(kw_only=True)
    """The old behaviour, as a clock that stands earlier finds it."""

    @cached_property
    def at_ms(self) -> int:
        """The first millisecond of the new behaviour."""
        return int(datetime.combine(self.date, self.time_of_day, UTC).timestamp()) * 1000

    def active(self, now_ms: int) -> bool:
        """Whether the new behaviour holds at a moment; at the exact instant it does."""
        return now_ms >= self.at_ms


# Gates that the specification requires

VOICE_VERSIONS: Final = Change(
    "voice_versions",
    date(2024, 11, 18),
    "Voice gateway versions below 4, and none, are rejected.",
    before="All versions are taken, and none counts as 1.",
)
VOICE_ENCRYPTION: Final = Change(
    "voice_encryption",
    date(2024, 11, 18),
    "The old voice encryption modes are neither offered nor accepted.",
    before="They are offered and accepted.",
)
WEBHOOK_UPLOAD_10MIB: Final = Change(
    "webhook_upload_10mib",
    date(2025, 1, 16),
    "Webhooks and interaction responses may upload 10 MiB.",
    before="25 MiB.",
)
GUILD_CREATE_FOR_APPS: Final = Change(
    "guild_create_for_apps",
    date(2025, 7, 15),
    "Apps can no longer create guilds.",
    before="An app that is in fewer than 10 guilds can create one.",
)
MEMBER_REQUEST_LIMIT_LARGE: Final = Change(
    "member_request_limit_large",
    date(2025, 8, 14),
    "In very large guilds, all members may be requested once per 30 seconds.",
    before="As often as one likes.",
)
MEMBER_REQUEST_LIMIT: Final = Change(
    "member_request_limit",
    date(2025, 10, 1),
    "In every guild, all members may be requested once per 30 seconds.",
    before="As often as one likes, but in very large guilds.",
)
PERMISSION_SPLITS: Final = Change(
    "permission_splits",
    date(2026, 2, 23),
    "Pins, slowmode, expressions and events need their own permissions; the older ones no longer suffice.",
    before="MANAGE_MESSAGES, MANAGE_GUILD_EXPRESSIONS, MANAGE_EVENTS and their like suffice too.",
)
E2EE_VOICE_ONLY: Final = Change(
    "e2ee_voice_only",
    date(2026, 3, 1),
    "Calls need end-to-end encryption.",
    before="A call is encrypted end to end where all its clients can, and else only on the way.",
)
SDK_SUPPORT_WINDOW: Final = Change(
    "sdk_support_window",
    date(2026, 7, 1),
    "With SDK 1.10, versions 1.6 to 1.10 are supported; nobody is refused.",
    before="The five minor releases before it; nobody is refused either.",
)
PUBLISHER_SCHEME: Final = Change(
    "publisher_scheme",
    date(2026, 7, 7),
    "Connections of the publisher's types are made under its new scheme, and never listed.",
    before="They are made as all others are, and listed.",
)
CONNECTIONS_PUBLISHER: Final = Change(
    "connections_publisher",
    date(2026, 7, 10),
    "Connections of the publisher's types are no longer listed, old ones included.",
    before="Those made before the new scheme are listed.",
)
CHANNEL_OBFUSCATION: Final = Change(
    "channel_obfuscation",
    date(2026, 11, 16),
    "Channels one cannot view are omitted over HTTP and obfuscated on the gateway, for everybody.",
    before="They are sent whole, but on the gateway to those who ask for obfuscation.",
)

# Behaviour that the specification states without its day; the dates serve worlds whose clock stands earlier

EMBED_FIELDS_REFUSED: Final = Change(
    "embed_fields_refused",
    date(2023, 12, 19),
    "More than 25 fields in an embed are an error.",
    before="The first 25 are kept.",
)
ENFORCE_NONCE: Final = Change(
    "enforce_nonce",
    date(2024, 2, 12),
    "enforce_nonce is read.",
    before="It is ignored.",
)
PRUNE_PERMISSIONS: Final = Change(
    "prune_permissions",
    date(2024, 3, 15),
    "Prune needs MANAGE_GUILD and KICK_MEMBERS.",
    before="KICK_MEMBERS suffices.",
)
USER_INSTALLS: Final = Change(
    "user_installs",
    date(2024, 3, 18),
    "integration_types, contexts, app_permissions always, and interaction_metadata.",
    before="They are absent; app_permissions come in guilds only.",
)
MEMBER_FLAGS_PERMISSIONS: Final = Change(
    "member_flags_permissions",
    date(2024, 4, 23),
    "Member flags are edited with MANAGE_GUILD, MANAGE_ROLES, or with MODERATE_MEMBERS, KICK_MEMBERS and BAN_MEMBERS together.",
    before="MODERATE_MEMBERS.",
)
MEMBER_PROFILE_RULES: Final = Change(
    "member_profile_rules",
    date(2024, 5, 31),
    "Auto moderation has MEMBER_PROFILE and BLOCK_MEMBER_INTERACTION.",
    before="It has neither.",
)
PREMIUM_BUTTONS: Final = Change(
    "premium_buttons",
    date(2024, 6, 17),
    "Premium buttons; PREMIUM_REQUIRED answers are deprecated.",
    before="There are none; PREMIUM_REQUIRED is how an app asks for a subscription.",
)
EXTERNAL_APPS: Final = Change(
    "external_apps",
    date(2024, 6, 27),
    "USE_EXTERNAL_APPS, 5 follow-ups for user installs, owners as strings, auto moderation answers 400 on edits.",
    before="None of these; in guilds of more than 25 members the answers of apps that a person brought along are ephemeral.",
)
GUILD_LIST_BANNER: Final = Change(
    "guild_list_banner",
    date(2024, 7, 9),
    "The list of one's own guilds carries banners.",
    before="It does not.",
)
MESSAGE_FORWARDING: Final = Change(
    "message_forwarding",
    date(2024, 7, 15),
    "Messages can be forwarded.",
    before="A reference is a reply, whatever its type.",
)
MEMBER_BANNER: Final = Change(
    "member_banner",
    date(2024, 7, 16),
    "Guild members have banners.",
    before="They have none.",
)
APPLICATION_EMOJIS: Final = Change(
    "application_emojis",
    date(2024, 7, 18),
    "Applications have up to 2000 emoji of their own.",
    before="Their routes answer 404.",
)
SET_ACTIVITY_TYPES: Final = Change(
    "set_activity_types",
    date(2024, 7, 25),
    "SET_ACTIVITY takes types 2, 3 and 5 beside 0.",
    before="Only type 0.",
)
VOICE_STATE_READS: Final = Change(
    "voice_state_reads",
    date(2024, 8, 5),
    "Voice states can be read over HTTP.",
    before="The routes answer 404.",
)
GET_GUILD_ROLE: Final = Change(
    "get_guild_role",
    date(2024, 8, 12),
    "A single role can be read.",
    before="The route answers 404.",
)
ENTRY_POINT_COMMANDS: Final = Change(
    "entry_point_commands",
    date(2024, 8, 26),
    "Entry point commands and LAUNCH_ACTIVITY.",
    before="There are neither.",
)
ACTIVITY_PROXY_PREFIX_REQUIRED: Final = Change(
    "activity_proxy_prefix_required",
    date(2024, 8, 28),
    "Activities must use the proxy prefix.",
    before="They may leave it out.",
)
POLL_IN_DEFERRED_EDIT: Final = Change(
    "poll_in_deferred_edit",
    date(2024, 9, 4),
    "A deferred answer can become a poll.",
    before="A poll there is left out.",
)
SUBSCRIPTION_ENTITLEMENTS_MIGRATING: Final = Change(
    "subscription_entitlements_migrating",
    date(2024, 10, 1),
    "Subscription entitlements move to type 1 without an end, each at its renewal.",
    before="They are of type 8 and end with their period.",
)
WEBHOOK_EVENTS: Final = Change(
    "webhook_events",
    date(2024, 10, 25),
    "Outgoing webhook events.",
    before="Nothing is sent.",
)
SUBSCRIPTION_ENTITLEMENTS_MIGRATED: Final = Change(
    "subscription_entitlements_migrated",
    date(2024, 11, 2),
    "All subscription entitlements are of type 1, and ENTITLEMENT_UPDATE comes only at the end.",
    time(7, 59),
    before="Those not renewed yet are of type 8, and ENTITLEMENT_UPDATE comes at each renewal.",
)
RENEWAL_SKU_IDS: Final = Change(
    "renewal_sku_ids",
    date(2024, 12, 12),
    "Subscriptions carry renewal_sku_ids.",
    before="They do not.",
)
PER_ATTACHMENT_LIMIT: Final = Change(
    "per_attachment_limit",
    date(2025, 4, 3),
    "Upload limits hold per attachment, and attachment_size_limit says them.",
    before="Apps' files are weighed together, per message, and nothing says the limit.",
)
COMPONENTS_V2: Final = Change(
    "components_v2",
    date(2025, 4, 22),
    "Messages made of components.",
    before="Components are rows of buttons and selects below a message.",
)
COMPONENTS_40: Final = Change(
    "components_40",
    date(2025, 4, 29),
    "40 components in a message.",
    before="10 at the top, 30 in all and 10 in a container.",
)
APPLICATION_DEAUTHORIZED_EVENT: Final = Change(
    "application_deauthorized_event",
    date(2025, 6, 5),
    "The webhook event APPLICATION_DEAUTHORIZED.",
    before="It is not sent.",
)
PAGINATED_PINS: Final = Change(
    "paginated_pins",
    date(2025, 6, 25),
    "Pins by pages.",
    before="Only the old routes.",
)
ROLE_GRADIENTS: Final = Change(
    "role_gradients",
    date(2025, 7, 2),
    "Roles with gradient colors, and guild tags.",
    before="Roles have one color, and nobody wears a tag.",
)
ACTIVITY_URLS: Final = Change(
    "activity_urls",
    date(2025, 7, 17),
    "Activities carry URLs and a status display type.",
    before="Both are left out.",
)
ACTIVITY_PROXY_PREFIX_OPTIONAL: Final = Change(
    "activity_proxy_prefix_optional",
    date(2025, 7, 30),
    "Activities may leave the proxy prefix out.",
    before="They must have it.",
)
PIN_MESSAGES_INTRODUCED: Final = Change(
    "pin_messages_introduced",
    date(2025, 8, 20),
    "PIN_MESSAGES exists.",
    before="Only MANAGE_MESSAGES counts.",
)
MODAL_LABELS: Final = Change(
    "modal_labels",
    date(2025, 8, 25),
    "Labels and string selects in modals.",
    before="Modals are rows of text inputs.",
)
MODAL_SELECTS: Final = Change(
    "modal_selects",
    date(2025, 9, 10),
    "Other selects and text displays in modals; bots set their avatar, banner and bio per guild.",
    before="String selects only; what bots say of their avatar, banner and bio is ignored.",
)
MODAL_FILE_UPLOAD: Final = Change(
    "modal_file_upload",
    date(2025, 10, 15),
    "File uploads in modals.",
    before="There are none.",
)
CREATE_PERMISSIONS_FOR_BOTS: Final = Change(
    "create_permissions_for_bots",
    date(2025, 11, 20),
    "Bots can use CREATE_GUILD_EXPRESSIONS and CREATE_EVENTS.",
    before="Bots need the MANAGE permissions.",
)
BYPASS_SLOWMODE_INTRODUCED: Final = Change(
    "bypass_slowmode_introduced",
    date(2025, 11, 24),
    "BYPASS_SLOWMODE exists.",
    before="Only the MANAGE permissions let one speak at once.",
)
ROLE_MEMBER_COUNTS: Final = Change(
    "role_member_counts",
    date(2025, 12, 9),
    "Members per role can be counted.",
    before="The route answers 404.",
)
INVITE_TARGET_USERS: Final = Change(
    "invite_target_users",
    date(2026, 1, 13),
    "Invites for certain users, and invites that give roles.",
    before="Both are ignored, and their routes answer 404.",
)
RELATIONSHIPS_FOR_ACTIVITIES: Final = Change(
    "relationships_for_activities",
    date(2026, 1, 21),
    "Activities read relationships without approval.",
    before="Each is approved for it by itself.",
)
TARGET_USERS_HEADER: Final = Change(
    "target_users_header",
    date(2026, 2, 5),
    "Target users come under the header user_id, and invites carry partial roles.",
    before="The header is that of the upload, and the roles of invites are whole.",
)
MODAL_CHOICES: Final = Change(
    "modal_choices",
    date(2026, 2, 12),
    "Radio groups, checkbox groups and checkboxes.",
    before="There are none.",
)
MODERATION_METADATA: Final = Change(
    "moderation_metadata",
    date(2026, 2, 20),
    "Moderation metadata of lobby and direct messages.",
    before="The routes answer 404.",
)
CONTEXT_MENU_LIMIT_15: Final = Change(
    "context_menu_limit_15",
    date(2026, 3, 3),
    "15 context menu commands of each kind.",
    before="5.",
)
MESSAGE_SEARCH: Final = Change(
    "message_search",
    date(2026, 3, 19),
    "Guild messages can be searched.",
    before="People can search, apps cannot.",
)
FORWARD_READABLE_CONTENT: Final = Change(
    "forward_readable_content",
    date(2026, 4, 14),
    "Apps forward only what they can read (160014).",
    before="They forward everything.",
)
OIDC_REFRESH_DEPRECATED: Final = Change(
    "oidc_refresh_deprecated",
    date(2026, 4, 16),
    "The refresh grant of provisional accounts by OIDC is deprecated.",
    before="It is not. It is granted on both sides.",
)
VOICE_STATUS: Final = Change(
    "voice_status",
    date(2026, 4, 20),
    "Voice channel status.",
    before="The route answers 404.",
)
OIDC_STRICT_ISSUER: Final = Change(
    "oidc_strict_issuer",
    date(2026, 4, 22),
    "Stricter checks of OIDC issuers, no redirects; old configurations keep theirs until edited.",
    before="Laxer checks.",
)
BULK_LOBBY_MEMBERS: Final = Change(
    "bulk_lobby_members",
    date(2026, 4, 24),
    "Lobby members in bulk.",
    before="The route answers 404.",
)
PREMIUM_TYPE_SCOPE: Final = Change(
    "premium_type_scope",
    date(2026, 5, 5),
    "premium_type needs identify.premium.",
    before="identify suffices.",
)
FLAGS_NEW: Final = Change(
    "flags_new",
    date(2026, 5, 7),
    "Applications carry flags_new.",
    before="They do not.",
)
BAN_UNMERGE: Final = Change(
    "ban_unmerge",
    date(2026, 5, 22),
    "A ban unmerges provisional accounts.",
    before="It does too; only the documents were silent.",
)
LOBBY_ROUTES: Final = Change(
    "lobby_routes",
    date(2026, 6, 3),
    "Lobby PUT, messages and channel invites are documented.",
    before="They are not, and work all the same.",
)
PRIVILEGED_INTENTS_BY_USERS: Final = Change(
    "privileged_intents_by_users",
    date(2026, 6, 10),
    "Privileged intents need approval from 10,000 users.",
    before="From 100 guilds.",
)
ATTACHMENT_SPOILER: Final = Change(
    "attachment_spoiler",
    date(2026, 6, 24),
    "is_spoiler and description of attachments can be set and edited.",
    before="The prefix of the file name alone says that a file is a spoiler.",
)
RESOLVED_CHANNEL_PERMISSIONS: Final = Change(
    "resolved_channel_permissions",
    date(2026, 7, 16),
    "Resolved channels carry app_permissions.",
    before="They do not.",
)
LOBBY_ADDITIONAL_NAME: Final = Change(
    "lobby_additional_name",
    date(2026, 7, 28),
    "Lobby members have additional names.",
    before="What is said of it is ignored.",
)
CHANNEL_APPLICATION_ID_NULLABLE: Final = Change(
    "channel_application_id_nullable",
    date(2026, 8, 5),
    "A channel's application_id may be null, and file uploads filter by type.",
    before="It is never null, and any file may be uploaded.",
)

ENFORCE_NONCE_DEFAULT_VERSION: Final = 11
"""The API version from which enforce_nonce is true unless said otherwise: a version, not a date."""

ALL: Final[dict[str, Change]] = {value.name: value for value in list(globals().values()) if isinstance(value, Change)}
"""Every change by name."""
