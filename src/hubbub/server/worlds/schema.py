"""Reading and validation of world files, and error messages that name the invalid key.

`hubbub admin` uses the functions that parse names of flags, permissions and guild features, too.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import reduce
from importlib import resources
from operator import or_
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec, intents
from hubbub.protocol.control.worlds import World
from hubbub.protocol.enums import LOCALES, GuildFeature, PremiumType
from hubbub.protocol.flags import ApplicationFlags, LobbyFlags, LobbyMemberFlags, SystemChannelFlags
from hubbub.protocol.permissions import PERMISSIONS_BY_NAME
from hubbub.protocol.resources.commands import CreateCommand
from hubbub.protocol.resources.identity_providers import ProviderType
from hubbub.protocol.scopes import SCOPES
from hubbub.server.worlds.tables import (
    CHANNEL_TYPES,
    Application,
    Bot,
    Channel,
    Friendship,
    Guild,
    Lobby,
    LobbyMember,
    Member,
    Message,
    Overwrite,
    Role,
    Sku,
    User,
    WorldProvider,
)

EVERYONE: Final = "@everyone"
"""The name of the role that every member of a guild has."""

TEXT_CHANNEL_TYPES: Final = frozenset({"text", "announcement"})
"""The types of channels that can receive system messages, rules and community updates."""
FORUM_CHANNEL_TYPES: Final = frozenset({"forum", "media"})
FORUM_KEYS: Final = (
    "available_tags",
    "default_reaction_emoji",
    "default_sort_order",
    "default_forum_layout",
    "default_tag_setting",
)
"""Keys that only forum and media channels can have."""
MESSAGE_CHANNEL_TYPES: Final = frozenset({"text", "announcement", "voice", "stage"})
"""The types of channels that can have messages without a thread."""

PRIVILEGED_INTENT_FLAGS: Final[Mapping[str, int]] = {
    "GUILD_PRESENCES": ApplicationFlags.GATEWAY_PRESENCE_LIMITED,
    "GUILD_MEMBERS": ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED,
    "MESSAGE_CONTENT": ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED,
}
"""The privileged intents, and the application flag that grants each."""

APPLICATION_FLAGS: Final[Mapping[str, int]] = {
    name: value
    for name, value in vars(ApplicationFlags).items()
    if name.isupper() and isinstance(value, int) and value.bit_count() == 1
}
SYSTEM_CHANNEL_FLAGS: Final[Mapping[str, int]] = {
    name: value for name, value in vars(SystemChannelFlags).items() if name.startswith("SUPPRESS_")
}
PREMIUM_TYPES: Final[Mapping[str, PremiumType]] = {tier.name.lower(): tier for tier in PremiumType}
"""Premium types by their name in lower case."""

LOBBY_FLAGS: Final[Mapping[str, int]] = {
    "REQUIRE_APPLICATION_AUTHORIZATION": LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION
}
LOBBY_MEMBER_FLAGS: Final[Mapping[str, int]] = {"CAN_LINK_LOBBY": LobbyMemberFlags.CAN_LINK_LOBBY}

NAME_LENGTH_MAX: Final = 100
"""Maximum length of the name of a table, which is the name of an object."""
LISTED_NAMES_MAX: Final = 12
"""Maximum number of possible names that an error message lists; a longer list is left out."""


class WorldError(Exception):
    """A world that cannot be built: the path of the key in the file, and the problem."""

    def __init__(self, path: tuple[str, ...], problem: str) -> None:
        super().__init__(f"{'.'.join(path) or 'world'}: {problem}")
        self.path = path
        self.problem = problem


def demo_world() -> World:
    """Return the world that `hubbub dev` loads by default."""
    return read_text(resources.files("hubbub.server.worlds").joinpath("demo.toml").read_text("utf-8"))


def read_file(path: str | Path) -> World:
    """Read a world from a TOML file. Raise WorldError if it cannot be read or is invalid."""
    try:
        text = Path(path).read_text("utf-8")
    except OSError as error:
        raise WorldError((), f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise WorldError((), f"{path} is not UTF-8 text") from None
    return read_text(text)


def read_text(text: str) -> World:
    """Read a world from TOML text. Raise WorldError if it is invalid."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorldError((), f"is not valid TOML: {error}") from None
    return read_mapping(content)


