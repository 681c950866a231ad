"""HTTP handlers for the welcome screen and the guide for new members."""

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

    Requires MANAGE_GUILD while the welcome screen is disabled."""
    guild = _guild(call, guild_id)
    row = store.find(call.tx, guild_id)
    if GuildFeature.WELCOME_SCREEN_ENABLED not in guild.feature_names:
        member = access.find_member(call.tx, call.now, guild_id, call.user_id)
        if member is None or not member.can(Permissions.MANAGE_GUILD):
            raise errors.UNKNOWN_WELCOME_SCREEN()
    return _view(call, row or WelcomeScreenRow(guild_id))


@handles(wire.UPDATE_GUILD_WELCOME_SCREEN)
def update_guild_welcome_screen(call: Call, guild_id: GuildId, body: wire.UpdateWelcomeScreen) -> wire.WelcomeScreen:
    """Update a guild's welcome screen."""
    guild = _guild(call, guild_id)
    before = store.find(call.tx, guild_id) or WelcomeScreenRow(guild_id)
    after = before
    if body.description is not UNSET:
        after = after._replace(description=body.description or None)
    if body.welcome_channels is not UNSET:
        listed = _welcome_channels(call, guild_id, body.welcome_channels or [], before.welcome_channels)
        after = after._replace(channels=codec.encode(listed).decode())
    enabled = GuildFeature.WELCOME_SCREEN_ENABLED in guild.feature_names
    if isinstance(body.enabled, bool):
        enabled = body.enabled
    actions.change(call, guild, before, after, enabled)
    return _view(call, after)


@handles(wire.GET_GUILD_NEW_MEMBER_WELCOME)
def get_guild_new_member_welcome(call: Call, guild_id: GuildId) -> wire.NewMemberWelcome | Response:
    """Get a guild's guide for new members.

    Returns 204 if there is none."""
    access.guild(call, guild_id)
    guide = _find_guide(call, guild_id)
    return Response(204) if guide is None else _with_guild(guild_id, guide)


@handles(wire.SET_GUILD_NEW_MEMBER_WELCOME)
def set_guild_new_member_welcome(
    call: Call, guild_id: GuildId, body: wire.SetNewMemberWelcome
) -> wire.NewMemberWelcome:
    """Update a guild's guide for new members."""
    channel_ids = {
        (field, index): item.channel_id
        for field in ("new_member_actions", "resource_channels")
        for index, item in enumerate(getattr(body, field))
    }
    before = _find_guide(call, guild_id)
    previous: list[int] = []
    if before is not None:
        previous += [each.channel_id for each in before.new_member_actions]
        previous += [each.channel_id for each in before.resource_channels]
    known = _filter_choosable(call, guild_id, list(channel_ids.values()), previous)
    form = FormErrors()
    for (field, index), channel_id in channel_ids.items():
        if channel_id not in known:
            form.add((field, index, "channel_id"), "CHANNEL_UNKNOWN", "Unknown channel")
    form.raise_if_any()
    actions.set_guide(call, guild_id, before, body)
    return _with_guild(guild_id, body)


def _guild(call: Call, guild_id: int) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _find_guide(call: Call, guild_id: int) -> wire.SetNewMemberWelcome | None:
    stored = store.find_guide(call.tx, guild_id)
    return None if stored is None else codec.decode(stored, wire.SetNewMemberWelcome)


def _with_guild(guild_id: GuildId, guide: wire.SetNewMemberWelcome) -> wire.NewMemberWelcome:
    return wire.NewMemberWelcome(
        guild_id=guild_id,
        enabled=guide.enabled,
        welcome_message=guide.welcome_message,
        new_member_actions=guide.new_member_actions,
        resource_channels=guide.resource_channels,
    )


def _filter_known(call: Call, guild_id: int, channel_ids: Sequence[int]) -> set[int]:
    """Return those of the IDs that are channels of the guild."""
    found = channels.find_many(call.tx, channel_ids)
    return {row.id for row in found.values() if row.guild_id == guild_id}


def _filter_choosable(call: Call, guild_id: int, channel_ids: Sequence[int], previous: Iterable[int]) -> set[int]:
    """Return those of the channels that the caller can see, or that were listed before."""
    visible = access.visible_channels(call.tx, access.guild(call, guild_id))
    return _filter_known(call, guild_id, channel_ids) & {*visible, *previous}


def _welcome_channels(
    call: Call, guild_id: int, wanted: Sequence[wire.SetWelcomeChannel], before: Sequence[wire.WelcomeChannel]
) -> list[wire.WelcomeChannel]:
    known = _filter_choosable(
        call, guild_id, [each.channel_id for each in wanted], [each.channel_id for each in before]
    )
    form = FormErrors()
    listed = []
    for index, each in enumerate(wanted):
        if each.channel_id not in known:
            form.add(("welcome_channels", index, "channel_id"), "CHANNEL_UNKNOWN", "Unknown channel")
        emoji_id, emoji_name = _emoji(call, guild_id, each.emoji_id, each.emoji_name)
        if each.emoji_id and emoji_id is None:
            form.add(("welcome_channels", index, "emoji_id"), "EMOJI_UNKNOWN", "Unknown emoji")
        elif not each.emoji_id and emoji_name is not None and not emojis.is_unicode(emoji_name):
            form.add(("welcome_channels", index, "emoji_name"), "EMOJI_UNKNOWN", "Unknown emoji")
        listed.append(
            wire.WelcomeChannel(
                channel_id=ChannelId(each.channel_id),
                description=each.description,
                emoji_id=emoji_id,
                emoji_name=emoji_name,
            )
        )
    form.raise_if_any()
    return listed


def _emoji(
    call: Call, guild_id: int, emoji_id: int | UnsetType | None, name: str | UnsetType | None
) -> tuple[EmojiId | None, str | None]:
    """Return the ID and name of a guild's custom emoji, or a Unicode emoji."""
    if emoji_id:
        row = emojis.find(call.tx, emoji_id)
        return (None, None) if row is None or row.guild_id != guild_id else (EmojiId(row.id), row.name)
    return None, name or None


def _view(call: Call, row: WelcomeScreenRow) -> wire.WelcomeScreen:
    listed = row.welcome_channels
    known = _filter_known(call, row.guild_id, [each.channel_id for each in listed])
    return wire.WelcomeScreen(
        description=row.description, welcome_channels=[each for each in listed if each.channel_id in known]
    )
