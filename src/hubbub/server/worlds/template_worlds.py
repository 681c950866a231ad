"""World files from guild templates, so that a rehearsal starts with the roles and channels of an existing guild."""

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.permissions import permission_names
from hubbub.protocol.resources.templates import TemplateChannel, TemplateGuild
from hubbub.server.worlds.schema import CHANNEL_TYPES, EVERYONE, WorldError, read_mapping

BITRATE_DEFAULT: Final = 64_000
PEOPLE: Final = ("alice", "bob", "carol")
"""Users of the world: the owner, and two members without roles."""

_TYPE_NAMES: Final = {int(kind): name for name, kind in CHANNEL_TYPES.items()}


class _PublicTemplate(msgspec.Struct):
    """A template as the API returns it."""

    serialized_source_guild: TemplateGuild


def read_template(data: bytes) -> TemplateGuild:
    """Decode a template, or only its guild. Raise WorldError if it is invalid."""
    try:
        if b'"serialized_source_guild"' in data:
            return codec.decode(data, _PublicTemplate).serialized_source_guild
        return codec.decode(data, TemplateGuild)
    except msgspec.MsgspecError as error:
        raise WorldError((), f"this is not a guild template: {error}") from error


def build_world_text(template: TemplateGuild, application: str) -> str:
    """Return a world file with the guild of a template, three users, and an application whose bot is a member.

    Raise WorldError if the platform would reject the file."""
    content = {
        "users": {name: {} for name in PEOPLE},
        "applications": {application: {"intents": ["MESSAGE_CONTENT", "GUILD_MEMBERS"]}},
        "guilds": {template.name: _build_guild(template, application)},
    }
    read_mapping(json.loads(json.dumps(content)))  # Raises WorldError if the platform would reject the file.
    return _write_toml(content)


def _build_guild(template: TemplateGuild, application: str) -> dict[str, Any]:
    role_names = _unique({role.id: role.name for role in template.roles if role.id})
    channel_names = _unique({channel.id or 0: channel.name or "channel" for channel in template.channels})
    everyone = next((role for role in template.roles if role.id == 0), None)
    guild: dict[str, Any] = {"owner": PEOPLE[0]}
    if template.description:
        guild["description"] = template.description
    if everyone is not None:
        guild["everyone"] = permission_names(int(everyone.permissions))
    system_channel = channel_names.get(int(template.system_channel_id)) if template.system_channel_id else None
    if system_channel is not None:
        guild["system_channel"] = system_channel
    # Templates list roles from the lowest to the highest.
    guild["roles"] = {
        role_names[role.id]: {
            "permissions": permission_names(int(role.permissions)),
            "color": role.color,
            "hoist": role.hoist,
            "mentionable": role.mentionable,
        }
        for role in reversed(template.roles)
        if role.id
    }
    guild["channels"] = {
        channel_names[channel.id or 0]: _build_channel(channel, role_names, channel_names)
        for channel in template.channels
        if channel.type in _TYPE_NAMES
    }
    guild["members"] = {name: {} for name in PEOPLE[1:]}
    guild["bots"] = {application: {"permissions": ["ADMINISTRATOR"]}}
    return guild


def _build_channel(
    channel: TemplateChannel, role_names: Mapping[int, str], channel_names: Mapping[int, str]
) -> dict[str, Any]:
    built: dict[str, Any] = {"type": _TYPE_NAMES[channel.type]}
    if channel.topic:
        built["topic"] = channel.topic
    if channel.parent_id is not None and int(channel.parent_id) in channel_names:
        built["parent"] = channel_names[int(channel.parent_id)]
    if channel.nsfw:
        built["nsfw"] = True
    if channel.rate_limit_per_user:
        built["rate_limit_per_user"] = channel.rate_limit_per_user
    if built["type"] in ("voice", "stage"):
        if channel.user_limit:
            built["user_limit"] = channel.user_limit
        if channel.bitrate != BITRATE_DEFAULT:
            built["bitrate"] = channel.bitrate
    overwrites = {
        role_names.get(int(overwrite.id), EVERYONE): {
            "allow": permission_names(int(overwrite.allow)),
            "deny": permission_names(int(overwrite.deny)),
        }
        for overwrite in channel.permission_overwrites
        if int(overwrite.id) in role_names or int(overwrite.id) == 0
    }
    if overwrites:
        built["overwrites"] = overwrites
    return built


def _unique(names: Mapping[int, str]) -> dict[int, str]:
    """Return names by number, in which equal names get a suffix: tables of a world file have different names."""
    used: set[str] = set()
    unique = {}
    for number, name in names.items():
        candidate, suffix = name, 2
        while candidate in used:
            candidate, suffix = f"{name}-{suffix}", suffix + 1
        used.add(candidate)
        unique[number] = candidate
    return unique


def _write_toml(content: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Return a mapping as TOML: values first, then tables with their full names."""
    tables = {key: value for key, value in content.items() if isinstance(value, dict) and not _is_inline(path, key)}
    values = {key: value for key, value in content.items() if key not in tables}
    lines = []
    if path and (values or not tables):
        lines.append(f"[{'.'.join(_key(part) for part in path)}]")
    lines += [f"{_key(key)} = {_value(value)}" for key, value in values.items()]
    text = "\n".join(lines) + "\n\n" if lines else ""
    return text + "".join(_write_toml(table, (*path, key)) for key, table in tables.items())


def _is_inline(path: tuple[str, ...], key: str) -> bool:
    """Return whether a table is written in one line: overwrites, members and bots."""
    return key == "overwrites" or (len(path) == 2 and path[0] == "guilds" and key in ("members", "bots"))


def _key(text: str) -> str:
    return text if text.isascii() and text.replace("_", "").replace("-", "").isalnum() else _value(text)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }" if value else "{}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    # A JSON string is a TOML string, except for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
