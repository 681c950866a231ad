"""Validation of onboarding settings and responses (spec/http.md#3.5)."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType, OnboardingMode, OnboardingPromptType
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, EmojiId, RoleId, Snowflake
from hubbub.protocol.permissions import Permissions, channel_permissions
from hubbub.protocol.resources import onboarding as wire
from hubbub.server.core.call import Call
from hubbub.server.core.denials import READ_ONLY_REASON, Denial, PermissionDenied
from hubbub.server.places import channels, roles
from hubbub.server.places.expressions import emojis
from hubbub.server.places.onboarding.store import OnboardingRow
from hubbub.server.places.standing import GuildAccess

_TEXT_CHANNEL_TYPES = frozenset(
    {ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT, ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA}
)
"""Types of channels that count as writable if @everyone can send messages there."""


def require_enabled(standing: GuildAccess, row: OnboardingRow | None) -> OnboardingRow:
    """Return the guild's enabled onboarding.

    Raise MISSING_PERMISSIONS if the caller is timed out or pending, and FEATURE_DISABLED if onboarding is not enabled."""
    if standing.is_read_only:
        raise PermissionDenied(Denial(guild_id=standing.guild_id, reason=READ_ONLY_REASON))
    if row is None or not row.enabled:
        raise errors.FEATURE_DISABLED(message="This server has no onboarding")
    return row


def require_valid_responses(prompts: Sequence[wire.OnboardingPrompt], option_ids: Sequence[int]) -> None:
    """Raise form errors unless the options with the IDs `option_ids` are valid responses to the prompts.

    Each option must exist and be listed once. A single-select prompt takes one option. A required prompt that is part of
    onboarding needs at least one option."""
    form = FormErrors()
    prompt_by_option = {option.id: prompt for prompt in prompts for option in prompt.options}
    answered_prompt_ids: set[Snowflake] = set()
    for index, option_id in enumerate(option_ids):
        prompt = prompt_by_option.get(Snowflake(option_id))
        if prompt is None:
            form.add(("onboarding_responses", index), "ONBOARDING_OPTION_UNKNOWN", "Unknown option")
        elif option_id in option_ids[:index]:
            form.add(("onboarding_responses", index), *errors.duplicate())
        elif prompt.single_select and prompt.id in answered_prompt_ids:
            message = f"Only one option of {prompt.title} can be chosen"
            form.add(("onboarding_responses", index), "ONBOARDING_SINGLE_SELECT", message)
        if prompt is not None:
            answered_prompt_ids.add(prompt.id)
    for prompt in prompts:
        if prompt.required and prompt.in_onboarding and prompt.id not in answered_prompt_ids:
            message = f"{prompt.title} must be answered"
            form.add("onboarding_responses", "ONBOARDING_PROMPT_REQUIRED", message)
    form.raise_if_any()


class GuildContents:
    """The guild's roles, channels and emojis by ID, loaded once to validate all IDs of a request.

    `standing` is the caller's standing in the guild."""

    def __init__(self, call: Call, standing: GuildAccess) -> None:
        self.call = call
        self.standing = standing
        self.roles = {row.id: row for row in roles.list_guild_roles(call.tx, standing.guild_id)}
        self.channels = {row.id: row for row in channels.list_guild_channels(call.tx, standing.guild_id)}
        self.emojis = {emoji.id: emoji for emoji in emojis.list_guild_emojis(call.tx, standing.guild_id)}

    def can_assign(self, role_id: int) -> bool:
        """Return whether the caller may let new members choose this role."""
        row = self.roles.get(role_id)
        return row is not None and not row.managed and not row.is_everyone and self.standing.outranks_role(row.rank)


def check_channels(
    contents: GuildContents, channel_ids: Sequence[int], path: tuple[str | int, ...], form: FormErrors
) -> None:
    """Add a form error for each ID that is not a channel of the guild, or that is listed twice.

    `path` is the path of the list in the request."""
    seen_ids: set[int] = set()
    for index, channel_id in enumerate(channel_ids):
        if channel_id not in contents.channels:
            form.add((*path, index), "CHANNEL_UNKNOWN", "Unknown channel")
        elif channel_id in seen_ids:
            form.add((*path, index), *errors.duplicate())
        seen_ids.add(channel_id)


