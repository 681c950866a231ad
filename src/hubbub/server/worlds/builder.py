"""Creation of the contents of a world file in one transaction, with the same actions as the API.

IDs, tokens and keys are derived from the seed and the name of each object (decisions/0015). The same file and seed
therefore give the same values, and a channel added to the file does not change those of other objects.
"""

import hashlib
import hmac
import itertools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.control.worlds import World
from hubbub.protocol.enums import CommandType, GuildFeature, OverwriteType, Scope, SkuType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags, SkuFlags
from hubbub.protocol.ids import (
    ApplicationId,
    ChannelId,
    CommandId,
    GuildId,
    LobbyId,
    MessageId,
    RoleId,
    SkuId,
    Snowflake,
    TagId,
    UserId,
)
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.activity_proxies import UrlMapping
from hubbub.protocol.resources.channels import CreateGuildChannel
from hubbub.protocol.resources.commands import CreateCommand
from hubbub.protocol.resources.forum_settings import DefaultReactionRequest, ForumTagRequest
from hubbub.protocol.resources.identity_providers import ProviderClient
from hubbub.protocol.resources.lobbies import CreateLobby, LobbyMemberRequest
from hubbub.protocol.resources.messages import CreateMessage
from hubbub.protocol.resources.roles import RoleTags
from hubbub.protocol.resources.skus import CreateSku
from hubbub.server.core import auth, meta
from hubbub.server.core.auth import Entropy
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Tx
from hubbub.server.identity import accounts, applications, identities, identity_providers, oauth2, relationships, users
from hubbub.server.places import activity_proxies, channels, guilds, members, roles
from hubbub.server.places.standing import access
from hubbub.server.play import commands, lobbies, skus
from hubbub.server.talk import messages
from hubbub.server.worlds import schema, tables
from hubbub.server.worlds.schema import WorldError

if TYPE_CHECKING:
    from hubbub.server.app import App

WORLD_CREATED_MS: Final = 1_704_067_200_000
"""2024-01-01T00:00:00Z, the creation time of all worlds, so that IDs and tokens, which contain a time, never change."""

MESSAGE_INTERVAL_MS: Final = 60_000
"""Default time between two messages of a channel, in milliseconds."""

_GUILD_SETTINGS: Final = (
    "verification_level",
    "default_message_notifications",
    "explicit_content_filter",
    "preferred_locale",
    "afk_timeout",
)
"""Settings of a guild that have the same name in the file and in its row."""

SnowflakeT = TypeVar("SnowflakeT", bound=Snowflake)

_CREATION_ORDER: Final[tuple[type[Snowflake], ...]] = (
    TagId,
    CommandId,
    LobbyId,
    SkuId,
    UserId,
    ApplicationId,
    GuildId,
    RoleId,
    ChannelId,
)
"""The order of creation, one day per type. Add new types at the start, because the days are counted from the end."""


class BuiltUser(msgspec.Struct, kw_only=True):
    """A user with their credentials."""

    id: UserId
    token: str
    password: str


class BuiltBot(msgspec.Struct, kw_only=True):
    """A bot with its token."""

    id: UserId
    token: str


class BuiltApplication(msgspec.Struct, kw_only=True):
    """An application with its secrets."""

    id: ApplicationId
    client_secret: str
    public_key: str
    bot: BuiltBot | None


class BuiltGuild(msgspec.Struct, kw_only=True):
    """A guild with the IDs of its channels and roles, by name."""

    id: GuildId
    channels: dict[str, ChannelId] = {}
    roles: dict[str, RoleId] = {}


class BuiltLobby(msgspec.Struct, kw_only=True):
    """A lobby that the builder created, for the ready file."""

    id: LobbyId


class BuiltWorld(msgspec.Struct, kw_only=True):
    """The objects built from a world, as in the ready file."""

    users: dict[str, BuiltUser] = {}
    applications: dict[str, BuiltApplication] = {}
    guilds: dict[str, BuiltGuild] = {}
    lobbies: dict[str, BuiltLobby] = {}

    def merge(self, other_world: "BuiltWorld") -> "BuiltWorld":
        """Return the objects of both worlds; on equal names those of `other_world`."""
        return BuiltWorld(
            users=self.users | other_world.users,
            applications=self.applications | other_world.applications,
            guilds=self.guilds | other_world.guilds,
            lobbies=self.lobbies | other_world.lobbies,
        )


