"""World files from guild templates, and commands of applications for them, so that a rehearsal starts from an existing guild."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.enums import LOCALES
from hubbub.protocol.permissions import permission_names
from hubbub.protocol.resources.templates import TemplateChannel, TemplateGuild
from hubbub.server.worlds.schema import EVERYONE, SYSTEM_CHANNEL_FLAGS, WorldError, read_mapping
from hubbub.server.worlds.tables import CHANNEL_TYPES

BITRATE_DEFAULT: Final = 64_000
PEOPLE: Final = ("alice", "bob", "carol")
"""Users of the world: the owner, and two members without roles."""

_GUILD_SETTINGS: Final = (
    "verification_level",
    "default_message_notifications",
    "explicit_content_filter",
    "afk_timeout",
)
"""Settings of a guild that have the same name and value in a template and in a world file."""

_THREAD_SETTINGS: Final = ("default_auto_archive_duration", "default_thread_rate_limit_per_user")
"""Settings of a channel with threads that have the same name and value in a template and in a world file."""

_TYPE_NAMES: Final = {int(kind): name for name, kind in CHANNEL_TYPES.items()}


class _PublicTemplate(msgspec.Struct):
    """A template as the API returns it."""

    serialized_source_guild: TemplateGuild


def read_template(template_json: bytes) -> TemplateGuild:
    """Decode a template, or only its guild. Raise WorldError if it is invalid."""
    try:
        if b'"serialized_source_guild"' in template_json:
            return codec.decode(template_json, _PublicTemplate).serialized_source_guild
        return codec.decode(template_json, TemplateGuild)
    except msgspec.MsgspecError as error:
        raise WorldError((), f"this is not a guild template: {error}") from error


def build_world_text(template: TemplateGuild, application: str) -> str:
    """Return a world file with the guild of a template, three users, and an application whose bot is a member.

    Raise WorldError if the platform would reject the file."""
    # Members without a verified address cannot send messages in a guild with a verification level.
    has_level = template.verification_level > 0
    content = {
        "users": {name: {"email": f"{name}@example.com", "verified": True} if has_level else {} for name in PEOPLE},
        "applications": {application: {"intents": ["MESSAGE_CONTENT", "GUILD_MEMBERS"]}},
        "guilds": {template.name: _build_guild(template, application)},
    }
    read_mapping(json.loads(json.dumps(content)))  # Raises WorldError if the platform would reject the file.
    return _write_toml(content)


def add_commands(text: str, path: tuple[str, ...], commands: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a world file with commands added to the application or bot at `path`, at the end of the file."""
    header = f"[[{'.'.join(map(_toml_key, (*path, 'commands')))}]]"
    tables = [
        "\n".join([header, *(f"{_toml_key(key)} = {_toml_value(value)}" for key, value in command.items())])
        for command in commands
    ]
    return "\n\n".join([text.rstrip("\n"), *tables]) + "\n"


def _build_guild(template: TemplateGuild, application: str) -> dict[str, Any]:
    role_names = _make_names_unique({role.id: role.name for role in template.roles if role.id})
    channel_names = _make_names_unique({channel.id or 0: channel.name or "channel" for channel in template.channels})
    everyone_role = next((role for role in template.roles if role.id == 0), None)
    guild_table: dict[str, Any] = {"owner": PEOPLE[0]}
    if template.description:
        guild_table["description"] = template.description
    if everyone_role is not None:
        guild_table["everyone"] = permission_names(int(everyone_role.permissions))
    guild_table |= {name: getattr(template, name) for name in _GUILD_SETTINGS if getattr(template, name)}
    if template.preferred_locale in LOCALES:
        guild_table["preferred_locale"] = template.preferred_locale
    for key, number in (("system_channel", template.system_channel_id), ("afk_channel", template.afk_channel_id)):
        if number and int(number) in channel_names:
            guild_table[key] = channel_names[int(number)]
    flags = [name for name, flag in SYSTEM_CHANNEL_FLAGS.items() if template.system_channel_flags & flag]
    if flags:
        guild_table["system_channel_flags"] = flags
    # Templates list roles from the lowest to the highest.
    guild_table["roles"] = {
        role_names[role.id]: {
            "permissions": permission_names(int(role.permissions)),
            "color": role.color,
            "hoist": role.hoist,
            "mentionable": role.mentionable,
        }
        for role in reversed(template.roles)
        if role.id
    }
    guild_table["channels"] = {
        channel_names[channel.id or 0]: _build_channel(channel, role_names, channel_names)
        for channel in template.channels
        if channel.type in _TYPE_NAMES
    }
    guild_table["members"] = {name: {} for name in PEOPLE[1:]}
    guild_table["bots"] = {application: {"permissions": ["ADMINISTRATOR"]}}
    return guild_table


