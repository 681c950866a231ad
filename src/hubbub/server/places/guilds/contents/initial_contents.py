"""The initial roles and channels of a new guild: the contents that a request describes, or the default contents."""

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
from hubbub.server.places.roles import RoleRow

INITIAL_CHANNEL_TYPES: Final = (ChannelType.GUILD_TEXT, ChannelType.GUILD_VOICE, ChannelType.GUILD_CATEGORY)
"""Types of channels that a request to create a guild can contain."""


class InitialContents(NamedTuple):
    """The initial roles and channels of a guild."""

    everyone_permissions: int
    roles: list[RoleRow]
    """Roles other than @everyone, lowest first."""
    channels: list[NewChannel]
    overwrites: list[NewOverwrite]
    system_channel_id: int | None = None
    afk_channel_id: int | None = None


def default_contents(call: Call) -> InitialContents:
    """Return the default contents: a text and a voice channel, each in a category (decisions/0010)."""
    text_category_id, voice_category_id, text_channel_id, voice_channel_id = (call.new_id(ChannelId) for _ in range(4))
    return InitialContents(
        Permissions.DEFAULT_EVERYONE,
        [],
        [
            NewChannel(text_category_id, "Text Channels", ChannelType.GUILD_CATEGORY, 0),
            NewChannel(voice_category_id, "Voice Channels", ChannelType.GUILD_CATEGORY, 1),
            NewChannel(text_channel_id, "general", ChannelType.GUILD_TEXT, 0, text_category_id),
            NewChannel(
                voice_channel_id,
                "General",
                ChannelType.GUILD_VOICE,
                0,
                voice_category_id,
                bitrate=BITRATE_DEFAULT,
                user_limit=0,
            ),
        ],
        [],
        system_channel_id=text_channel_id,
    )


def requested_contents(call: Call, guild_id: GuildId, body: wire.CreateGuild) -> InitialContents:
    """Build the initial contents that a request describes, with generated IDs in place of its placeholder IDs.

    A request without channels creates the default channels, and a request without roles only @everyone."""
    everyone_permissions, role_rows, role_ids_by_placeholder = _requested_roles(call, guild_id, body)
    if body.channels is UNSET or body.channels is None:
        return default_contents(call)._replace(everyone_permissions=everyone_permissions, roles=role_rows)
    channel_ids_by_placeholder: dict[int, int] = {
        channel.id: call.new_id(ChannelId) for channel in body.channels if channel.id is not UNSET
    }
    channels: list[NewChannel] = []
    overwrites: list[NewOverwrite] = []
    form = errors.FormErrors()
    for index, channel in enumerate(body.channels):
        channel_type = (
            channel.type if channel.type is not UNSET and channel.type is not None else ChannelType.GUILD_TEXT
        )
        if channel_type not in INITIAL_CHANNEL_TYPES:
            form.add(
                ("channels", index, "type"),
                *errors.choices([int(allowed_type) for allowed_type in INITIAL_CHANNEL_TYPES]),
            )
        parent_id = (
            None
            if channel.parent_id is UNSET or channel.parent_id is None
            else channel_ids_by_placeholder.get(channel.parent_id)
        )
        is_voice = channel_type == ChannelType.GUILD_VOICE
        channel_id = channel_ids_by_placeholder[channel.id] if channel.id is not UNSET else call.new_id(ChannelId)
        channels.append(
            NewChannel(
                id=channel_id,
                name=channel.name,
                type=int(channel_type),
                position=_value_or(channel.position, index),
                parent_id=parent_id,
                topic=_value_or(channel.topic, None),
                nsfw=int(_value_or(channel.nsfw, False)),
                rate_limit_per_user=_value_or(channel.rate_limit_per_user, 0),
                bitrate=_value_or(channel.bitrate, BITRATE_DEFAULT) if is_voice else None,
                user_limit=_value_or(channel.user_limit, 0) if is_voice else None,
            )
        )
        requested_overwrites = channel.permission_overwrites if channel.permission_overwrites is not UNSET else None
        for overwrite_index, overwrite in enumerate(requested_overwrites or ()):
            role_id = role_ids_by_placeholder.get(overwrite.id)
            if role_id is None:
                # The guild has no member except its owner yet, so only the roles of the request are valid targets.
                form.add(
                    ("channels", index, "permission_overwrites", overwrite_index, "id"),
                    *errors.choices(sorted(role_ids_by_placeholder)),
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
        everyone_permissions,
        role_rows,
        channels,
        overwrites,
        system_channel_id=channel_ids_by_placeholder.get(_value_or(body.system_channel_id, 0)),
        afk_channel_id=channel_ids_by_placeholder.get(_value_or(body.afk_channel_id, 0)),
    )


def _requested_roles(
    call: Call, guild_id: GuildId, body: wire.CreateGuild
) -> tuple[int, list[roles.RoleRow], dict[int, int]]:
    """Return the permissions of @everyone, the rows of the other roles, and the generated role IDs by placeholder ID."""
    requested_roles = body.roles if body.roles is not UNSET and body.roles is not None else []
    everyone_permissions: int = Permissions.DEFAULT_EVERYONE
    # Placeholder 0 means @everyone, as does the ID of the first role in the list.
    ids_by_placeholder: dict[int, int] = {0: guild_id}
    role_rows: list[roles.RoleRow] = []
    for position, role in enumerate(requested_roles):
        permissions = _value_or(role.permissions, everyone_permissions) & Permissions.ALL
        if position == 0:
            everyone_permissions = permissions
            role_id: int = guild_id
        else:
            role_id = call.new_id(RoleId)
            role_rows.append(
                roles.RoleRow(
                    role_id,
                    guild_id,
                    _value_or(role.name, DEFAULT_ROLE_NAME),
                    permissions,
                    position,
                    color=_value_or(role.color, 0),
                    hoist=int(_value_or(role.hoist, False)),
                    mentionable=int(_value_or(role.mentionable, False)),
                )
            )
        if role.id is not UNSET:
            ids_by_placeholder[role.id] = role_id
    return everyone_permissions, role_rows, ids_by_placeholder


T = TypeVar("T")


def _value_or(value: T | UnsetType | None, default: T) -> T:
    return default if value is UNSET or value is None else value