class Seed:
    """The source of a world's IDs and secrets."""

    def __init__(self, seed_number: int) -> None:
        self._key = hashlib.sha256(f"hubbub world {seed_number}".encode()).digest()

    def _derive_bytes(self, purpose: str, byte_count: int) -> bytes:
        """Return bytes that depend only on the seed and the purpose."""
        derived_bytes = b""
        while len(derived_bytes) < byte_count:
            derived_bytes += hmac.digest(self._key, f"{len(derived_bytes)} {purpose}".encode(), "sha256")
        return derived_bytes[:byte_count]

    def new_id(self, id_type: type[SnowflakeT], *names: str) -> SnowflakeT:
        """Return the ID of the object with these names: the names of the objects that contain it, then its own name."""
        derived_number = int.from_bytes(self._derive_bytes(f"id {id_type.__name__} {names!r}", 16), "big")
        time_bits, low_bits = divmod(derived_number, 1 << 22)
        created_ms = (
            WORLD_CREATED_MS - DAY_MS * (len(_CREATION_ORDER) - _CREATION_ORDER.index(id_type)) + time_bits % DAY_MS
        )
        return id_type(int(Snowflake.at(created_ms)) | low_bits)

    def new_message_id(self, at_ms: int, *names: str) -> MessageId:
        """Return the ID of a message that was sent at a time."""
        low_bits = int.from_bytes(self._derive_bytes(f"id MessageId {names!r}", 8), "big") % (1 << 22)
        return MessageId(int(Snowflake.at(at_ms)) | low_bits)

    def entropy(self, *names: str) -> Entropy:
        """Return a source of random bytes for the secrets of an object; each call of it returns other bytes."""
        call_numbers = itertools.count()
        return lambda byte_count: self._derive_bytes(f"secret {next(call_numbers)} {names!r}", byte_count)


async def load(app: "App", world: World, seed: int) -> BuiltWorld:
    """Build a world in a running platform. On a WorldError nothing is stored."""
    return await app.database.write(lambda tx: build(app.make_call(tx), world, seed))


async def load_initial(app: "App", world: World, seed: int) -> BuiltWorld:
    """Build the initial world, or return the objects of the same world if the store already contains it.

    Raise WorldError if the world is invalid or the store contains another one."""
    fingerprint = hashlib.sha256(codec.encode([seed, world])).hexdigest()

    def build_once(tx: Tx) -> BuiltWorld | None:
        stored_fingerprint = meta.find(tx, "world")
        if stored_fingerprint == fingerprint:
            return None
        if stored_fingerprint is not None:
            raise WorldError(
                (), "the store contains another world or seed; use the same world and seed, or an empty --data folder"
            )
        built_world = build(app.make_call(tx), world, seed)
        meta.insert(tx, "world", fingerprint)
        return built_world

    built_world = await app.database.write(build_once)
    if built_world is not None:
        return built_world
    # Secrets are only stored as hashes. Building the same world again in a scratch database reproduces them.
    scratch_database = SqliteDatabase(None)
    await scratch_database.start()
    try:
        return await scratch_database.write(lambda tx: build(app.make_call(tx), world, seed))
    finally:
        await scratch_database.close()


def build(call: Call, world: World, seed: int) -> BuiltWorld:
    """Build a world inside a call's transaction.

    The time of the call is set to WORLD_CREATED_MS, and back to the current time before commands and lobbies are built."""
    now_ms, call.now_ms = call.now_ms, WORLD_CREATED_MS
    return _Builder(call, world, Seed(seed), now_ms).build()