def build_prompts(
    contents: GuildContents,
    requested_prompts: Sequence[wire.SetOnboardingPrompt],
    stored_prompts: Iterable[wire.OnboardingPrompt],
    form: FormErrors,
) -> list[wire.OnboardingPrompt]:
    """Build the prompts to store, and add form errors for invalid options.

    `requested_prompts` are the prompts of the request. Prompts and options that are in `stored_prompts` keep their IDs,
    others get new IDs."""
    stored_prompts_by_id = {prompt.id: prompt for prompt in stored_prompts}
    built_prompts = []
    for index, prompt in enumerate(requested_prompts):
        previous_prompt = stored_prompts_by_id.pop(prompt.id, None)
        stored_options_by_id = (
            {} if previous_prompt is None else {option.id: option for option in previous_prompt.options}
        )
        built_prompts.append(
            wire.OnboardingPrompt(
                id=contents.call.new_id(Snowflake) if previous_prompt is None else previous_prompt.id,
                title=prompt.title,
                options=[
                    _build_option(
                        contents, option, stored_options_by_id, ("prompts", index, "options", option_index), form
                    )
                    for option_index, option in enumerate(prompt.options)
                ],
                single_select=bool(prompt.single_select or False),
                required=bool(prompt.required or False),
                in_onboarding=bool(prompt.in_onboarding or False),
                type=int(prompt.type or OnboardingPromptType.MULTIPLE_CHOICE),
            )
        )
    return built_prompts


def _build_option(
    contents: GuildContents,
    option: wire.SetOnboardingOption,
    stored_options_by_id: dict[Snowflake, wire.OnboardingOption],
    path: tuple[str | int, ...],
    form: FormErrors,
) -> wire.OnboardingOption:
    previous_option = stored_options_by_id.pop(option.id, None) if option.id else None
    role_ids, channel_ids = _list_or_empty(option.role_ids), _list_or_empty(option.channel_ids)
    for index, role_id in enumerate(role_ids):
        if not contents.can_assign(role_id):
            form.add((*path, "role_ids", index), "ROLE_INVALID", "Invalid role")
        elif role_id in role_ids[:index]:
            form.add((*path, "role_ids", index), *errors.duplicate())
    check_channels(contents, channel_ids, (*path, "channel_ids"), form)
    return wire.OnboardingOption(
        id=contents.call.new_id(Snowflake) if previous_option is None else previous_option.id,
        title=option.title,
        description=option.description or "",
        emoji=_option_emoji(contents, option, path, form),
        role_ids=[RoleId(role_id) for role_id in role_ids],
        channel_ids=[ChannelId(channel_id) for channel_id in channel_ids],
    )


def _option_emoji(
    contents: GuildContents, option: wire.SetOnboardingOption, path: tuple[str | int, ...], form: FormErrors
) -> wire.OnboardingEmoji:
    if option.emoji_id:
        emoji = contents.emojis.get(option.emoji_id)
        if emoji is not None:
            return wire.OnboardingEmoji(id=EmojiId(option.emoji_id), name=emoji.name, animated=bool(emoji.animated))
        form.add((*path, "emoji_id"), "EMOJI_UNKNOWN", "Unknown emoji")
    elif option.emoji_name and not emojis.is_unicode_emoji(option.emoji_name):
        form.add((*path, "emoji_name"), "EMOJI_UNKNOWN", "Unknown emoji")
    return wire.OnboardingEmoji(id=None, name=option.emoji_name or None, animated=False)


def _list_or_empty(values: Sequence[int] | UnsetType | None) -> list[int]:
    return [] if values is UNSET or values is None else list(values)


def require_enough_channels(call: Call, contents: GuildContents, before: OnboardingRow, after: OnboardingRow) -> None:
    """Raise an error if onboarding is enabled and lacks channels.

    Onboarding needs 7 default channels; @everyone must be able to send messages in 5 of them. In advanced mode the
    channels of prompt options count as well."""
    if not after.enabled:
        return
    offered_channel_ids = set(after.decoded_default_channel_ids)
    if after.mode == OnboardingMode.ADVANCED:
        offered_channel_ids |= {
            channel_id
            for prompt in after.decoded_prompts
            for option in prompt.options
            for channel_id in option.channel_ids
        }
    offered_channel_ids &= contents.channels.keys()
    everyone_permissions = contents.roles[contents.standing.guild_id].permissions
    overwrites_by_channel = channels.overwrites.find_overwrites_of_guild(call.tx, contents.standing.guild_id)
    required_permissions = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES
    writable_count = 0
    for channel_id in offered_channel_ids:
        permissions_by_target = {
            overwrite.target_id: (overwrite.allow, overwrite.deny)
            for overwrite in overwrites_by_channel.get(channel_id, [])
        }
        permissions = channel_permissions(
            everyone_permissions, permissions_by_target.get(contents.standing.guild_id), [], None
        )
        if contents.channels[channel_id].type in _TEXT_CHANNEL_TYPES and not required_permissions & ~permissions:
            writable_count += 1
    if len(offered_channel_ids) < wire.DEFAULT_CHANNELS_MIN or writable_count < wire.WRITABLE_CHANNELS_MIN:
        raise errors.CANNOT_UPDATE_ONBOARDING() if before.enabled else errors.CANNOT_ENABLE_ONBOARDING()
