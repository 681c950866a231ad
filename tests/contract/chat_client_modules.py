"""Generate the chat client's modules with enums, permissions, limits, codes and scopes from `hubbub.protocol`.

`make generate` writes them to `static/app/generated/`. They are committed, so that browsers, editors and Biome read them
like any other module; a contract test compares them with the protocol (decisions/0073).
"""

import importlib
import inspect
import json
from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any, Final

from hubbub.protocol import enums, errors, flags, permissions, rpc, rpc_scopes, scopes, voice
from hubbub.protocol.intents import Capabilities
from hubbub.protocol.permissions import Permissions
from tests.contract.tables import SOURCE

FOLDER: Final = SOURCE / "server/transports/web/static/app/generated"

ENUMS: Final[dict[str, type[IntEnum] | type[StrEnum]]] = {
    "GatewayOpcode": enums.GatewayOpcode,
    "CloseCode": enums.CloseCode,
    "ActivityActionType": enums.ActivityActionType,
    "ActivityType": enums.ActivityType,
    "AuditLogAction": enums.AuditLogAction,
    "AutoModerationActionType": enums.AutoModerationActionType,
    "AutoModerationEventType": enums.AutoModerationEventType,
    "AutoModerationKeywordPresetType": enums.AutoModerationKeywordPresetType,
    "AutoModerationTriggerType": enums.AutoModerationTriggerType,
    "ButtonStyle": enums.ButtonStyle,
    "ChannelType": enums.ChannelType,
    "CommandOptionType": enums.CommandOptionType,
    "CommandPermissionType": enums.CommandPermissionType,
    "CommandType": enums.CommandType,
    "ComponentType": enums.ComponentType,
    "DefaultMessageNotifications": enums.DefaultMessageNotifications,
    "ExplicitContentFilter": enums.ExplicitContentFilter,
    "FormFieldType": enums.FormFieldType,
    "ForumLayout": enums.ForumLayout,
    "InGameMessages": enums.InGameMessages,
    "EventEntityType": enums.EventEntityType,
    "EventPrivacyLevel": enums.EventPrivacyLevel,
    "EventStatus": enums.EventStatus,
    "InteractionType": enums.InteractionType,
    "InviteTargetType": enums.InviteTargetType,
    "JoinRequestStatus": enums.JoinRequestStatus,
    "MessageReferenceType": enums.MessageReferenceType,
    "MessageType": enums.MessageType,
    "MfaLevel": enums.MfaLevel,
    "NotificationLevel": enums.NotificationLevel,
    "NewMemberActionType": enums.NewMemberActionType,
    "OnboardingMode": enums.OnboardingMode,
    "OnboardingPromptType": enums.OnboardingPromptType,
    "OverwriteType": enums.OverwriteType,
    "RecurrenceFrequency": enums.RecurrenceFrequency,
    "RelationshipType": enums.RelationshipType,
    "RoleConnectionMetadataType": enums.RoleConnectionMetadataType,
    "SortOrder": enums.SortOrder,
    "StatusDisplayType": enums.StatusDisplayType,
    "StickerFormatType": enums.StickerFormatType,
    "TextInputStyle": enums.TextInputStyle,
    "VerificationLevel": enums.VerificationLevel,
    "VideoQualityMode": enums.VideoQualityMode,
    "WidgetStyle": enums.WidgetStyle,
    "WebhookType": enums.WebhookType,
}
"""Enums that the chat client uses, by their name in JavaScript."""
FLAGS: Final[tuple[type[Any], ...]] = (
    flags.ActivityFlags,
    flags.AttachmentFlags,
    Capabilities,
    flags.ChannelFlags,
    flags.MessageFlags,
)
"""Flags that the chat client uses; all bits must be below 31, because JavaScript computes with 32-bit integers."""
LIMITS: Final = (
    "ids.EPOCH_MS",
    "images.IMAGE_BYTES_MAX",
    "resources.attachments.ATTACHMENTS_MAX",
    "resources.attachments.ATTACHMENT_BYTES_MAX_BY_PREMIUM",
    "resources.attachments.ATTACHMENT_BYTES_MAX_BY_TIER",
    "resources.attachments.ATTACHMENT_DESCRIPTION_MAX",
    "resources.attachments.ATTACHMENT_WAVEFORM_MAX",
    "resources.audit_log.REASON_MAX",
    "resources.auto_moderation.RULE_NAME_MAX",
    "resources.auto_moderation.RULES_MAX_BY_TRIGGER",
    "resources.auto_moderation.ACTIONS_BY_TRIGGER",
    "resources.auto_moderation.KEYWORDS_MAX",
    "resources.auto_moderation.KEYWORD_LENGTH_MAX",
    "resources.auto_moderation.REGEX_PATTERNS_MAX",
    "resources.auto_moderation.REGEX_PATTERN_LENGTH_MAX",
    "resources.auto_moderation.ALLOW_LIST_MAX",
    "resources.auto_moderation.PRESET_ALLOW_LIST_MAX",
    "resources.auto_moderation.MENTION_TOTAL_LIMIT_MAX",
    "resources.auto_moderation.CUSTOM_MESSAGE_MAX",
    "resources.auto_moderation.TIMEOUT_SECONDS_MAX",
    "resources.auto_moderation.EXEMPT_ROLES_MAX",
    "resources.auto_moderation.EXEMPT_CHANNELS_MAX",
    "resources.channels.BITRATE_MAX_BY_TIER",
    "resources.channels.BITRATE_MIN",
    "resources.channels.CHANNEL_NAME_MAX",
    "resources.channels.FORUM_TAGS_MAX",
    "resources.channels.FORUM_TOPIC_MAX",
    "resources.channels.STAGE_BITRATE_MAX",
    "resources.channels.STAGE_USER_LIMIT_MAX",
    "resources.channels.TOPIC_MAX",
    "resources.channels.VOICE_USER_LIMIT_MAX",
    "resources.commands.COMMAND_PERMISSIONS_MAX",
    "resources.commands.STRING_OPTION_MAX",
    "resources.components.GALLERY_ITEMS_MAX",
    "resources.components.TEXT_INPUT_MAX",
    "resources.guild_tags.GUILD_TAG_MAX",
    "resources.guilds.GUILD_DESCRIPTION_MAX",
    "resources.guilds.GUILD_NAME_MAX",
    "resources.incident_actions.INCIDENT_HOURS_MAX",
    "resources.join_requests.JOIN_REQUESTS_PAGE_MAX",
    "resources.join_requests.REJECTION_REASON_MAX",
    "resources.join_requests.VERIFICATION_DESCRIPTION_MAX",
    "resources.join_requests.FORM_FIELDS_MAX",
    "resources.join_requests.FORM_LABEL_MAX",
    "resources.join_requests.FORM_VALUES_MAX",
    "resources.join_requests.FORM_CHOICES_MAX",
    "resources.join_requests.FORM_CHOICE_LENGTH_MAX",
    "resources.members.NICK_MAX",
    "resources.members.PRUNE_DAYS_MIN",
    "resources.members.PRUNE_DAYS_MAX",
    "resources.members.PRUNE_DAYS_DEFAULT",
    "resources.members.PRUNE_ROLES_MAX",
    "resources.messages.BULK_DELETE_MAX",
    "resources.messages.BULK_DELETE_MIN",
    "resources.messages.CONTENT_MAX",
    "resources.onboarding.PROMPTS_MAX",
    "resources.onboarding.PROMPT_TITLE_MAX",
    "resources.onboarding.OPTIONS_MAX",
    "resources.onboarding.OPTION_TITLE_MAX",
    "resources.onboarding.OPTION_DESCRIPTION_MAX",
    "resources.onboarding.OPTION_ROLES_MAX",
    "resources.onboarding.OPTION_CHANNELS_MAX",
    "resources.onboarding.DEFAULT_CHANNELS_MAX",
    "resources.onboarding.DEFAULT_CHANNELS_MIN",
    "resources.onboarding.WRITABLE_CHANNELS_MIN",
    "resources.channels.APPLIED_TAGS_MAX",
    "resources.placeholders.PLACEHOLDERS_PAGE_MAX",
    "resources.reports.REPORT_COMMENT_MAX",
    "resources.search.SEARCH_CONTENT_MAX",
    "resources.search.SEARCH_LIMIT_MAX",
    "resources.search.SEARCH_OFFSET_MAX",
    "resources.templates.TEMPLATE_NAME_MAX",
    "resources.templates.TEMPLATE_DESCRIPTION_MAX",
    "resources.users.USERNAME_MAX",
    "resources.users.GLOBAL_NAME_MAX",
    "resources.users.BIO_MAX",
    "resources.user_settings.CUSTOM_STATUS_MAX",
    "resources.user_settings.FOLDER_NAME_MAX",
    "resources.accounts.PASSWORD_MIN",
    "resources.accounts.PASSWORD_MAX",
    "resources.passkeys.PASSKEY_NAME_MAX",
    "resources.vanity_urls.VANITY_CODE_MAX",
    "resources.welcome_screens.WELCOME_CHANNELS_MAX",
    "resources.welcome_screens.WELCOME_CHANNEL_DESCRIPTION_MAX",
    "resources.welcome_screens.WELCOME_DESCRIPTION_MAX",
    "resources.welcome_screens.WELCOME_MESSAGE_MAX",
    "resources.welcome_screens.NEW_MEMBER_ACTIONS_MAX",
    "resources.welcome_screens.RESOURCE_CHANNELS_MAX",
    "resources.welcome_screens.GUIDE_AUTHORS_MAX",
    "resources.welcome_screens.GUIDE_TITLE_MAX",
    "resources.welcome_screens.GUIDE_DESCRIPTION_MAX",
    "resources.emojis.EMOJIS_MAX_BY_TIER",
    "resources.emojis.EMOJI_BYTES_MAX",
    "resources.emojis.EMOJI_NAME_MAX",
    "resources.emojis.EMOJI_NAME_MIN",
    "resources.emojis.EMOJI_SIDE",
    "resources.emojis.EMOJIS_MAX_WITH_MORE_EMOJI",
    "resources.forum_settings.FORUM_TAG_NAME_MAX",
    "resources.invites.INVITE_AGE_SECONDS_MAX",
    "resources.invites.INVITE_ROLES_MAX",
    "resources.invites.INVITE_USES_MAX",
    "resources.invites.TARGET_USERS_FILE_BYTES_MAX",
    "resources.invites.TARGET_USERS_MAX",
    "resources.members.MEMBERS_PAGE_MAX",
    "resources.members.SEARCH_QUERY_MAX",
    "resources.polls.POLL_ANSWERS_MAX",
    "resources.polls.POLL_ANSWER_LENGTH_MAX",
    "resources.polls.POLL_HOURS_DEFAULT",
    "resources.polls.POLL_HOURS_MAX",
    "resources.polls.POLL_QUESTION_LENGTH_MAX",
    "resources.read_states.BULK_ACKS_MAX",
    "resources.role_connections.ALTERNATIVES_MAX",
    "resources.role_connections.METADATA_VALUE_LENGTH_MAX",
    "resources.role_connections.REQUIREMENTS_MAX",
    "resources.roles.ROLE_NAME_MAX",
    "resources.roles.ROLE_UNICODE_EMOJI_MAX",
    "resources.scheduled_events.EVENT_DESCRIPTION_MAX",
    "resources.scheduled_events.EVENT_LOCATION_MAX",
    "resources.scheduled_events.EVENT_NAME_MAX",
    "resources.soundboard.SOUNDS_MAX_BY_TIER",
    "resources.soundboard.SOUNDS_MAX_WITH_MORE_SOUNDBOARD",
    "resources.soundboard.SOUND_MS_MAX",
    "resources.soundboard.SOUND_NAME_MAX",
    "resources.stage_instances.STAGE_TOPIC_MAX",
    "resources.stickers.STICKERS_MAX_BY_TIER",
    "resources.stickers.STICKERS_MAX_WITH_MORE_STICKERS",
    "resources.stickers.STICKER_BYTES_MAX",
    "resources.stickers.STICKER_DESCRIPTION_MAX",
    "resources.stickers.STICKER_NAME_MAX",
    "resources.stickers.STICKER_SECONDS_MAX",
    "resources.stickers.STICKER_SIDE_PIXELS_MAX",
    "resources.stickers.STICKER_TAGS_MAX",
    "resources.user_messages.ACTIVITY_INVITE_LIFETIME_MS",
    "resources.webhooks.WEBHOOKS_PER_CHANNEL_MAX",
    "resources.webhooks.WEBHOOK_NAME_MAX",
    "sounds.SOUND_BYTES_MAX",
)
"""Limits and other constants that the chat client uses, as module and name in `hubbub.protocol`."""
ERROR_CODES: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.UNKNOWN_GUILD,
    errors.UNKNOWN_INVITE,
    errors.SLOWMODE_RATE_LIMIT,
    errors.REQUEST_ENTITY_TOO_LARGE,
    errors.MISSING_ACCESS,
    errors.EMPTY_MESSAGE,
    errors.CANNOT_MESSAGE_USER,
    errors.CANNOT_SEND_IN_CHANNEL,
    errors.MISSING_PERMISSIONS,
    errors.INVITE_INVALID_OR_TAKEN,
    errors.INVALID_ACTIVITY_ACTION,
    errors.THREAD_ARCHIVED,
    errors.NO_MUTUAL_GUILDS,
    errors.USER_BANNED,
    errors.FEATURE_DISABLED,
    errors.MAX_GUILDS,
    errors.MAX_MEMBERS,
    errors.MAX_RECIPIENTS,
    errors.THREAD_LOCKED,
    errors.AUTO_MODERATION_BLOCKED_MESSAGE,
)
"""Errors of the API that have a text of their own in the chat client."""
RPC_LIMITS: Final = (
    "rpc.ACTIVITY_UPDATES_MAX",
    "rpc.ACTIVITY_UPDATES_WINDOW_SECONDS",
    "rpc.PROGRAM_FRAME_BYTES_MAX",
    "rpc.WEBSOCKET_PORTS",
)
"""Limits of local RPC and activity RPC."""
VOICE_ENUMS: Final = {
    "VoiceOpcode": voice.VoiceOpcode,
    "VoiceCloseCode": enums.VoiceCloseCode,
    "SpeakingFlags": voice.SpeakingFlags,
}
"""Enums of the voice gateway, which calls load."""
RPC_ENUMS: Final[dict[str, type[IntEnum] | type[StrEnum]]] = {
    "RpcOpcode": rpc.Opcode,
    "RpcCloseCode": rpc.CloseCode,
    "RpcErrorCode": rpc.RpcErrorCode,
    "Scope": enums.Scope,
    "PseudoScope": rpc_scopes.PseudoScope,
}
"""Enums of RPC, which activities and games load."""
SHORT_LIST_MAX: Final = 2
"""Largest number of scopes in one line."""