class _Builder:
    """Builds one world; `now_ms` is the current time in Unix milliseconds, which only commands and lobbies use."""

    def __init__(self, call: Call, world: World, seed: Seed, now_ms: int) -> None:
        self._call = call
        self._now_ms = now_ms
        self._world = world
        self._seed = seed
        self._built_world = BuiltWorld()

    def build(self) -> BuiltWorld:
        for name, user in self._world.users.items():
            self._run_step(("users", name), self._build_user, name, user)
        for name, application in self._world.applications.items():
            self._run_step(("applications", name), self._build_application, name, application)
        for name, application in self._world.applications.items():
            if application.parent is not None:
                self._link_publisher(name, application.parent)
        for name, sku in (self._world.skus or {}).items():
            self._run_step(("skus", name), self._build_sku, name, sku, keys_by_field={"flags": "sold_to"})
        for name, guild in self._world.guilds.items():
            self._run_step(("guilds", name), self._build_guild, name, guild)
        for friendship in self._world.friendships or ():
            user_id, friend_id = (self._built_world.users[name].id for name in friendship.between)
            relationships.befriend(self._call, user_id, friend_id)
        # Lobbies end after being idle, and commands may use features that are newer than the world, so both are created at
        # the current time.
        self._call.now_ms = self._now_ms
        for name, application in self._world.applications.items():
            self._build_commands(("applications", name), name, None, application.commands or ())
        for guild_name, guild in self._world.guilds.items():
            for name, bot in guild.bots.items():
                self._build_commands(("guilds", guild_name, "bots", name), name, guild_name, bot.commands or ())
        for name, lobby in (self._world.lobbies or {}).items():
            # Members are a table in the file, but a list in the API.
            keys_by_field = {"channel_id": "channel"} | {
                str(index): member for index, member in enumerate(lobby.members)
            }
            self._run_step(("lobbies", name), self._build_lobby, name, lobby, keys_by_field=keys_by_field)
        return self._built_world

    def _run_step(
        self,
        path: tuple[str, ...],
        step: Callable[..., None],
        *arguments: object,
        keys_by_field: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Run a step and raise its API errors as WorldError at `path`. `keys_by_field` has the key in the file of API fields."""
        try:
            step(*arguments)
        except ApiError as error:
            raise WorldError(path, error.describe(keys_by_field)) from error

    def _build_user(self, name: str, user: tables.User) -> None:
        call, entropy = self._call, self._seed.entropy("user", name)
        row = accounts.create_user(
            call,
            name,
            user_id=self._seed.new_id(UserId, name),
            email=user.email,
            is_email_confirmed=user.verified is True,
            global_name=user.global_name,
        )
        users.profiles.set_premium(call, row, schema.PREMIUM_TYPES[user.premium or "none"])
        token = auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids, entropy=entropy)
        password = user.password if user.password is not None else f"{name}-{entropy(6).hex()}"
        accounts.set_password(call, row.id, accounts.passwords.hash_password_weakly(password, salt=entropy(16)))
        self._built_world.users[name] = BuiltUser(id=row.id, token=token, password=password)

    def _build_application(self, name: str, application: tables.Application) -> None:
        path = ("applications", name)
        owner = self._built_world.users[application.owner or next(iter(self._built_world.users))]
        flags = schema.parse_flags(application.intents, schema.PRIVILEGED_INTENT_FLAGS, path, "intent")
        flags |= schema.parse_flags(application.flags, schema.APPLICATION_FLAGS, path, "flag")
        if application.url_map:
            flags |= ApplicationFlags.EMBEDDED
        created_application = applications.management.create(
            self._call,
            name,
            owner.id,
            application_id=self._seed.new_id(ApplicationId, name),
            with_bot=application.bot,
            flags=flags,
            redirect_uris=application.redirect_uris,
            entropy=self._seed.entropy("application", name),
        )
        if flags & ApplicationFlags.EMBEDDED:
            self._call.notify(applications.signals.ActivitiesToggled(created_application.row))
        url_map = [UrlMapping(prefix=prefix, target=target) for prefix, target in application.url_map.items()]
        activity_proxies.save_url_map(self._call, created_application.row.id, url_map)
        oauth2.approve_scopes(self._call, created_application.row.id, application.scopes)
        for provider_type, provider in application.providers.items():
            clients = [ProviderClient(id=client_id) for client_id in provider.clients]
            settings = identity_providers.ProviderSettings(clients=clients, oidc_issuer_url=provider.issuer)
            validation = identity_providers.IssuerValidation.choose(self._call.now_ms, allows_any_host=True)
            identity_providers.save_provider(
                self._call, created_application.row.id, provider_type, settings, validation
            )
        bot = None
        if created_application.row.bot_id is not None and created_application.bot_token is not None:
            bot = BuiltBot(id=created_application.row.bot_id, token=created_application.bot_token)
        self._built_world.applications[name] = BuiltApplication(
            id=created_application.row.id,
            client_secret=created_application.client_secret,
            public_key=created_application.row.verify_key,
            bot=bot,
        )

    def _link_publisher(self, name: str, parent_name: str) -> None:
        tx, built_applications = self._call.tx, self._built_world.applications
        child, parent = (
            applications.find(tx, built_applications[name].id),
            applications.find(tx, built_applications[parent_name].id),
        )
        assert child is not None
        assert parent is not None
        problem = identities.find_publisher_problem(self._call, child, parent)
        if problem is not None:
            raise WorldError(("applications", name, "parent"), problem)
        identities.join_family(self._call, child, parent)

    def _build_sku(self, name: str, sku: tables.Sku) -> None:
        sku_type, flags = SkuType[sku.type.upper()], 0
        if sku_type is SkuType.SUBSCRIPTION:
            flags = SkuFlags.GUILD_SUBSCRIPTION if sku.sold_to == "guilds" else SkuFlags.USER_SUBSCRIPTION
        skus.create(
            self._call,
            self._built_world.applications[sku.application].id,
            CreateSku(
                type=sku_type,
                name=name,
                description=sku.description,
                flags=flags,
                price=sku.price,
                currency=sku.currency,
                published=sku.published,
            ),
            sku_id=self._seed.new_id(SkuId, name),
            group_id=self._seed.new_id(SkuId, name, "group"),
        )

    def _build_guild(self, name: str, guild: tables.Guild) -> None:
        path = ("guilds", name)
        guild_id = self._seed.new_id(GuildId, name)
        if guilds.find(self._call.tx, guild_id) is not None:
            raise WorldError(path, "a guild with this name and seed already exists")
        built_guild = BuiltGuild(
            id=guild_id,
            channels={channel: self._seed.new_id(ChannelId, name, channel) for channel in guild.channels},
            roles={role: self._seed.new_id(RoleId, name, role) for role in guild.roles},
        )
        bot_role_ids = {
            bot: self._seed.new_id(RoleId, name, "bot", bot)
            for bot in guild.bots
            if guild.bots[bot].permissions is not None
        }
        everyone_permissions: int = Permissions.DEFAULT_EVERYONE
        if guild.everyone is not None:
            everyone_permissions = schema.parse_permissions(guild.everyone, (*path, "everyone"))
        default_channel = None
        if GuildFeature.COMMUNITY in guild.features:
            default_channel = schema.default_community_channel(guild)
        guilds.creation.create(
            self._call,
            owner_id=self._built_world.users[guild.owner].id,
            name=name,
            guild_id=guild_id,
            contents=guilds.creation.InitialContents(
                everyone_permissions,
                self._role_rows(guild, built_guild, bot_role_ids),
                channels=[],
                overwrites=[],
                system_channel_id=built_guild.channels.get(guild.system_channel or ""),
                afk_channel_id=built_guild.channels.get(guild.afk_channel or ""),
            ),
            features=guild.features,
            description=guild.description,
            premium_tier=guild.premium_tier or 0,
            rules_channel_id=built_guild.channels.get(guild.rules_channel or default_channel or ""),
            public_updates_channel_id=built_guild.channels.get(guild.public_updates_channel or default_channel or ""),
            system_channel_flags=schema.parse_flags(
                guild.system_channel_flags or (), schema.SYSTEM_CHANNEL_FLAGS, path, "system channel flag"
            ),
            **{name: value for name in _GUILD_SETTINGS if (value := getattr(guild, name)) is not UNSET},
        )
        # Channels inherit the overwrites of their category, so categories are created first.
        for channel_name, channel in sorted(guild.channels.items(), key=lambda item: item[1].type != "category"):
            self._run_step(
                (*path, "channels", channel_name),
                self._build_channel,
                guild,
                built_guild,
                channel_name,
                channel,
                keys_by_field={"parent_id": "parent"},
            )
        for username, member in guild.members.items():
            role_ids = [built_guild.roles[role] for role in member.roles]
            self._run_step(
                (*path, "members", username), self._build_member, guild, built_guild, username, member.nick, role_ids
            )
        for bot_name, bot in guild.bots.items():
            role_ids = [built_guild.roles[role] for role in bot.roles] + (
                [bot_role_ids[bot_name]] if bot_name in bot_role_ids else []
            )
            self._run_step(
                (*path, "bots", bot_name), self._build_member, guild, built_guild, bot_name, bot.nick, role_ids
            )
        for channel_name, channel in guild.channels.items():
            at_ms = WORLD_CREATED_MS
            for index, message in enumerate(channel.messages or ()):
                at_ms = at_ms + MESSAGE_INTERVAL_MS if message.at is None else codec.milliseconds(message.at)
                message_id = self._seed.new_message_id(at_ms, name, channel_name, str(index))
                message_path = (*path, "channels", channel_name, "messages", str(index))
                self._run_step(
                    message_path, self._build_message, built_guild.channels[channel_name], message_id, message
                )
        self._built_world.guilds[name] = built_guild

    def _role_rows(
        self, guild: tables.Guild, built_guild: BuiltGuild, bot_role_ids: dict[str, RoleId]
    ) -> list[roles.RoleRow]:
        """Return the roles of a guild from the lowest to the highest: those of bots, then those of the file."""
        rows = [
            roles.RoleRow(
                id=bot_role_ids[bot],
                guild_id=built_guild.id,
                name=bot,
                permissions=schema.parse_permissions(guild.bots[bot].permissions or (), ()),
                managed=1,
                tags=codec.encode(RoleTags(bot_id=self._get_user_id(bot))).decode(),
            )
            for bot in bot_role_ids
        ]
        # The file lists the highest role first.
        for name, role in reversed(guild.roles.items()):
            rows.append(
                roles.RoleRow(
                    id=built_guild.roles[name],
                    guild_id=built_guild.id,
                    name=name,
                    permissions=schema.parse_permissions(role.permissions, ()),
                    color=role.color,
                    hoist=int(role.hoist),
                    mentionable=int(role.mentionable),
                )
            )
        return [row._replace(position=position) for position, row in enumerate(rows, 1)]

    def _build_channel(self, guild: tables.Guild, built_guild: BuiltGuild, name: str, channel: tables.Channel) -> None:
        channel_id, reaction, tags = built_guild.channels[name], channel.default_reaction_emoji, channel.available_tags
        tag_ids = (self._seed.new_id(TagId, str(int(channel_id)), tag.name) for tag in tags or ())
        overwrites = None
        if channel.overwrites is not UNSET:
            overwrites = [
                self._overwrite_row(guild, built_guild, channel_id, target, overwrite)
                for target, overwrite in channel.overwrites.items()
            ]
        channels.creation.create(
            self._call,
            built_guild.id,
            CreateGuildChannel(
                name=name,
                type=channel.channel_type,
                topic=channel.topic if channel.topic is not None else UNSET,
                parent_id=built_guild.channels[channel.parent] if channel.parent is not None else UNSET,
                nsfw=channel.nsfw or UNSET,
                rate_limit_per_user=channel.rate_limit_per_user or UNSET,
                user_limit=channel.user_limit if channel.user_limit is not None else UNSET,
                bitrate=channel.bitrate if channel.bitrate is not None else UNSET,
                default_auto_archive_duration=channel.default_auto_archive_duration,
                default_thread_rate_limit_per_user=channel.default_thread_rate_limit_per_user,
                default_reaction_emoji=UNSET if reaction is UNSET else DefaultReactionRequest(emoji_name=reaction),
                default_sort_order=channel.default_sort_order,
                default_forum_layout=channel.default_forum_layout,
                default_tag_setting=channel.default_tag_setting,
                available_tags=[
                    ForumTagRequest(name=tag.name, moderated=tag.moderated, emoji_name=tag.emoji_name)
                    for tag in tags or ()
                ],
            ),
            channel_id=channel_id,
            new_tag_id=lambda: next(tag_ids),
            overwrites=overwrites,
            is_published=False,
        )

    def _overwrite_row(
        self, guild: tables.Guild, built_guild: BuiltGuild, channel_id: int, target: str, overwrite: tables.Overwrite
    ) -> channels.overwrites.OverwriteRow:
        allow, deny = schema.parse_permissions(overwrite.allow, ()), schema.parse_permissions(overwrite.deny, ())
        if target == schema.EVERYONE or target in guild.roles:
            role_id: int = built_guild.id if target == schema.EVERYONE else built_guild.roles[target]
            return channels.overwrites.OverwriteRow(channel_id, role_id, OverwriteType.ROLE, allow, deny)
        return channels.overwrites.OverwriteRow(
            channel_id, self._get_user_id(target), OverwriteType.MEMBER, allow, deny
        )

    def _build_member(
        self, guild: tables.Guild, built_guild: BuiltGuild, name: str, nick: str | None, role_ids: list[RoleId]
    ) -> None:
        user_id = self._get_user_id(name)
        if name == guild.owner:
            roles.assignments.assign(self._call.tx, built_guild.id, user_id, role_ids)
        else:
            members.membership.add(
                self._call, built_guild.id, user_id, role_ids=role_ids, nick=nick, is_announced=False
            )

    def _build_message(self, channel_id: ChannelId, message_id: MessageId, message: tables.Message) -> None:
        actor_kind = "user" if message.author in self._built_world.users else "bot"
        call = self._call.acting_as(Actor(user_id=self._get_user_id(message.author), kind=actor_kind))
        channel_access = access.require_channel(call, channel_id, Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES)
        messages.creation.create(call, channel_access, CreateMessage(content=message.content), message_id=message_id)

    def _build_lobby(self, name: str, lobby: tables.Lobby) -> None:
        application = applications.find(self._call.tx, self._built_world.applications[lobby.application].id)
        assert application is not None
        lobby_id = self._seed.new_id(LobbyId, name)
        member_requests = []
        for username, member in lobby.members.items():
            user_id = self._built_world.users[username].id
            oauth2.authorizations.authorize(self._call, application, user_id, (Scope.OPENID, Scope.SDK_SOCIAL_LAYER))
            flags = schema.parse_flags(member.flags, schema.LOBBY_MEMBER_FLAGS, (), "flag")
            member_requests.append(LobbyMemberRequest(id=user_id, metadata=member.metadata or UNSET, flags=flags))
        body = CreateLobby(
            metadata=lobby.metadata or UNSET,
            flags=schema.parse_flags(lobby.flags, schema.LOBBY_FLAGS, (), "flag"),
            idle_timeout_seconds=lobby.idle_timeout_seconds,
            members=member_requests,
        )
        link = None
        if lobby.guild is not None and lobby.channel is not None:
            owner_id = self._built_world.users[self._world.guilds[lobby.guild].owner].id
            link = lobbies.ChannelLink(self._built_world.guilds[lobby.guild].channels[lobby.channel], owner_id)
        lobbies.create_world_lobby(self._call, application.id, lobby_id, body, secret=lobby.secret, link=link)
        self._built_world.lobbies[name] = BuiltLobby(id=lobby_id)

    def _build_commands(
        self,
        path: tuple[str, ...],
        application_name: str,
        guild_name: str | None,
        command_bodies: Iterable[CreateCommand],
    ) -> None:
        """Create the commands of an application: its global ones, or those in a guild."""
        for index, body in enumerate(command_bodies):
            command_path = (*path, "commands", str(index))
            self._run_step(command_path, self._build_command, application_name, guild_name, body)

    def _build_command(self, application_name: str, guild_name: str | None, body: CreateCommand) -> None:
        application = applications.find(self._call.tx, self._built_world.applications[application_name].id)
        assert application is not None
        guild_id = None if guild_name is None else self._built_world.guilds[guild_name].id
        names = (application_name, guild_name or "", str(int(body.type or CommandType.CHAT_INPUT)), body.name)
        commands.create_for_world(self._call, application, guild_id, self._seed.new_id(CommandId, *names), body)

    def _get_user_id(self, name: str) -> UserId:
        """Return the ID of a user, or of the bot of an application. Raise WorldError if the application has no bot."""
        user = self._built_world.users.get(name)
        if user is not None:
            return user.id
        bot = self._built_world.applications[name].bot
        if bot is None:
            raise WorldError(("applications", name), "has no bot that could join a guild")
        return bot.id
