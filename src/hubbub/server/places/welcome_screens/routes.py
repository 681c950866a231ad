"""HTTP handlers for the welcome screen and the new member guide."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import welcome_screens as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.places import channels, guilds
from hubbub.server.places.expressions import emojis
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.standing import access
from hubbub.server.places.welcome_screens import actions, store
from hubbub.server.places.welcome_screens.store import WelcomeScreenRow


@handles(wire.GET_GUILD_WELCOME_SCREEN)
def get_guild_welcome_screen(call: Call, guild_id: GuildId) -> wire.WelcomeScreen:
    """Get a guild's welcome screen.

    While the welcome screen is disabled, the caller needs MANAGE_GUILD."""
    guild = _require_guild(call, guild_id)
    row = store.find(call.tx, guild_id)
    if GuildFeature.WELCOME_SCREEN_ENABLED not in guild.feature_names:
        standing = access.find_guild_standing(call.tx, call.now_ms, guild_id, call.user_id)
        if standing is None or not standing.can(Permissions.MANAGE_GUILD):
            raise errors.UNKNOWN_WELCOME_SCREEN()
    return _screen_view(call, row or WelcomeScreenRow(guild_id))


@handles(wire.UPDATE_GUILD_WELCOME_SCREEN)
def update_guild_welcome_screen(call: Call, guild_id: GuildId, body: wire.UpdateWelcomeScreen) -> wire.WelcomeScreen:
    """Update a guild's welcome screen."""
    guild = _require_guild(call, guild_id)
    before = store.find(call.tx, guild_id) or WelcomeScreenRow(guild_id)
    after = before
    if body.description is not UNSET:
        after = after._replace(description=body.description or None)
    if body.welcome_channels is not UNSET:
        welcome_channels = _build_welcome_channels(call, guild_id, body.welcome_channels or [], before.welcome_channels)
        after = after._replace(channels=codec.encode(welcome_channels).decode())
    is_enabled = GuildFeature.WELCOME_SCREEN_ENABLED in guild.feature_names
    if isinstance(body.enabled, bool):
        is_enabled = body.enabled
    actions.update_screen(call, guild, before, after, is_enabled)
    return _screen_view(call, after)


@handles(wire.GET_GUILD_NEW_MEMBER_WELCOME)
def get_guild_new_member_welcome(call: Call, guild_id: GuildId) -> wire.NewMemberWelcome | Response:
    """Get a guild's new member guide.

    The status is 204 if the guild has no guide."""
    access.get_guild_standing(call, guild_id)
    guide = _find_guide(call, guild_id)
    return Response(204) if guide is None else _guide_view(guild_id, guide)


@handles(wire.SET_GUILD_NEW_MEMBER_WELCOME)
def set_guild_new_member_welcome(
    call: Call, guild_id: GuildId, body: wire.SetNewMemberWelcome
) -> wire.NewMemberWelcome:
    """Update a guild's new member guide."""
    channel_ids_by_path = {
        (field, index): guide_item.channel_id
        for field in ("new_member_actions", "resource_channels")
        for index, guide_item in enumerate(getattr(body, field))
    }
    previous_guide = _find_guide(call, guild_id)
    previous_channel_ids: list[int] = []
    if previous_guide is not None:
        previous_channel_ids += [action.channel_id for action in previous_guide.new_member_actions]
        previous_channel_ids += [resource.channel_id for resource in previous_guide.resource_channels]
    selectable_channel_ids = _filter_selectable(
        call, guild_id, list(channel_ids_by_path.values()), previous_channel_ids
    )
    form = FormErrors()
    for (field, index), channel_id in channel_ids_by_path.items():
        if channel_id not in selectable_channel_ids:
            form.add((field, index, "channel_id"), "CHANNEL_UNKNOWN", "Unknown channel")
    form.raise_if_any()
    actions.set_guide(call, guild_id, previous_guide, body)
    return _guide_view(guild_id, body)


def _require_guild(call: Call, guild_id: int) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _find_guide(call: Call, guild_id: int) -> wire.SetNewMemberWelcome | None:
    guide_json = store.find_guide(call.tx, guild_id)
    return None if guide_json is None else codec.decode(guide_json, wire.SetNewMemberWelcome)