def enums_module() -> str:
    """Return the source of `enums.js`."""
    sections = [_render_heading("Enums and flags of the wire protocol"), *_render_enums(ENUMS)]
    for flag_set in FLAGS:
        flag_values = {name: value for name, value in vars(flag_set).items() if _is_bit(name, value)}
        assert max(flag_values.values()) < 1 << 31, flag_set
        sections.append(
            _render_constant(
                flag_set,
                flag_set.__name__,
                {name: f"1 << {value.bit_length() - 1}" for name, value in flag_values.items()},
            )
        )
    return "\n".join(sections)


def permissions_module() -> str:
    """Return the source of `permissions.js`; permission bits exceed 2^31, so they are BigInts."""
    permission_values = {
        name: f"1n << {value.bit_length() - 1}n" for name, value in permissions.PERMISSIONS_BY_NAME.items()
    }
    sets = {
        "ALL_PERMISSIONS": ("All permissions.", Permissions.ALL),
        "TIMED_OUT_PERMISSIONS": ("Permissions that a timed-out member keeps.", Permissions.TIMED_OUT),
        "DEPENDENT_ON_SEND_MESSAGES": (
            "Permissions that have no effect without SEND_MESSAGES.",
            permissions.DEPENDENT_ON_SEND_MESSAGES,
        ),
    }
    return "\n".join(
        [
            _render_heading("Permission bits as BigInts, because they exceed 2^31"),
            _render_object("Permissions", permission_values),
            *(f"/** {description} */\nexport const {name} = {value}n;" for name, (description, value) in sets.items()),
            "",
        ]
    )


