"""The social layer through the SDK over sockets, as one scenario with two games and four players.

It runs twice: in one process on SQLite, and through a load balancer with two API and two gateway processes.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import pytest
import yarl

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ApplicationFlags, LobbyMemberFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.sdk import (
    Activity,
    ActivityActionTypes,
    ActivityGamePlatforms,
    ActivityInvite,
    ActivityParty,
    ActivitySecrets,
    AuthenticationExternalAuthType,
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ClientCreateOptions,
    ClientStatus,
    LobbyHandle,
    MessageHandle,
    RelationshipType,
    SdkError,
)
from hubbub.server.app import App
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.identity import accounts, applications, identities
from tests import oauth
from tests.clients.discord_py_bot import Bot, run_bot, use_server_urls
from tests.journeys.load_balancer import LoadBalancer, cluster_behind_load_balancer
from tests.pages import Browser
from tests.world import NOW_MS, WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, World, small_config

pytestmark = pytest.mark.xdist_group("many_processes")

BEARER = AuthorizationTokenType.BEARER
BOT_ISSUED = AuthenticationExternalAuthType.PLATFORM_BOT_ISSUED_ACCESS_TOKEN
FRIEND = RelationshipType.FRIEND
LOOPBACK_REDIRECT_URI = "http://127.0.0.1/callback"
CALLBACK_NAMES = (
    *("status_changed", "user_updated", "relationship_created", "relationship_deleted", "activity_invite_created"),
    *("lobby_created", "lobby_deleted", "lobby_updated", "lobby_member_added", "lobby_member_removed"),
    *("lobby_member_updated", "message_created", "message_updated", "message_deleted"),
)

Value = TypeVar("Value")


@pytest.fixture(params=["one process", "many processes"])
async def platform(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[World, LoadBalancer | None]]:
    """A platform, and the load balancer in front of it if it has several processes."""
    if request.param == "one process":
        app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
        await app.start()
        async with aiohttp.ClientSession() as client:
            yield World(app, client), None
        await app.stop()
        return
    database: str = request.getfixturevalue("postgres_database")
    async with cluster_behind_load_balancer(
        tmp_path, database, request.getfixturevalue("nats_url")
    ) as world_and_balancer:
        yield world_and_balancer


class Player:
    """A user with an SDK client, in one game at a time."""

    def __init__(self, publisher: "Publisher", family_token: str, browser: Browser | None = None) -> None:
        self.publisher, self.family_token, self.browser = publisher, family_token, browser
        self.client = publisher.create_client()
        self.id, self.token = 0, ""
        self.callbacks: dict[str, list[tuple[Any, ...]]] = {event: [] for event in CALLBACK_NAMES}
        self._callback_received = asyncio.Event()
        for event in CALLBACK_NAMES:
            getattr(self.client, f"set_{event}_callback")(self._make_recorder(event))

    def _make_recorder(self, event: str) -> Callable[..., None]:
        def record(*args: Any) -> None:
            self.callbacks[event].append(args)
            self._callback_received.set()

        return record

    async def wait_until(self, condition: Callable[[], Value | None]) -> Value:
        """Wait until a condition is truthy and return its value. The condition is checked after every SDK callback."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                while not (result := condition()):
                    self._callback_received.clear()
                    await self._callback_received.wait()
                return result
        except TimeoutError:
            latest = {event: args[-3:] for event, args in self.callbacks.items() if args}
            raise AssertionError(f"the condition did not become true; latest callbacks: {latest}") from None

    async def play(self, game: oauth.Client) -> "Player":
        """Start a game of the publisher, after leaving the previous one."""
        await self.client.disconnect()
        self.token = (await self.client.exchange_child_token(self.family_token, game.id)).access_token
        await self.client.update_token(BEARER, self.token)
        await self.client.connect()
        me = self.client.get_current_user_v2()
        assert me is not None
        self.id = me.id
        assert self.client.get_application_id() == game.id
        return self

    def chat_user(self) -> Actor:
        """Return the same user as an actor with a login token, as the chat client uses it."""
        assert self.browser is not None
        return Actor(self.publisher.world, self.id, self.browser.cookies["hubbub_session"], "player")

    def relationship_types(self, other: "Player") -> tuple[RelationshipType, RelationshipType]:
        """Return the relationship to another player: on the platform, and in the games."""
        handle = self.client.get_relationship_handle(other.id)
        return handle.platform_relationship_type, handle.game_relationship_type

    def find_message(self, message_id: int) -> MessageHandle | None:
        """Return a received message, or None."""
        return self.client.get_message_handle(message_id)

    def get_lobby(self, lobby_id: int) -> LobbyHandle:
        """Return a lobby that the player is in."""
        lobby = self.client.get_lobby_handle(lobby_id)
        assert lobby is not None
        return lobby

    async def wait_invite(
        self, sender: "Player", action_type: ActivityActionTypes = ActivityActionTypes.JOIN
    ) -> ActivityInvite:
        """Wait for the invite or join request from another player."""

        def find_invite() -> ActivityInvite | None:
            invites = [args[0] for args in self.callbacks["activity_invite_created"]]
            return next(
                (invite for invite in invites if invite.sender_id == sender.id and invite.type is action_type), None
            )

        return await self.wait_until(find_invite)


