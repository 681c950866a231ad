"""The welcome screen and the guide for new members over HTTP."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import welcome_screens as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Answer, handles
from hubbub.server.resources import channels, emojis, guilds
from hubbub.server.resources.guilds import GuildRow
from hubbub.server.resources.welcome_screens import actions, store
from hubbub.server.resources.welcome_screens.store import WelcomeScreenRow


@handles(wire.GET_GUILD_WELCOME_SCREEN)
def get_guild_welcome_screen(call: Call, guild_id: GuildId) -> wire.WelcomeScreen:
    """What newcomers see; while it is not shown, for those who manage the guild."""
    guild = _guild(call, guild_id)
    row = store.find(call.tx, guild_id)
    if GuildFeature.WELCOME_SCREEN_ENABLED not in guild.feature_names:
        member = access.find_member(call.tx, call.now, guild_id, call.user_id)
        if member is None or not member.can(Permissions.MANAGE_GUILD):
            raise errors.UNKNOWN_WELCOME_SCREEN()
    return _show(call, row or WelcomeScreenRow(guild_id))


@handles(wire.UPDATE_GUILD_WELCOME_SCREEN)
def update_guild_welcome_screen(call: Call, guild_id: GuildId, body: wire.UpdateWelcomeScreen) -> wire.WelcomeScreen:
    """Change what newcomers see."""
    guild = _guild(call, guild_id)
    before = store.find(call.tx, guild_id) or WelcomeScreenRow(guild_id)
    after = before
    if body.description is not UNSET:
        after = after._replace(description=body.description or None)
    if body.welcome_channels is not UNSET:
        listed = _welcome_channels(call, guild_id, body.welcome_channels or [], before.welcome_channels)
        after = after._replace(channels=json.encode(listed).decode())
    enabled = GuildFeature.WELCOME_SCREEN_ENABLED in guild.feature_names
    if isinstance(body.enabled, bool):
        enabled = body.enabled
    actions.change(call, guild, before, after, enabled)
    return _show(call, after)


@handles(wire.GET_GUILD_NEW_MEMBER_WELCOME)
def get_guild_new_member_welcome(call: Call, guild_id: GuildId) -> wire.NewMemberWelcome | Answer:
    """The guide for new members, if there is one."""
    access.guild(call, guild_id)
    kept = _home(call, guild_id)
    return Answer(204) if kept is None else _with_guild(guild_id, kept)


@handles(wire.SET_GUILD_NEW_MEMBER_WELCOME)
def set_guild_new_member_welcome(
    call: Call, guild_id: GuildId, body: wire.SetNewMemberWelcome
) -> wire.NewMemberWelcome:
    """Write the guide for new members."""
    named = {
        (field, index): item.channel_id
        for field in ("new_member_actions", "resource_channels")
        for index, item in enumerate(getattr(body, field))
    }
    before = _home(call, guild_id)
    kept: list[int] = []
    if before is not None:
        kept += [each.channel_id for each in before.new_member_actions]
        kept += [each.channel_id for each in before.resource_channels]
    known = _choosable(call, guild_id, list(named.values()), kept)
    form = FormErrors()
    for (field, index), channel_id in named.items():
        if channel_id not in known:
            form.add((field, index, "channel_id"), "CHANNEL_UNKNOWN", "Unknown channel")
    form.raise_if_any()
    actions.set_home(call, guild_id, before, body)
    return _with_guild(guild_id, body)


def _guild(call: Call, guild_id: int) -> GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row


def _home(call: Call, guild_id: int) -> wire.SetNewMemberWelcome | None:
    kept = store.find_home(call.tx, guild_id)
    return None if kept is None else json.decode(kept, wire.SetNewMemberWelcome)


def _with_guild(guild_id: GuildId, kept: wire.SetNewMemberWelcome) -> wire.NewMemberWelcome:
    return wire.NewMemberWelcome(
        guild_id=guild_id,
        enabled=kept.enabled,
        welcome_message=kept.welcome_message,
        new_member_actions=kept.new_member_actions,
        resource_channels=kept.resource_channels,
    )


def _known(call: Call, guild_id: int, channel_ids: Sequence[int]) -> set[int]:
    """Which of these are channels of the guild."""
    found = channels.find_many(call.tx, channel_ids)
    return {row.id for row in found.values() if row.guild_id == guild_id}


def _choosable(call: Call, guild_id: int, channel_ids: Sequence[int], kept: Iterable[int]) -> set[int]:
    """Which of these are channels that the caller sees; those may stay that were named before."""
    seen = access.visible_channels(call.tx, access.guild(call, guild_id))
    return _known(call, guild_id, channel_ids) & {*seen, *kept}


def _welcome_channels(
    call: Call, guild_id: int, wanted: Sequence[wire.SetWelcomeChannel], before: Sequence[wire.WelcomeChannel]
) -> list[wire.WelcomeChannel]:
    known = _choosable(call, guild_id, [each.channel_id for each in wanted], [each.channel_id for each in before])
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
    """A custom emoji of the guild with its name, or a Unicode one."""
    if emoji_id:
        row = emojis.find(call.tx, emoji_id)
        return (None, None) if row is None or row.guild_id != guild_id else (EmojiId(row.id), row.name)
    return None, name or None


def _show(call: Call, row: WelcomeScreenRow) -> wire.WelcomeScreen:
    listed = row.welcome_channels
    known = _known(call, row.guild_id, [each.channel_id for each in listed])
    return wire.WelcomeScreen(
        description=row.description, welcome_channels=[each for each in listed if each.channel_id in known]
    )