def limits_module() -> str:
    """Return the source of `limits.js`."""
    return "\n".join([_render_heading("Limits of the protocol"), *_render_limits(LIMITS), ""])


def errors_module() -> str:
    """Return the source of `errors.js`."""
    names = {id(value): name for name, value in vars(errors).items() if isinstance(value, errors.ErrorCode)}
    codes = {names[id(error)]: str(error.code) for error in ERROR_CODES}
    return f"{_render_heading('Error codes of the API that have a text of their own')}\n{_render_object('ErrorCode', codes)}"


def voice_module() -> str:
    """Return the source of `voice.js`."""
    return "\n".join(
        [
            _render_heading("Values of the voice gateway"),
            *_render_enums(VOICE_ENUMS),
            *_render_limits(["voice.DAVE_VERSION"]),
            "",
        ]
    )


def worker_values_script() -> str:
    """Return the source of `worker_values.js`, a classic script, because the worker of calls cannot import modules."""
    opcodes = {member.name: str(member.value) for member in voice.VoiceOpcode}
    return "\n".join(
        [
            _render_heading("Values of the voice gateway for the worker of calls"),
            f"self.VoiceOpcode = {_render_frozen(opcodes)};",
            f"self.DAVE_VERSION = {voice.DAVE_VERSION};",
            "",
        ]
    )