def read_mapping(content: Mapping[str, Any]) -> World:
    """Read a world from a mapping and check every reference in it. Raise WorldError if it is invalid."""
    world = _convert(content, World, ())
    world.users = _convert_table(world.users, User, ("users",))
    for name, user in world.users.items():
        if user.verified and user.email is None:
            raise WorldError(("users", name, "verified"), "a user without an email address cannot be verified")
    world.applications = _convert_table(world.applications, Application, ("applications",))
    for name in world.applications:
        if name in world.users:
            raise WorldError(
                ("applications", name), "a user has the same name; usernames and application names must differ"
            )
    for name, application in world.applications.items():
        _check_application(world, application, ("applications", name))
    if world.friendships is not UNSET:
        world.friendships = _read_friendships(world)
    if world.skus is not UNSET:
        world.skus = _convert_table(world.skus, Sku, ("skus",))
        for name, sku in world.skus.items():
            _require_known(sku.application, world.applications, ("skus", name, "application"), "application")
    world.guilds = _convert_table(world.guilds, Guild, ("guilds",))
    for name, guild in world.guilds.items():
        _check_guild(world, guild, ("guilds", name))
    if world.lobbies is not UNSET:
        world.lobbies = _convert_table(world.lobbies, Lobby, ("lobbies",))
        for name, lobby in world.lobbies.items():
            _check_lobby(world, lobby, ("lobbies", name))
    return world


def _read_friendships(world: World) -> list[Friendship]:
    if not isinstance(world.friendships, list):
        raise WorldError(("friendships",), "expected a list of tables: [[friendships]]")
    friendships = []
    for index, friendship_table in enumerate(world.friendships):
        path = ("friendships", str(index))
        friendship = _convert(friendship_table, Friendship, path)
        for name in friendship.between:
            _require_known(name, world.users, (*path, "between"), "user")
        if len(set(friendship.between)) < 2:
            raise WorldError((*path, "between"), "a user cannot be their own friend")
        friendships.append(friendship)
    return friendships


def parse_flags(names: Iterable[str], flags_by_name: Mapping[str, int], path: tuple[str, ...], noun: str) -> int:
    """Combine the flags with these names. Raise WorldError for an unknown name.

    `flags_by_name` are the possible flags by name, `path` is the key in the file, and `noun` is the noun for error messages.
    """
    return reduce(or_, (flags_by_name[_require_known(name, flags_by_name, path, noun)] for name in names), 0)


def parse_permissions(names: Iterable[str], path: tuple[str, ...]) -> int:
    """Combine the permission bits with these names. Raise WorldError for an unknown name."""
    return parse_flags(names, PERMISSIONS_BY_NAME, path, "permission")


def parse_feature(name: str, path: tuple[str, ...]) -> str:
    """Return the name of a guild feature. Raise WorldError for an unknown name."""
    return _require_known(name, [str(feature) for feature in GuildFeature], path, "guild feature")