def _build_channel(
    channel: TemplateChannel, role_names: Mapping[int, str], channel_names: Mapping[int, str]
) -> dict[str, Any]:
    channel_table: dict[str, Any] = {"type": _TYPE_NAMES[channel.type]}
    if channel.topic:
        channel_table["topic"] = channel.topic
    if channel.parent_id is not None and int(channel.parent_id) in channel_names:
        channel_table["parent"] = channel_names[int(channel.parent_id)]
    if channel.nsfw:
        channel_table["nsfw"] = True
    if channel.rate_limit_per_user:
        channel_table["rate_limit_per_user"] = channel.rate_limit_per_user
    if channel_table["type"] in ("voice", "stage"):
        if channel.user_limit:
            channel_table["user_limit"] = channel.user_limit
        if channel.bitrate != BITRATE_DEFAULT:
            channel_table["bitrate"] = channel.bitrate
    names: tuple[str, ...] = ()
    if channel_table["type"] not in ("category", "voice", "stage"):
        names = _THREAD_SETTINGS
    if channel_table["type"] == "forum":
        channel_table |= _build_forum_settings(channel)
        names += ("default_sort_order", "default_forum_layout", "default_tag_setting")
    channel_table |= {name: value for name in names if (value := getattr(channel, name)) not in (UNSET, None)}
    overwrites = {
        role_names.get(int(overwrite.id), EVERYONE): {
            "allow": permission_names(int(overwrite.allow)),
            "deny": permission_names(int(overwrite.deny)),
        }
        for overwrite in channel.permission_overwrites
        if int(overwrite.id) in role_names or int(overwrite.id) == 0
    }
    if overwrites:
        channel_table["overwrites"] = overwrites
    return channel_table


def _build_forum_settings(channel: TemplateChannel) -> dict[str, Any]:
    """Return the tags and the default reaction of a forum."""
    settings: dict[str, Any] = {}
    if channel.available_tags:
        settings["available_tags"] = [
            {"name": tag.name}
            | ({"emoji_name": tag.emoji_name} if tag.emoji_name else {})
            | ({"moderated": True} if tag.moderated else {})
            for tag in channel.available_tags
        ]
    reaction = channel.default_reaction_emoji
    if reaction and reaction.emoji_name and reaction.emoji_id is None:
        settings["default_reaction_emoji"] = reaction.emoji_name
    return settings


def _make_names_unique(names: Mapping[int, str]) -> dict[int, str]:
    """Return names by object ID, in which equal names get a suffix: tables of a world file have different names."""
    used_names: set[str] = set()
    unique_names = {}
    for object_id, name in names.items():
        candidate, suffix = name, 2
        while candidate in used_names:
            candidate, suffix = f"{name}-{suffix}", suffix + 1
        used_names.add(candidate)
        unique_names[object_id] = candidate
    return unique_names


def _write_toml(content: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """Return a mapping as TOML: values first, then tables with their full names."""
    tables = {key: value for key, value in content.items() if isinstance(value, dict) and not _is_inline(path, key)}
    values = {key: value for key, value in content.items() if key not in tables}
    lines = []
    if path and (values or not tables):
        lines.append(f"[{'.'.join(_toml_key(path_part) for path_part in path)}]")
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in values.items()]
    text = "\n".join(lines) + "\n\n" if lines else ""
    return text + "".join(_write_toml(table, (*path, key)) for key, table in tables.items())


def _is_inline(path: tuple[str, ...], key: str) -> bool:
    """Return whether a table is written in one line: overwrites and members. Commands can be added to bots later."""
    return key == "overwrites" or (len(path) == 2 and path[0] == "guilds" and key == "members")


def _toml_key(text: str) -> str:
    return text if text.isascii() and text.replace("_", "").replace("-", "").isalnum() else _toml_value(text)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{_toml_key(key)} = {_toml_value(inner_value)}" for key, inner_value in value.items())
            + " }"
            if value
            else "{}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    # A JSON string is a TOML string, except for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
