"""Validation of channels, rules for permission overwrites and linked lobbies, and the quota of renames."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import CREATABLE_CHANNEL_TYPES, FORUM_TYPES, VOICE_TYPES, ChannelType, OverwriteType
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.ids import TagId
from hubbub.protocol.permissions import Permissions, can_overwrite
from hubbub.protocol.resources import channel_overwrites, forum_settings
from hubbub.protocol.resources import channels as wire
from hubbub.server.core import quotas
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.places import voice_regions
from hubbub.server.places.channels import store, views
from hubbub.server.places.channels.store import ChannelRow, GuildTraits, OverwriteRow
from hubbub.server.places.expressions import emojis
from hubbub.server.places.standing import ChannelAccess, GuildAccess, access

TEXT_LIKE_TYPES: Final = frozenset({ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT, *FORUM_TYPES})
"""Types of channels with a lowercase name and a topic."""

AllowDenyBits = tuple[int, int]
"""The allow and deny bits of an overwrite."""


def clean_name(channel_type: int, name: str) -> str:
    """Return the stored form of the name of a channel of the type `channel_type`.

    Names of text-like channels are lowercase with `-` for spaces (spec/http.md#3.2)."""
    collapsed_name = re.sub(r"\s+", " ", name).strip()
    return collapsed_name.lower().replace(" ", "-") if channel_type in TEXT_LIKE_TYPES else collapsed_name


def check_type(channel_type: int, guild: GuildTraits, form: FormErrors) -> None:
    """Add a form error unless channels of the type `channel_type` can be created in the guild."""
    creatable_types = set(CREATABLE_CHANNEL_TYPES)
    if not has_announcements(guild):
        creatable_types.discard(ChannelType.GUILD_ANNOUNCEMENT)
    if channel_type not in creatable_types:
        form.add("type", *errors.choices(sorted(int(allowed_type) for allowed_type in creatable_types)))


def decode_features(guild: GuildTraits) -> frozenset[str]:
    return frozenset(codec.decode(guild.features, list[str]))


def has_announcements(guild: GuildTraits) -> bool:
    """Return whether the guild can have announcement channels. Every community can."""
    return not decode_features(guild).isdisjoint({"NEWS", "COMMUNITY"})


def is_required_by_community(guild: GuildTraits, channel_id: int) -> bool:
    """Return whether the guild is a community and the channel is its rules or public updates channel."""
    return "COMMUNITY" in decode_features(guild) and channel_id in (
        guild.rules_channel_id,
        guild.public_updates_channel_id,
    )


def bitrate_max(channel_type: int, guild: GuildTraits) -> int:
    """Return the highest bitrate in bits per second of a channel of the type `channel_type` (voice or stage) in a guild."""
    if channel_type == ChannelType.GUILD_STAGE_VOICE:
        return wire.STAGE_BITRATE_MAX
    bitrates_by_tier = wire.BITRATE_MAX_BY_TIER
    return (
        bitrates_by_tier[-1]
        if "VIP_REGIONS" in decode_features(guild)
        else bitrates_by_tier[min(guild.premium_tier, len(bitrates_by_tier) - 1)]
    )


def apply_body(
    row: ChannelRow,
    body: wire.CreateGuildChannel | wire.UpdateChannel,
    guild: GuildTraits,
    form: FormErrors,
    new_tag_id: Callable[[], TagId],
) -> ChannelRow:
    """Return a channel row with the fields of a request body applied; add form errors for invalid fields.

    Absent fields and a null name are unchanged. Null resets any other field. Fields that the channel type does not have
    are ignored. Raise if the bitrate is too high, there are too many tags, or tag names repeat.
    The caller applies position, parent, type and overwrites. `new_tag_id` generates the ID of a new forum tag."""
    channel_type = row.type
    changes: dict[str, Any] = {}
    if isinstance(body.name, str):
        name = clean_name(channel_type, body.name)
        if not name:
            form.add("name", *errors.bad_length(1, wire.CHANNEL_NAME_MAX))
        changes["name"] = name
    if channel_type == ChannelType.GUILD_CATEGORY:
        return row._replace(**changes)
    if body.nsfw is not UNSET:
        changes["nsfw"] = int(body.nsfw or False)
    if body.rate_limit_per_user is not UNSET:
        changes["rate_limit_per_user"] = body.rate_limit_per_user or 0
    if body.topic is not UNSET and (channel_type in TEXT_LIKE_TYPES or channel_type == ChannelType.GUILD_STAGE_VOICE):
        topic_max = wire.FORUM_TOPIC_MAX if channel_type in FORUM_TYPES else wire.TOPIC_MAX
        if body.topic is not None and len(body.topic) > topic_max:
            form.add("topic", *errors.bad_length(0, topic_max))
        changes["topic"] = body.topic or None
    if channel_type in VOICE_TYPES:
        changes |= _voice_changes(channel_type, body, guild, form)
    else:
        changes |= _thread_default_changes(body)
    if channel_type in FORUM_TYPES:
        changes |= _forum_changes(row, body, form, new_tag_id)
    updated_row = row._replace(**changes)
    if body.flags is not UNSET:
        updated_row = updated_row._replace(flags=_updated_flags(updated_row, body.flags or 0))
    elif updated_row.nsfw:
        updated_row = updated_row._replace(flags=updated_row.flags & ~ChannelFlags.IS_SPOILER_CHANNEL)
    return updated_row


def check_emojis(
    call: Call, row: ChannelRow, body: wire.CreateGuildChannel | wire.UpdateChannel, form: FormErrors
) -> None:
    """Add form errors for unknown emojis in a forum's tags and default reaction.

    A custom emoji must belong to the guild. A tag may keep an emoji that has been deleted."""
    if row.type not in FORUM_TYPES:
        return
    current_emoji_ids = {tag.emoji_id for tag in views.tags(row)}
    requested_emojis: list[
        tuple[tuple[str | int, ...], forum_settings.ForumTagRequest | forum_settings.DefaultReactionRequest]
    ] = [(("available_tags", index), tag) for index, tag in enumerate(body.available_tags or ())]
    if body.default_reaction_emoji:
        requested_emojis.append((("default_reaction_emoji",), body.default_reaction_emoji))
    for path, emoji in requested_emojis:
        if emoji.emoji_id and emoji.emoji_id not in current_emoji_ids:
            emoji_row = emojis.find(call.tx, emoji.emoji_id)
            if emoji_row is None or emoji_row.guild_id != row.guild_id:
                form.add((*path, "emoji_id"), "EMOJI_UNKNOWN", "Unknown emoji")
        elif emoji.emoji_name and not emoji.emoji_id and not emojis.is_unicode_emoji(emoji.emoji_name):
            form.add((*path, "emoji_name"), "EMOJI_UNKNOWN", "Unknown emoji")


def _voice_changes(
    channel_type: int, body: wire.CreateGuildChannel | wire.UpdateChannel, guild: GuildTraits, form: FormErrors
) -> dict[str, Any]:
    """Return the changed columns of a voice or stage channel; add form errors, or raise if the bitrate is too high."""
    changes: dict[str, Any] = {}
    if body.bitrate is not UNSET:
        if body.bitrate is not None and body.bitrate > bitrate_max(channel_type, guild):
            raise errors.BITRATE_TOO_HIGH()
        changes["bitrate"] = body.bitrate
    if body.user_limit is not UNSET:
        user_limit_max = (
            wire.VOICE_USER_LIMIT_MAX if channel_type == ChannelType.GUILD_VOICE else wire.STAGE_USER_LIMIT_MAX
        )
        if body.user_limit is not None and body.user_limit > user_limit_max:
            form.add("user_limit", *errors.number_max(user_limit_max))
        changes["user_limit"] = body.user_limit
    if body.rtc_region is not UNSET:
        region_ids = [region.id for region in voice_regions.REGIONS]
        if body.rtc_region is not None and body.rtc_region not in region_ids:
            form.add("rtc_region", *errors.choices(region_ids))
        changes["rtc_region"] = body.rtc_region
    if body.video_quality_mode is not UNSET:
        changes["video_quality_mode"] = None if body.video_quality_mode is None else int(body.video_quality_mode)
    return changes


def _thread_default_changes(body: wire.CreateGuildChannel | wire.UpdateChannel) -> dict[str, Any]:
    """Return the changed columns with the defaults for new threads."""
    changes: dict[str, Any] = {}
    if body.default_auto_archive_duration is not UNSET:
        duration_minutes = body.default_auto_archive_duration
        changes["default_auto_archive_duration"] = None if duration_minutes is None else int(duration_minutes)
    if body.default_thread_rate_limit_per_user is not UNSET:
        changes["default_thread_rate_limit_per_user"] = body.default_thread_rate_limit_per_user
    return changes


def _forum_changes(
    row: ChannelRow,
    body: wire.CreateGuildChannel | wire.UpdateChannel,
    form: FormErrors,
    new_tag_id: Callable[[], TagId],
) -> dict[str, Any]:
    """Return the changed columns of a forum or media channel."""
    changes: dict[str, Any] = {}
    if body.default_sort_order is not UNSET:
        changes["default_sort_order"] = None if body.default_sort_order is None else int(body.default_sort_order)
    if body.default_forum_layout is not UNSET:
        changes["default_forum_layout"] = None if body.default_forum_layout is None else int(body.default_forum_layout)
    if body.default_tag_setting is not UNSET:
        changes["default_tag_setting"] = body.default_tag_setting
    if body.default_reaction_emoji is not UNSET:
        changes["default_reaction_emoji"] = _encode_default_reaction(body.default_reaction_emoji, form)
    if body.available_tags is not UNSET:
        changes["available_tags"] = _encode_tags(row, body.available_tags or [], form, new_tag_id)
    return changes


def _encode_default_reaction(emoji: forum_settings.DefaultReactionRequest | None, form: FormErrors) -> str | None:
    if emoji is None:
        return None
    emoji_id, emoji_name = emoji.emoji_id or None, emoji.emoji_name or None
    if (emoji_id is None) == (emoji_name is None):
        form.add("default_reaction_emoji", "DEFAULT_REACTION_EMOJI_INVALID", "Set either emoji_id or emoji_name.")
    return codec.encode(forum_settings.DefaultReaction(emoji_id=emoji_id, emoji_name=emoji_name)).decode()


def _encode_tags(
    row: ChannelRow,
    requested_tags: Sequence[forum_settings.ForumTagRequest],
    form: FormErrors,
    new_tag_id: Callable[[], TagId],
) -> str:
    if len(requested_tags) > wire.FORUM_TAGS_MAX:
        raise errors.MAX_FORUM_TAGS()
    current_tag_ids = {tag.id for tag in views.tags(row)}
    tags: list[forum_settings.ForumTag] = []
    for index, tag in enumerate(requested_tags):
        emoji_id, emoji_name = tag.emoji_id or None, tag.emoji_name or None
        if emoji_id is not None and emoji_name is not None:
            form.add(("available_tags", index), "FORUM_TAG_EMOJI_INVALID", "Set either emoji_id or emoji_name.")
        tags.append(
            forum_settings.ForumTag(
                # An ID of another forum creates a new tag, so that a list of tags can be copied.
                id=tag.id if tag.id and tag.id in current_tag_ids else new_tag_id(),
                name=tag.name,
                moderated=bool(tag.moderated or False),
                emoji_id=emoji_id,
                emoji_name=emoji_name,
            )
        )
    if len({tag.name for tag in tags}) < len(tags):
        raise errors.TAG_NAMES_MUST_BE_UNIQUE()
    if len({tag.id for tag in tags}) < len(tags):
        form.add("available_tags", *errors.duplicate())
    return codec.encode(tags).decode()


def _updated_flags(row: ChannelRow, requested_flags: int) -> int:
    """Return the flags after an edit. Flags that cannot be set for the channel type stay unchanged (spec/http.md#3.2).

    A channel with an age restriction never has IS_SPOILER_CHANNEL."""
    settable_flags = 0
    if row.type in FORUM_TYPES:
        settable_flags |= ChannelFlags.REQUIRE_TAG
    if row.type == ChannelType.GUILD_MEDIA:
        settable_flags |= ChannelFlags.HIDE_MEDIA_DOWNLOAD_OPTIONS
    if row.type in TEXT_LIKE_TYPES or row.type == ChannelType.GUILD_VOICE:
        settable_flags |= ChannelFlags.IS_SPOILER_CHANNEL
    flags = row.flags & ~settable_flags | requested_flags & settable_flags
    return flags & ~ChannelFlags.IS_SPOILER_CHANNEL if row.nsfw else flags


def require_parent(call: Call, row: ChannelRow, parent_id: int, form: FormErrors, path: errors.Path) -> None:
    """Require that `parent_id` is a category of the channel's guild, is not full, and that the caller manages channels in it.

    Add a form error at `path`, or raise if a permission is missing."""
    parent = store.find(call.tx, parent_id)
    if (
        parent is None
        or parent.guild_id != row.guild_id
        or parent.type != ChannelType.GUILD_CATEGORY
        or row.type == ChannelType.GUILD_CATEGORY
    ):
        form.add(path, *errors.parent_type())
        return
    access.require_channel(call, parent_id, Permissions.MANAGE_CHANNELS)
    if store.count_children(call.tx, parent_id) >= wire.CATEGORY_CHILDREN_MAX:
        form.add(path, *errors.parent_max_channels(wire.CATEGORY_CHILDREN_MAX))


def build_overwrites(
    call: Call,
    guild_id: int,
    channel_id: int,
    overwrite_requests: Sequence[channel_overwrites.OverwriteRequest],
    form: FormErrors,
) -> list[OverwriteRow]:
    """Build the overwrites in a request body, by ascending target ID.

    Add a form error for a target that is unknown or repeated. Raise if there are too many overwrites. A target is a role
    of the guild, or any user."""
    if len(overwrite_requests) > wire.OVERWRITES_MAX:
        raise errors.MAX_CHANNEL_OVERWRITES()
    target_ids = [overwrite_request.id for overwrite_request in overwrite_requests]
    role_ids, user_ids = store.find_overwrite_targets(call.tx, guild_id, target_ids)
    rows_by_target: dict[int, OverwriteRow] = {}
    for index, overwrite_request in enumerate(overwrite_requests):
        target_type = resolve_overwrite_type(overwrite_request.type, overwrite_request.id in role_ids)
        if overwrite_request.id not in (role_ids if target_type == OverwriteType.ROLE else user_ids):
            form.add(
                ("permission_overwrites", index, "id"), "CHANNEL_OVERWRITE_TARGET_INVALID", "Unknown role or user."
            )
        if overwrite_request.id in rows_by_target:
            form.add(("permission_overwrites", index, "id"), *errors.duplicate())
        rows_by_target[overwrite_request.id] = OverwriteRow(
            channel_id,
            overwrite_request.id,
            target_type,
            (overwrite_request.allow or 0) & Permissions.ALL,
            (overwrite_request.deny or 0) & Permissions.ALL,
        )
    return [rows_by_target[target_id] for target_id in sorted(rows_by_target)]


def resolve_overwrite_type(requested_type: OverwriteType | None | UnsetType, is_role: bool) -> int:
    """Return the requested type of an overwrite; without one, ROLE if `is_role` (its target is a role), otherwise MEMBER."""
    if requested_type is None or requested_type is UNSET:
        return int(OverwriteType.ROLE if is_role else OverwriteType.MEMBER)
    return int(requested_type)


def changed_bits(
    old_bits_by_target: Mapping[int, AllowDenyBits], new_bits_by_target: Mapping[int, AllowDenyBits]
) -> int:
    """Return every bit that differs between two sets of overwrites; both map target IDs to allow and deny bits."""
    differing_bits = 0
    for target_id in old_bits_by_target.keys() | new_bits_by_target.keys():
        old_allow, old_deny = old_bits_by_target.get(target_id, (0, 0))
        new_allow, new_deny = new_bits_by_target.get(target_id, (0, 0))
        differing_bits |= old_allow ^ new_allow | old_deny ^ new_deny
    return differing_bits


def require_permitted_new_overwrites(
    call: Call, standing: GuildAccess, parent_id: int | None, rows: Sequence[OverwriteRow]
) -> None:
    """Require that a new channel's overwrites use only bits the caller holds in the guild or category (spec/http.md#2.3)."""
    category_permissions = 0
    if parent_id is not None:
        category_permissions = access.permissions_in(call.tx, standing, parent_id)
    differing_bits = changed_bits({}, bits_by_target(rows))
    if not can_overwrite(standing.allowed, category_permissions, differing_bits):
        raise PermissionDenied(_build_overwrite_denial(standing, category_permissions, differing_bits, None))


def require_permitted_overwrites(
    channel_access: ChannelAccess, old_overwrites: Sequence[OverwriteRow], new_overwrites: Sequence[OverwriteRow]
) -> None:
    """Require that overwrites change only in bits the caller holds in the guild or channel (spec/http.md#2.3)."""
    standing = channel_access.guild
    if standing is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    has_manage_roles_overwrite = any(
        overwrite.allow & Permissions.MANAGE_ROLES
        for overwrite in old_overwrites
        if overwrite.target_id == standing.user_id or overwrite.target_id in standing.permissions_by_role
    )
    differing_bits = changed_bits(bits_by_target(old_overwrites), bits_by_target(new_overwrites))
    if not can_overwrite(
        standing.allowed, channel_access.allowed, differing_bits, has_manage_roles_overwrite=has_manage_roles_overwrite
    ):
        raise PermissionDenied(
            _build_overwrite_denial(standing, channel_access.allowed, differing_bits, channel_access.channel.id)
        )


def _build_overwrite_denial(
    standing: GuildAccess, channel_bits: int, differing_bits: int, channel_id: int | None
) -> Denial:
    """Return why the caller may not change these bits of overwrites; `channel_id` is None for a new channel."""
    missing_bits = differing_bits & ~(standing.allowed | channel_bits)
    if not missing_bits:
        return Denial(
            guild_id=standing.guild_id,
            reason="{caller} is not an administrator, and only administrators can change MANAGE_ROLES in an overwrite.",
        )
    return Denial(
        guild_id=standing.guild_id,
        channel_id=channel_id,
        missing_permissions=(missing_bits,),
        is_restricted=standing.is_read_only,
        action="change such permissions in an overwrite",
    )


def bits_by_target(rows: Sequence[OverwriteRow]) -> dict[int, AllowDenyBits]:
    """Return the allow and deny bits of overwrites by target ID."""
    return {row.target_id: (row.allow, row.deny) for row in rows}


def require_allowed_type_change(row: ChannelRow, new_type: int, guild: GuildTraits) -> None:
    """Reject a change to the type `new_type` other than between text and announcement channels.

    The guild must be able to have announcement channels, and must not require the channel as a community."""
    convertible_types = {ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT}
    if row.type not in convertible_types or new_type not in convertible_types or not has_announcements(guild):
        raise errors.WRONG_CHANNEL_TYPE()
    if is_required_by_community(guild, row.id):
        raise errors.COMMUNITY_CHANNELS_MUST_BE_TEXT()


def consume_rename_quota(call: Call, row: ChannelRow) -> None:
    """Limit changes of name and topic to two in ten minutes per channel (spec/http.md#1.14)."""
    quotas.consume_quota(call, "rename", row.id, wire.NAME_AND_TOPIC_LIMIT)


# Lobby links

_VIEW_AND_SEND = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES


def can_link_lobby(row: ChannelRow, permissions: int) -> bool:
    """Return whether a user with the permissions `permissions` in a channel may link a lobby to it (spec/sdk.md#12.6)."""
    is_linkable = row.type == ChannelType.GUILD_TEXT and not row.nsfw and row.linked_lobby is None
    return is_linkable and not (Permissions.MANAGE_CHANNELS | _VIEW_AND_SEND) & ~permissions


def is_open_to_all(guild_id: int, everyone_permissions: int, overwrites: Sequence[OverwriteRow]) -> bool:
    """Return whether every member of the guild can view the channel and send messages, regardless of roles.

    `everyone_permissions` holds the permissions of the @everyone role, whose ID is the guild ID."""
    allowed_bits, denied_bits = everyone_permissions, 0
    for overwrite in overwrites:
        if overwrite.target_id == guild_id:
            allowed_bits = allowed_bits & ~overwrite.deny | overwrite.allow
        else:
            denied_bits |= overwrite.deny
    return not _VIEW_AND_SEND & ~allowed_bits and not _VIEW_AND_SEND & denied_bits