def _check_application(world: World, application: Application, path: tuple[str, ...]) -> None:
    """Check an application, and replace its tables of providers and commands by their types."""
    for scope in application.scopes:
        _require_known(scope, [str(scope_name) for scope_name in SCOPES], (*path, "scopes"), "scope")
    if application.parent is not None:
        parent = world.applications[
            _require_known(application.parent, world.applications, (*path, "parent"), "application")
        ]
        if parent is application or parent.parent is not None:
            raise WorldError(
                (*path, "parent"), f'"{application.parent}" is a game of a publisher and cannot be a publisher'
            )
    application.providers = _convert_table(application.providers, WorldProvider, (*path, "providers"))
    for name, provider in application.providers.items():
        provider_path = (*path, "providers", name)
        _require_known(name, get_args(ProviderType), provider_path, "provider")
        if (provider.issuer is None) is (name == "OIDC"):
            raise WorldError((*provider_path, "issuer"), "OIDC needs an issuer; other providers must not have one")
    if application.owner is not None:
        _require_known(application.owner, world.users, (*path, "owner"), "user")
    elif not world.users:
        raise WorldError((*path, "owner"), "an application needs an owner, but the world has no users")
    for intent in application.intents:
        if intent in intents.INTENTS_BY_NAME and intent not in PRIVILEGED_INTENT_FLAGS:
            raise WorldError((*path, "intents"), f"{intent} is not privileged; every bot can use it")
    parse_flags(application.intents, PRIVILEGED_INTENT_FLAGS, (*path, "intents"), "privileged intent")
    parse_flags(application.flags, APPLICATION_FLAGS, (*path, "flags"), "application flag")
    if application.commands is not UNSET:
        application.commands = _read_commands(application.commands, (*path, "commands"))


def _check_guild(world: World, guild: Guild, path: tuple[str, ...]) -> None:
    """Check a guild, and replace its tables of roles, members, bots and channels by their types."""
    _require_known(guild.owner, world.users, (*path, "owner"), "user")
    if guild.everyone is not None:
        parse_permissions(guild.everyone, (*path, "everyone"))
    guild.roles = _convert_table(guild.roles, Role, (*path, "roles"))
    if EVERYONE in guild.roles:
        raise WorldError(
            (*path, "roles", EVERYONE),
            f"every guild has this role; set its permissions with `everyone = [...]` in {path[-1]}",
        )
    for name, role in guild.roles.items():
        parse_permissions(role.permissions, (*path, "roles", name, "permissions"))
    guild.members = _convert_table(guild.members, Member, (*path, "members"))
    for name, member in guild.members.items():
        _require_known(name, world.users, (*path, "members", name), "user")
        if name == guild.owner and member.nick is not None:
            raise WorldError(
                (*path, "members", name, "nick"), "the owner is already a member; only roles can be set here"
            )
        for role_name in member.roles:
            _require_known(role_name, guild.roles, (*path, "members", name, "roles"), "role")
    guild.bots = _convert_table(guild.bots, Bot, (*path, "bots"))
    for name, bot in guild.bots.items():
        bot_names = [
            application_name for application_name, application in world.applications.items() if application.bot
        ]
        _require_known(name, bot_names, (*path, "bots", name), "application with a bot")
        parse_permissions(bot.permissions or (), (*path, "bots", name, "permissions"))
        for role_name in bot.roles:
            _require_known(role_name, guild.roles, (*path, "bots", name, "roles"), "role")
        if bot.commands is not UNSET:
            bot.commands = _read_commands(bot.commands, (*path, "bots", name, "commands"))
    guild.channels = _convert_table(guild.channels, Channel, (*path, "channels"))
    for key in ("system_channel", "rules_channel", "public_updates_channel"):
        channel_name = getattr(guild, key)
        if channel_name is None:
            continue
        channel = guild.channels[_require_known(channel_name, guild.channels, (*path, key), "channel")]
        if channel.type not in TEXT_CHANNEL_TYPES:
            raise WorldError(
                (*path, key), f'"{channel_name}" is a {channel.type} channel, not a text or announcement channel'
            )
    if guild.afk_channel is not UNSET:
        afk_channel = guild.channels[
            _require_known(guild.afk_channel, guild.channels, (*path, "afk_channel"), "channel")
        ]
        if afk_channel.type != "voice":
            raise WorldError(
                (*path, "afk_channel"), f'"{guild.afk_channel}" is a {afk_channel.type} channel, not a voice channel'
            )
    if guild.preferred_locale is not UNSET:
        _require_known(guild.preferred_locale, sorted(LOCALES), (*path, "preferred_locale"), "locale")
    parse_flags(
        guild.system_channel_flags or (), SYSTEM_CHANNEL_FLAGS, (*path, "system_channel_flags"), "system channel flag"
    )
    if GuildFeature.COMMUNITY in guild.features and default_community_channel(guild) is None:
        raise WorldError((*path, "features"), "a guild with COMMUNITY needs a text or announcement channel")
    for name, channel in guild.channels.items():
        _check_channel(world, guild, channel, (*path, "channels", name))