@dataclass
class Publisher:
    """A publisher with two games that share accounts."""

    world: World
    publisher_application: oauth.Client
    puddle: oauth.Client
    pond: oauth.Client

    def create_client(self, **options: Any) -> Client:
        """Create an SDK client for a game."""
        return Client(ClientCreateOptions(web_base=self.world.url), clock=self.world.app.clock.now_ms, **options)

    async def authorize_player(self, browser: Browser, *, provisional_token: str | None = None) -> Player:
        """Authorize the games on the consent page, optionally linking a provisional account."""
        loop = asyncio.get_running_loop()

        async def consent(url: str) -> None:
            split_url = urlsplit(url)
            page = await browser.open(f"{split_url.path}?{split_url.query}")
            redirect_page = page if page.status in (302, 303) else await browser.submit(page, "Authorize")
            async with (
                aiohttp.ClientSession() as http_client,
                http_client.get(yarl.URL(redirect_page.location, encoded=True)) as response,
            ):
                await response.read()

        client = self.create_client(open_browser=lambda url: asyncio.run_coroutine_threadsafe(consent(url), loop))
        try:
            verifier = client.create_authorization_code_verifier()
            scopes = client.get_default_communication_scopes()
            code, redirect_uri = await client.authorize(
                AuthorizationArgs(
                    client_id=self.publisher_application.id, scopes=scopes, code_challenge=verifier.challenge
                )
            )
            if provisional_token is None:
                tokens = await client.get_token(self.publisher_application.id, code, verifier.verifier, redirect_uri)
            else:
                tokens = await client.get_token_from_provisional_merge(
                    self.publisher_application.id, code, verifier.verifier, redirect_uri, BOT_ISSUED, provisional_token
                )
        finally:
            await client.close()
        return Player(self, tokens.access_token, browser)

    async def create_provisional_player(self, external_user_id: str) -> Player:
        """Create a provisional player as the publisher's backend."""
        assert self.publisher_application.bot is not None
        body = {"external_user_id": external_user_id, "preferred_global_name": external_user_id.title()}
        response = await self.publisher_application.bot.post("/partner-sdk/token/bot", json=body)
        return Player(self, response.ok()["access_token"])

    async def send_backend_request(self, method: str, path: str, **body: Any) -> ApiResponse:
        """Send a request as the backend of Puddle."""
        assert self.puddle.bot is not None
        return await self.puddle.bot.request(method, path, json=body)


async def create_publisher(world: World) -> Publisher:
    """Create the publisher and both games."""
    owner = await world.user("developer")
    flags = ApplicationFlags.SOCIAL_LAYER_INTEGRATION
    clients = [
        await oauth.create_application(
            world, owner, is_public=True, redirect_uris=(LOOPBACK_REDIRECT_URI,), flags=flags, name=name
        )
        for name in ("Publisher", "Puddle", "Pond")
    ]

    def link_games(call: Call) -> None:
        head, *games = (applications.find(call.tx, ApplicationId(client.id)) for client in clients)
        assert head is not None
        for game in games:
            assert game is not None
            identities.join_family(call, game, head)

    await world.write(link_games)
    return Publisher(world, *clients)