def _guide_view(guild_id: GuildId, guide: wire.SetNewMemberWelcome) -> wire.NewMemberWelcome:
    return wire.NewMemberWelcome(
        guild_id=guild_id,
        enabled=guide.enabled,
        welcome_message=guide.welcome_message,
        new_member_actions=guide.new_member_actions,
        resource_channels=guide.resource_channels,
    )


def _filter_existing(call: Call, guild_id: int, channel_ids: Sequence[int]) -> set[int]:
    """Return the IDs among `channel_ids` that are channels of the guild."""
    rows_by_id = channels.find_many(call.tx, channel_ids)
    return {row.id for row in rows_by_id.values() if row.guild_id == guild_id}


def _filter_selectable(
    call: Call, guild_id: int, channel_ids: Sequence[int], previous_channel_ids: Iterable[int]
) -> set[int]:
    """Return the IDs among `channel_ids` that are channels of the guild.

    Channels that the caller does not see are left out, unless `previous_channel_ids` contains them."""
    visible_channels = access.visible_channels(call.tx, access.get_guild_standing(call, guild_id))
    return _filter_existing(call, guild_id, channel_ids) & {*visible_channels, *previous_channel_ids}


def _build_welcome_channels(
    call: Call,
    guild_id: int,
    requested_channels: Sequence[wire.SetWelcomeChannel],
    previous_channels: Sequence[wire.WelcomeChannel],
) -> list[wire.WelcomeChannel]:
    selectable_channel_ids = _filter_selectable(
        call,
        guild_id,
        [requested_channel.channel_id for requested_channel in requested_channels],
        [previous_channel.channel_id for previous_channel in previous_channels],
    )
    form = FormErrors()
    welcome_channels = []
    for index, requested_channel in enumerate(requested_channels):
        if requested_channel.channel_id not in selectable_channel_ids:
            form.add(("welcome_channels", index, "channel_id"), "CHANNEL_UNKNOWN", "Unknown channel")
        emoji_id, emoji_name = _channel_emoji(call, guild_id, requested_channel.emoji_id, requested_channel.emoji_name)
        if requested_channel.emoji_id and emoji_id is None:
            form.add(("welcome_channels", index, "emoji_id"), "EMOJI_UNKNOWN", "Unknown emoji")
        elif not requested_channel.emoji_id and emoji_name is not None and not emojis.is_unicode_emoji(emoji_name):
            form.add(("welcome_channels", index, "emoji_name"), "EMOJI_UNKNOWN", "Unknown emoji")
        welcome_channels.append(
            wire.WelcomeChannel(
                channel_id=ChannelId(requested_channel.channel_id),
                description=requested_channel.description,
                emoji_id=emoji_id,
                emoji_name=emoji_name,
            )
        )
    form.raise_if_any()
    return welcome_channels


def _channel_emoji(
    call: Call, guild_id: int, emoji_id: int | UnsetType | None, name: str | UnsetType | None
) -> tuple[EmojiId | None, str | None]:
    """Return the ID and name of the guild's custom emoji, or None and the Unicode emoji if `emoji_id` is not given.

    Both are None for an unknown custom emoji, and if neither ID nor name is given."""
    if emoji_id:
        row = emojis.find(call.tx, emoji_id)
        return (None, None) if row is None or row.guild_id != guild_id else (EmojiId(row.id), row.name)
    return None, name or None


def _screen_view(call: Call, row: WelcomeScreenRow) -> wire.WelcomeScreen:
    """Return a welcome screen without deleted channels."""
    welcome_channels = row.welcome_channels
    existing_channel_ids = _filter_existing(
        call, row.guild_id, [welcome_channel.channel_id for welcome_channel in welcome_channels]
    )
    return wire.WelcomeScreen(
        description=row.description,
        welcome_channels=[
            welcome_channel
            for welcome_channel in welcome_channels
            if welcome_channel.channel_id in existing_channel_ids
        ],
    )