def default_community_channel(guild: Guild) -> str | None:
    """Return the channel for rules and community updates that the file does not choose, or None if there is none.

    It is the system channel, or else the first text or announcement channel."""
    if guild.system_channel is not None:
        return guild.system_channel
    return next((name for name, channel in guild.channels.items() if channel.type in TEXT_CHANNEL_TYPES), None)


def _check_channel(world: World, guild: Guild, channel: Channel, path: tuple[str, ...]) -> None:
    """Check a channel, and replace its tables of messages and overwrites by their types."""
    if channel.parent is not None:
        if channel.type == "category":
            raise WorldError((*path, "parent"), "a category cannot be inside another category")
        parent = guild.channels[_require_known(channel.parent, guild.channels, (*path, "parent"), "channel")]
        if parent.type != "category":
            raise WorldError((*path, "parent"), f'"{channel.parent}" is a {parent.type} channel, not a category')
    if channel.type not in FORUM_CHANNEL_TYPES:
        for key in FORUM_KEYS:
            if getattr(channel, key) is not UNSET:
                raise WorldError(
                    (*path, key), f"only forum and media channels have this key, not a {channel.type} channel"
                )
    if channel.messages is not UNSET:
        channel.messages = _read_messages(guild, channel, (*path, "messages"))
    if channel.overwrites is UNSET:
        return
    channel.overwrites = _convert_table(channel.overwrites, Overwrite, (*path, "overwrites"))
    for target, overwrite in channel.overwrites.items():
        overwrite_path = (*path, "overwrites", target)
        users_and_bots = [*world.users, *world.applications]
        if target in guild.roles and target in users_and_bots:
            raise WorldError(overwrite_path, f'"{target}" is both a role and a user; rename one of them')
        _require_known(target, [EVERYONE, *guild.roles, *users_and_bots], overwrite_path, "role or user")
        parse_permissions(overwrite.allow, (*overwrite_path, "allow"))
        parse_permissions(overwrite.deny, (*overwrite_path, "deny"))


def _read_commands(tables: Any, path: tuple[str, ...]) -> list[CreateCommand]:
    """Read commands. The platform checks the rest of their rules when the world is built."""
    if not isinstance(tables, list):
        raise WorldError(path, "expected a list of tables")
    commands: list[CreateCommand] = []
    field_names = [field.name for field in msgspec.structs.fields(CreateCommand)]
    for index, table in enumerate(tables):
        command_path = (*path, str(index))
        for key in table if isinstance(table, dict) else ():
            if key not in field_names:
                raise WorldError((*command_path, key), _suggest("no such key", key, field_names))
        try:
            command = codec.decode(codec.encode(table), CreateCommand)
        except (msgspec.ValidationError, TypeError) as error:
            raise WorldError(command_path, str(error).replace("`", "")) from None
        if any((command.name, command.type) == (other_command.name, other_command.type) for other_command in commands):
            raise WorldError((*command_path, "name"), f'"{command.name}" is already a command of this type')
        commands.append(command)
    return commands


def _read_messages(guild: Guild, channel: Channel, path: tuple[str, ...]) -> list[Message]:
    if not isinstance(channel.messages, list):
        raise WorldError(path, "expected a list of tables")
    if channel.messages and channel.type not in MESSAGE_CHANNEL_TYPES:
        raise WorldError(path, f"a {channel.type} channel of a world has no messages")
    messages = []
    for index, message_table in enumerate(channel.messages):
        message = _convert(message_table, Message, (*path, str(index)))
        member_names = [guild.owner, *guild.members, *guild.bots]
        _require_known(message.author, member_names, (*path, str(index), "author"), "member of the guild")
        if message.at is not None and message.at.tzinfo is None:
            raise WorldError((*path, str(index), "at"), "a time needs a time zone, such as 2026-01-01T12:00:00Z")
        messages.append(message)
    return messages