def rpc_module() -> str:
    """Return the source of `rpc.js`."""
    included_scopes = {name: rule.included_scopes for name, rule in scopes.SCOPES.items() if rule.included_scopes}
    tables = {
        "ACTIVITY_COMMAND_SCOPES": (
            "Scopes that a command of an activity requires.",
            rpc_scopes.ACTIVITY_COMMAND_SCOPES,
        ),
        "ACTIVITY_EVENT_SCOPES": (
            "Scopes that the subscription of an activity to an event requires.",
            rpc_scopes.ACTIVITY_EVENT_SCOPES,
        ),
        "INCLUDED_SCOPES": ("Scopes that include others (spec/webhooks-and-interactions.md#8.5).", included_scopes),
    }
    return "\n".join(
        [
            _render_heading("Values of local RPC and activity RPC"),
            *_render_enums(RPC_ENUMS),
            *(
                f"/** {description} */\n{_render_scope_table(name, table)}"
                for name, (description, table) in tables.items()
            ),
            f"export const RPC_VERSION = {rpc.VERSION};",
            *_render_limits(RPC_LIMITS),
            "",
        ]
    )


MODULES: Final = {
    "enums.js": enums_module,
    "errors.js": errors_module,
    "limits.js": limits_module,
    "permissions.js": permissions_module,
    "rpc.js": rpc_module,
    "voice.js": voice_module,
    "worker_values.js": worker_values_script,
}
"""Functions that return the source of the generated modules, by file name."""


