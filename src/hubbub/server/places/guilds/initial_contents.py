"""The initial roles and channels of a new guild: from the request, or the default ones."""

from typing import Final, NamedTuple, TypeVar

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.ids import ChannelId, GuildId, RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds as wire
from hubbub.protocol.resources.channels import BITRATE_DEFAULT
from hubbub.protocol.resources.roles import DEFAULT_ROLE_NAME
from hubbub.server.core.call import Call
from hubbub.server.places import roles
from hubbub.server.places.guilds.store import NewChannel, NewOverwrite

INITIAL_TYPES: Final = (ChannelType.GUILD_TEXT, ChannelType.GUILD_VOICE, ChannelType.GUILD_CATEGORY)


class InitialContents(NamedTuple):
    """The initial roles and channels of a guild."""

    everyone: int
    """Permissions of @everyone."""
    roles: list[roles.RoleRow]
    """Roles other than @everyone, lowest first."""
    channels: list[NewChannel]
    overwrites: list[NewOverwrite]
    system_channel_id: int | None = None
    afk_channel_id: int | None = None


def default_contents(call: Call) -> InitialContents:
    """Return the default contents: a text and a voice channel, each in a category (decisions/0010)."""
    text, voice, general, lounge = (call.new_id(ChannelId) for _ in range(4))
    return InitialContents(
        Permissions.DEFAULT_EVERYONE,
        [],
        [
            NewChannel(text, "Text Channels", ChannelType.GUILD_CATEGORY, 0),
            NewChannel(voice, "Voice Channels", ChannelType.GUILD_CATEGORY, 1),
            NewChannel(general, "general", ChannelType.GUILD_TEXT, 0, text),
            NewChannel(lounge, "General", ChannelType.GUILD_VOICE, 0, voice, bitrate=BITRATE_DEFAULT, user_limit=0),
        ],
        [],
        system_channel_id=general,
    )


def requested_contents(call: Call, guild_id: GuildId, body: wire.CreateGuild) -> InitialContents:
    """Build the contents of a request, replacing its placeholder IDs by real ones.

    Unlisted parts are the default ones."""
    everyone, role_rows, role_ids = _roles(call, guild_id, body)
    if body.channels is UNSET or body.channels is None:
        return default_contents(call)._replace(everyone=everyone, roles=role_rows)
    channel_ids: dict[int, int] = {each.id: call.new_id(ChannelId) for each in body.channels if each.id is not UNSET}
    channels: list[NewChannel] = []
    overwrites: list[NewOverwrite] = []
    form = errors.FormErrors()
    for index, each in enumerate(body.channels):
        kind = each.type if each.type is not UNSET and each.type is not None else ChannelType.GUILD_TEXT
        if kind not in INITIAL_TYPES:
            form.add(("channels", index, "type"), *errors.choices([int(kind) for kind in INITIAL_TYPES]))
        parent_id = None if each.parent_id is UNSET or each.parent_id is None else channel_ids.get(each.parent_id)
        voice = kind == ChannelType.GUILD_VOICE
        channel_id = channel_ids[each.id] if each.id is not UNSET else call.new_id(ChannelId)
        channels.append(
            NewChannel(
                id=channel_id,
                name=each.name,
                type=int(kind),
                position=_value_or(each.position, index),
                parent_id=parent_id,
                topic=_value_or(each.topic, None),
                nsfw=int(_value_or(each.nsfw, False)),
                rate_limit_per_user=_value_or(each.rate_limit_per_user, 0),
                bitrate=_value_or(each.bitrate, BITRATE_DEFAULT) if voice else None,
                user_limit=_value_or(each.user_limit, 0) if voice else None,
            )
        )
        given = each.permission_overwrites if each.permission_overwrites is not UNSET else None
        for overwrite_index, overwrite in enumerate(given or ()):
            role_id = role_ids.get(overwrite.id)
            if role_id is None:
                # The owner is the only member yet, so only roles of this request are valid.
                form.add(
                    ("channels", index, "permission_overwrites", overwrite_index, "id"),
                    *errors.choices(sorted(role_ids)),
                )
                continue
            overwrites.append(
                NewOverwrite(
                    channel_id,
                    role_id,
                    OverwriteType.ROLE,
                    _value_or(overwrite.allow, 0) & Permissions.ALL,
                    _value_or(overwrite.deny, 0) & Permissions.ALL,
                )
            )
    form.raise_if_any()
    return InitialContents(
        everyone,
        role_rows,
        channels,
        overwrites,
        system_channel_id=channel_ids.get(_value_or(body.system_channel_id, 0)),
        afk_channel_id=channel_ids.get(_value_or(body.afk_channel_id, 0)),
    )


def _roles(call: Call, guild_id: GuildId, body: wire.CreateGuild) -> tuple[int, list[roles.RoleRow], dict[int, int]]:
    """Return the permissions of @everyone, the other roles, and the real ID of each placeholder ID."""
    given = body.roles if body.roles is not UNSET and body.roles is not None else []
    everyone: int = Permissions.DEFAULT_EVERYONE
    # Placeholder 0 means @everyone, as does the ID of the first role in the list.
    ids: dict[int, int] = {0: guild_id}
    role_rows: list[roles.RoleRow] = []
    for position, each in enumerate(given):
        permissions = _value_or(each.permissions, everyone) & Permissions.ALL
        if position == 0:
            everyone = permissions
            role_id: int = guild_id
        else:
            role_id = call.new_id(RoleId)
            role_rows.append(
                roles.RoleRow(
                    role_id,
                    guild_id,
                    _value_or(each.name, DEFAULT_ROLE_NAME),
                    permissions,
                    position,
                    color=_value_or(each.color, 0),
                    hoist=int(_value_or(each.hoist, False)),
                    mentionable=int(_value_or(each.mentionable, False)),
                )
            )
        if each.id is not UNSET:
            ids[each.id] = role_id
    return everyone, role_rows, ids


T = TypeVar("T")


def _value_or(value: T | UnsetType | None, default: T) -> T:
    return default if value is UNSET or value is None else value