def _check_lobby(world: World, lobby: Lobby, path: tuple[str, ...]) -> None:
    """Check a lobby, and replace its table of members by their type."""
    _require_known(lobby.application, world.applications, (*path, "application"), "application")
    parse_flags(lobby.flags, LOBBY_FLAGS, (*path, "flags"), "lobby flag")
    lobby.members = _convert_table(lobby.members, LobbyMember, (*path, "members"))
    for name, member in lobby.members.items():
        _require_known(name, world.users, (*path, "members", name), "user")
        parse_flags(member.flags, LOBBY_MEMBER_FLAGS, (*path, "members", name, "flags"), "flag of lobby members")
    if (lobby.guild is None) is not (lobby.channel is None):
        raise WorldError((*path, "channel"), "a linked channel needs both `guild` and `channel`")
    if lobby.guild is None or lobby.channel is None:
        return
    guild = world.guilds[_require_known(lobby.guild, world.guilds, (*path, "guild"), "guild")]
    _require_known(lobby.channel, guild.channels, (*path, "channel"), "channel")


TableT = TypeVar("TableT", bound=msgspec.Struct)


def _convert_table(table: Mapping[str, Any], table_type: type[TableT], path: tuple[str, ...]) -> dict[str, TableT]:
    """Convert the values of a table, which are tables too, to a type."""
    converted_tables: dict[str, TableT] = {}
    for name, inner_table in table.items():
        if not 1 <= len(name) <= NAME_LENGTH_MAX:
            raise WorldError((*path, name[:NAME_LENGTH_MAX]), f"a name must have 1 to {NAME_LENGTH_MAX} characters")
        converted_tables[name] = _convert(inner_table, table_type, (*path, name))
    return converted_tables


_ERROR_PATH_PATTERN: Final = re.compile(r" - at `(?:key in )?\$([^`]*)`$")
_UNKNOWN_FIELD_PATTERN: Final = re.compile(r"Object contains unknown field `(.*)`")


def _convert(table: Any, table_type: type[TableT], path: tuple[str, ...]) -> TableT:
    """Convert a table to a type. Raise WorldError with the path of the invalid key."""
    if isinstance(table, table_type):
        return table
    try:
        return msgspec.convert(table, table_type, strict=True)
    except msgspec.ValidationError as error:
        text = str(error)
        path_match = _ERROR_PATH_PATTERN.search(text)
        inner_path = tuple(re.findall(r"[^.\[\]]+", path_match[1])) if path_match else ()
        problem = _ERROR_PATH_PATTERN.sub("", text)
        unknown_field_match = _UNKNOWN_FIELD_PATTERN.search(problem)
        if unknown_field_match is not None:
            field_names = [field.name for field in msgspec.structs.fields(table_type)]
            raise WorldError(
                (*path, *inner_path, unknown_field_match[1]),
                _suggest("no such key", unknown_field_match[1], field_names),
            ) from None
        if problem.startswith("Invalid enum value") and inner_path == ("type",):
            problem += f"; choose one of: {', '.join(CHANNEL_TYPES)}"
        raise WorldError((*path, *inner_path), problem[0].lower() + problem[1:].replace("`", "")) from None


def _require_known(name: str, known_names: Iterable[str], path: tuple[str, ...], noun: str) -> str:
    if name not in known_names:
        article = "an" if noun[0] in "ai" else "a"
        raise WorldError(path, _suggest(f'"{name}" is not {article} {noun}', name, list(known_names)))
    return name


def _suggest(problem: str, name: str, known_names: list[str]) -> str:
    """Return the problem with the most similar known name, or with all known names if they are few."""
    similar_names = difflib.get_close_matches(name, known_names, n=1, cutoff=0.6)
    if similar_names:
        return f"{problem}; did you mean {similar_names[0]}?"
    return (
        f"{problem}; choose one of: {', '.join(known_names)}" if 0 < len(known_names) <= LISTED_NAMES_MAX else problem
    )