async def test_players_of_two_games_use_the_social_layer(
    platform: tuple[World, LoadBalancer | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, load_balancer = platform
    publisher = await create_publisher(world)
    async with contextlib.AsyncExitStack() as exit_stack:

        async def join_game(authorization: Awaitable[Player], game: oauth.Client) -> Player:
            player = await authorization
            exit_stack.push_async_callback(player.client.close)
            return await player.play(game)

        browsers = {name: Browser(world) for name in ("mary", "zoe", "robert", "nick")}
        for name, browser in browsers.items():
            await browser.register(name)
        mary = await join_game(publisher.authorize_player(browsers["mary"]), publisher.puddle)
        zoe = await join_game(publisher.authorize_player(browsers["zoe"]), publisher.pond)
        rob = await join_game(publisher.create_provisional_player("rob"), publisher.puddle)
        pip = await join_game(publisher.create_provisional_player("pip"), publisher.pond)

        await make_friends(mary, zoe, rob, pip)
        lobby_id = await gather_party(publisher, mary, zoe, rob, pip)
        await exchange_messages(publisher, lobby_id, mary, zoe, rob, pip)
        linked_lobby_id = await link_channel(publisher, monkeypatch, mary, zoe, rob)

        history = await rob.client.get_user_messages_with_limit(mary.id, 10)
        author_id_by_message_id = {message.id: message.author_id for message in history}
        assert set(author_id_by_message_id.values()) == {rob.id, mary.id}
        message_id = await rob.client.send_lobby_message(lobby_id, "I will be robert")
        robert = await join_game(
            publisher.authorize_player(browsers["robert"], provisional_token=rob.family_token), publisher.puddle
        )
        await check_merged_account(rob, robert, mary, [lobby_id, linked_lobby_id], message_id)
        history = await robert.client.get_user_messages_with_limit(mary.id, 10)
        expected_authors = {
            message_id: robert.id if author_id == rob.id else author_id
            for message_id, author_id in author_id_by_message_id.items()
        }
        assert {message.id: message.author_id for message in history} == expected_authors

        await world.write(lambda call: accounts.ban(call, UserId(robert.id), reason="a test"))
        restricted_player = await check_ban_ends_sessions(
            publisher, robert, mary, {lobby_id, linked_lobby_id}, join_game
        )
        message_id = await restricted_player.client.send_lobby_message(lobby_id, "it is me, rob")
        # Messages of a restricted account stay within its game (spec/sdk.md#11.3).
        await restricted_player.client.send_user_message(mary.id, "robert is banned")
        with pytest.raises(SdkError) as caught:
            await publisher.authorize_player(browsers["nick"], provisional_token=restricted_player.family_token)
        assert caught.value.result.error_code == 530017

        assert await world.write(lambda call: accounts.unban(call, UserId(robert.id)))
        direct_message_id = await restricted_player.client.send_user_message(mary.id, "robert is free again")
        await browsers["robert"].log_in("robert")
        relinked_player = await join_game(
            publisher.authorize_player(browsers["robert"], provisional_token=restricted_player.family_token),
            publisher.puddle,
        )
        assert relinked_player.id == robert.id
        await check_merged_account(restricted_player, relinked_player, mary, [lobby_id, linked_lobby_id], message_id)
        # Robert already has a conversation with Mary: new messages become a group of the two (spec/sdk.md#8.5).
        chat_user = mary.chat_user()
        channels = (await chat_user.get("/users/@me/channels")).ok()
        [group] = [channel for channel in channels if channel["type"] == ChannelType.GROUP_DM]
        assert [recipient["id"] for recipient in group["recipients"]] == [str(relinked_player.id)]
        group_messages = (await chat_user.get(f"/channels/{group['id']}/messages")).ok()
        assert [(message["id"], message["author"]["id"]) for message in group_messages] == [
            (str(direct_message_id), str(relinked_player.id))
        ]
    if load_balancer is not None:
        assert min(load_balancer.request_counts.values()) > 2, load_balancer.request_counts


async def make_friends(mary: Player, zoe: Player, rob: Player, pip: Player) -> None:
    """Make Mary and Zoe friends on the platform, and three other pairs friends in the games."""
    await mary.client.send_platform_friend_request("zoe")
    await zoe.wait_until(lambda: zoe.relationship_types(mary)[0] is RelationshipType.PENDING_INCOMING)
    await zoe.client.accept_platform_friend_request(mary.id)
    for sender, recipient in ((mary, rob), (zoe, pip), (rob, pip)):
        await sender.client.send_game_friend_request_by_id(recipient.id)
        await recipient.wait_until(lambda: recipient.relationship_types(sender)[1] is RelationshipType.PENDING_INCOMING)  # noqa: B023
        await recipient.client.accept_game_friend_request(sender.id)
        for player, friend in ((sender, recipient), (recipient, sender)):
            await player.wait_until(lambda: player.relationship_types(friend) == (RelationshipType.NONE, FRIEND))  # noqa: B023
    for player, friend in ((mary, zoe), (zoe, mary)):
        await player.wait_until(lambda: player.relationship_types(friend)[0] is FRIEND)  # noqa: B023


async def gather_party(publisher: Publisher, mary: Player, zoe: Player, rob: Player, pip: Player) -> int:
    """Bring the players of both games into one lobby, by invites and join requests; return the ID of the lobby."""
    secret = "behind the third puddle"

    def create_activity(party_size: int) -> Activity:
        return Activity(
            name="Puddle",
            state="Jumping",
            party=ActivityParty(id="party", current_size=party_size, max_size=4),
            secrets=ActivitySecrets(join=secret),
            supported_platforms=ActivityGamePlatforms.DESKTOP,
        )

    await mary.client.update_rich_presence(create_activity(1))
    lobby_id = await mary.client.create_or_join_lobby_with_metadata(secret, {"map": "pond"}, {"boots": "red"})
    await rob.wait_until(lambda: (user := rob.client.get_user(mary.id)) is not None and user.game_activity)

    await mary.client.send_activity_invite(zoe.id, "come over to Puddle")
    invite = await zoe.wait_invite(mary)
    assert (invite.application_id, invite.party_id) == (publisher.puddle.id, "party")
    assert await zoe.client.accept_activity_invite(invite) == secret
    await zoe.play(publisher.puddle)
    assert await zoe.client.create_or_join_lobby(secret) == lobby_id

    await rob.client.send_activity_join_request(mary.id)
    join_request = await mary.wait_invite(rob, ActivityActionTypes.JOIN_REQUEST)
    await mary.client.send_activity_join_request_reply(join_request)
    assert await rob.client.accept_activity_invite(await rob.wait_invite(mary)) == secret
    assert await rob.client.create_or_join_lobby(secret) == lobby_id

    # Any party member may invite others.
    await zoe.client.update_rich_presence(create_activity(3))
    await zoe.client.send_activity_invite(pip.id, "and you")
    assert await pip.client.accept_activity_invite(await pip.wait_invite(zoe)) == secret
    await pip.play(publisher.puddle)
    assert await pip.client.create_or_join_lobby(secret) == lobby_id

    all_ids = sorted(player.id for player in (mary, zoe, rob, pip))
    for player in (mary, zoe, rob, pip):
        lobby = player.get_lobby(lobby_id)
        await player.wait_until(lambda: sorted(lobby.lobby_member_ids) == all_ids)  # noqa: B023
        assert lobby.metadata == {"map": "pond"}
    return lobby_id


async def exchange_messages(
    publisher: Publisher, lobby_id: int, mary: Player, zoe: Player, rob: Player, pip: Player
) -> None:
    """Send lobby and direct messages; check that every recipient receives the backend's moderation metadata."""
    for author in (mary, zoe, rob, pip):
        content = f"message of {author.id}"
        message_id = await author.client.send_lobby_message_with_metadata(lobby_id, content, {"mood": "wet"})
        for player in (mary, zoe, rob, pip):
            message = await player.wait_until(lambda: player.find_message(message_id))  # noqa: B023
            assert (message.author_id, message.content) == (author.id, content)
            assert message.metadata == {"mood": "wet"}
    path = f"/lobbies/{lobby_id}/messages/{message_id}/moderation-metadata"
    assert (await publisher.send_backend_request("PUT", path, verdict="splashy")).status == 204
    for player in (mary, zoe, rob, pip):
        await player.wait_until(lambda: player.find_message(message_id).moderation_metadata == {"verdict": "splashy"})  # type: ignore[union-attr]  # noqa: B023

    direct_message_id = await rob.client.send_user_message(mary.id, "psst")
    incoming = await mary.wait_until(lambda: mary.find_message(direct_message_id))
    assert (incoming.author_id, incoming.content, incoming.application_id) == (rob.id, "psst", publisher.puddle.id)
    path = f"/partner-sdk/dms/{rob.id}/{mary.id}/messages/{direct_message_id}/moderation-metadata"
    assert (await publisher.send_backend_request("PUT", path, verdict="harmless")).status == 204
    for player in (mary, rob):
        await player.wait_until(
            lambda: player.find_message(direct_message_id).moderation_metadata == {"verdict": "harmless"}  # type: ignore[union-attr]  # noqa: B023
        )
    assert zoe.find_message(direct_message_id) is None


async def link_channel(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch, mary: Player, zoe: Player, rob: Player
) -> int:
    """Create a lobby as the backend and link it to Mary's guild; check that its players and a bot exchange messages."""
    world = publisher.world
    guild = await world.guild(mary.chat_user(), name="Rain")
    bot_actor = await world.bot(guild, name="umbrella")
    members = [{"id": str(mary.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}, {"id": str(zoe.id)}, {"id": str(rob.id)}]
    lobby_id = int((await publisher.send_backend_request("POST", "/lobbies", members=members)).ok()["id"])
    for player in (mary, zoe, rob):
        await player.wait_until(lambda: player.client.get_lobby_handle(lobby_id))  # noqa: B023

    [guild_handle] = [handle for handle in await mary.client.get_user_guilds() if handle.id == guild.id]
    channel_handle = next(
        handle for handle in await mary.client.get_guild_channels(guild_handle.id) if handle.id == guild.general
    )
    assert channel_handle.is_linkable
    await mary.client.link_channel_to_lobby(lobby_id, channel_handle.id)
    for player in (mary, zoe, rob):
        await player.wait_until(lambda: player.get_lobby(lobby_id).linked_channel is not None)  # noqa: B023

    use_server_urls(monkeypatch, world)
    async with run_bot(Bot(), bot_actor.token) as bot:
        message_id = await rob.client.send_lobby_message(lobby_id, "is it raining there?")
        incoming = await bot.wait_event("message", lambda message: message.id == message_id)
        assert (incoming.content, incoming.author.id, incoming.channel.id) == (
            "is it raining there?",
            rob.id,
            guild.general,
        )

        reply = await incoming.channel.send("cats and dogs")
        for player in (mary, zoe, rob):
            message = await player.wait_until(lambda: player.find_message(reply.id))  # noqa: B023
            assert (message.content, message.author_id) == ("cats and dogs", bot_actor.id)
            assert message.lobby is not None
            assert message.lobby.id == lobby_id
        await reply.edit(content="cats only")
        await rob.wait_until(
            lambda: (message := rob.find_message(reply.id)) is not None and message.content == "cats only"
        )
        await reply.delete()
        await rob.wait_until(lambda: rob.find_message(reply.id) is None)
    return lobby_id


async def check_merged_account(
    provisional_player: Player, linked_player: Player, mary: Player, lobby_ids: list[int], message_id: int
) -> None:
    """Check a merge of a provisional account: its session ends, and its friends, lobbies and messages move."""
    assert provisional_player.id != linked_player.id
    await provisional_player.wait_until(lambda: provisional_player.client.get_status() is ClientStatus.DISCONNECTED)
    await mary.wait_until(lambda: mary.relationship_types(linked_player) == (RelationshipType.NONE, FRIEND))
    await linked_player.wait_until(lambda: linked_player.relationship_types(mary) == (RelationshipType.NONE, FRIEND))
    assert mary.relationship_types(provisional_player) == (RelationshipType.NONE, RelationshipType.NONE)
    assert set(linked_player.client.get_lobby_ids()) == set(lobby_ids)
    for lobby_id in lobby_ids:
        lobby = mary.get_lobby(lobby_id)
        await mary.wait_until(
            lambda: linked_player.id in lobby.lobby_member_ids and provisional_player.id not in lobby.lobby_member_ids  # noqa: B023
        )
    newest, *_ = await linked_player.client.get_lobby_messages_with_limit(lobby_ids[0], 1)
    assert (newest.id, newest.author_id) == (message_id, linked_player.id)


async def check_ban_ends_sessions(
    publisher: Publisher,
    robert: Player,
    mary: Player,
    lobby_ids: set[int],
    join_game: Callable[[Awaitable[Player], oauth.Client], Awaitable[Player]],
) -> Player:
    """Check that the tokens of a banned account end immediately; return the provisional player that replaces it."""
    await robert.wait_until(lambda: robert.client.get_status() is ClientStatus.DISCONNECTED)
    with pytest.raises(SdkError) as caught:
        await robert.client.fetch_current_user(BEARER, robert.token)
    assert caught.value.result.status == 401
    with pytest.raises(SdkError) as caught:
        await robert.client.exchange_child_token(robert.family_token, publisher.puddle.id)
    assert caught.value.result.error_code == 50025
    provisional_player = await join_game(publisher.create_provisional_player("rob"), publisher.puddle)
    assert provisional_player.id != robert.id
    await provisional_player.wait_until(
        lambda: provisional_player.relationship_types(mary) == (RelationshipType.NONE, FRIEND)
    )
    assert set(provisional_player.client.get_lobby_ids()) == lobby_ids
    for lobby_id in lobby_ids:
        lobby = mary.get_lobby(lobby_id)
        await mary.wait_until(
            lambda: provisional_player.id in lobby.lobby_member_ids and robert.id not in lobby.lobby_member_ids  # noqa: B023
        )
    return provisional_player