def write_modules(folder: Path = FOLDER) -> None:
    """Write the generated modules."""
    folder.mkdir(exist_ok=True)
    for name, module in MODULES.items():
        (folder / name).write_text(module(), encoding="utf-8")


def _render_heading(subject: str) -> str:
    return f"/** {subject}, generated from `hubbub.protocol` by `make generate`. Do not edit. */\n"


def _render_constant(kind: type[Any], name: str, values: dict[str, str]) -> str:
    summary = (inspect.getdoc(kind) or "").partition("\n")[0]
    return f"/** {summary} */\n{_render_object(name, values)}"


def _render_object(name: str, values: dict[str, str]) -> str:
    return f"export const {name} = {_render_frozen(values)};\n"


def _render_frozen(values: dict[str, str]) -> str:
    lines = "".join(f"  {key}: {value},\n" for key, value in values.items())
    return f"Object.freeze({{\n{lines}}})"


def _render_enums(kinds: Mapping[str, type[Enum]]) -> list[str]:
    return [
        _render_constant(kind, name, {member.name: json.dumps(member.value) for member in kind})
        for name, kind in kinds.items()
    ]


def _render_limits(places: Iterable[str]) -> list[str]:
    lines = []
    for place in places:
        module, _, name = place.rpartition(".")
        value = getattr(importlib.import_module(f"hubbub.protocol.{module}"), name)
        lines.append(f"export const {name} = {_render_limit(value)};")
    return lines


def _render_scope_table(name: str, table: Mapping[str, Iterable[str]]) -> str:
    return _render_object(
        name, {_render_key(key): _render_strings([str(scope) for scope in row]) for key, row in table.items()}
    )


def _render_key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _render_strings(values: list[str]) -> str:
    """Return strings as a list of JavaScript, formatted as Biome does."""
    if len(values) <= SHORT_LIST_MAX:
        return json.dumps(values)
    return "[\n" + "".join(f"    {json.dumps(value)},\n" for value in values) + "  ]"


def _render_limit(value: Any) -> str:
    """Return a limit as JavaScript: a number, a list of numbers, or an object with these by the value of an enum."""
    if isinstance(value, dict):
        return f"Object.freeze({{ {', '.join(f'{int(key)}: {_render_limit(item)}' for key, item in value.items())} }})"
    return f"[{', '.join(map(_render_limit, value))}]" if isinstance(value, (tuple, range)) else str(int(value))


def _is_bit(name: str, value: object) -> bool:
    return name.isupper() and isinstance(value, int) and value.bit_count() == 1


if __name__ == "__main__":
    write_modules()
