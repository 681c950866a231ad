"""The social layer through the SDK over sockets, as one story with two games and four players.

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
import discord
import pytest
import yarl

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ApplicationFlags
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
from tests.clients.test_discord_py import Bot
from tests.clients.test_discord_py import running as connected
from tests.journeys.load_balancer import LoadBalancer, cluster_behind_load_balancer
from tests.pages import Browser
from tests.world import NOW_MS, WAIT_TIMEOUT_SECONDS, Actor, ApiResponse, World, small_config

pytestmark = pytest.mark.xdist_group("many_processes")

BEARER = AuthorizationTokenType.BEARER
BOT_ISSUED = AuthenticationExternalAuthType.PLATFORM_BOT_ISSUED_ACCESS_TOKEN
FRIEND = RelationshipType.FRIEND
LOOPBACK = "http://127.0.0.1/callback"
EVENTS = (
    *("status_changed", "user_updated", "relationship_created", "relationship_deleted", "activity_invite_created"),
    *("lobby_created", "lobby_deleted", "lobby_updated", "lobby_member_added", "lobby_member_removed"),
    *("lobby_member_updated", "message_created", "message_updated", "message_deleted"),
)

Seen = TypeVar("Seen")


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
    async with cluster_behind_load_balancer(tmp_path, database, request.getfixturevalue("nats_url")) as both:
        yield both


class Player:
    """A user with an SDK client, in one game at a time."""

    def __init__(self, publisher: "Publisher", family_token: str, browser: Browser | None = None) -> None:
        self.publisher, self.family_token, self.browser = publisher, family_token, browser
        self.client = publisher.client()
        self.id, self.token = 0, ""
        self.calls: dict[str, list[tuple[Any, ...]]] = {event: [] for event in EVENTS}
        self._came = asyncio.Event()
        for event in EVENTS:
            getattr(self.client, f"set_{event}_callback")(self._listener(event))

    def _listener(self, event: str) -> Callable[..., None]:
        def record(*args: Any) -> None:
            self.calls[event].append(args)
            self._came.set()

        return record

    async def sees(self, condition: Callable[[], Seen | None]) -> Seen:
        """Wait until the game sees something; checked after every callback."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                while not (seen := condition()):
                    self._came.clear()
                    await self._came.wait()
                return seen
        except TimeoutError:
            latest = {event: args[-3:] for event, args in self.calls.items() if args}
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

    def in_chat(self) -> Actor:
        """The same user in the chat client."""
        assert self.browser is not None
        return Actor(self.publisher.world, self.id, self.browser.cookies["hubbub_session"], "person")

    def relationship_types(self, other: "Player") -> tuple[RelationshipType, RelationshipType]:
        """Return the relationship to another player: on the platform, and in the games."""
        handle = self.client.get_relationship_handle(other.id)
        return handle.platform_relationship_type, handle.game_relationship_type

    def message(self, message_id: int) -> MessageHandle | None:
        """Return a received message."""
        return self.client.get_message_handle(message_id)

    def lobby(self, lobby_id: int) -> LobbyHandle:
        """Return a lobby that the player is in."""
        lobby = self.client.get_lobby_handle(lobby_id)
        assert lobby is not None
        return lobby

    async def invited(self, by: "Player", kind: ActivityActionTypes = ActivityActionTypes.JOIN) -> ActivityInvite:
        """Wait for the invite or join request from another player."""

        def look() -> ActivityInvite | None:
            found = [args[0] for args in self.calls["activity_invite_created"]]
            return next((each for each in found if each.sender_id == by.id and each.type is kind), None)

        return await self.sees(look)


@dataclass
class Publisher:
    """A publisher with two games that share accounts."""

    world: World
    head: oauth.Client
    puddle: oauth.Client
    pond: oauth.Client

    def client(self, **more: Any) -> Client:
        """Create an SDK client for a game."""
        return Client(ClientCreateOptions(web_base=self.world.url), clock=self.world.app.clock.now_ms, **more)

    async def enter(self, browser: Browser, *, bringing: str | None = None) -> Player:
        """Authorize the games on the consent page, optionally linking a provisional account."""
        loop = asyncio.get_running_loop()
        pages: list[str] = []

        async def consent(url: str) -> None:
            parts = urlsplit(url)
            page = await browser.open(f"{parts.path}?{parts.query}")
            back = page if page.status in (302, 303) else await browser.submit(page, "Authorize")
            async with aiohttp.ClientSession() as game, game.get(yarl.URL(back.location, encoded=True)) as shown:
                pages.append(await shown.text())

        client = self.client(open_browser=lambda url: asyncio.run_coroutine_threadsafe(consent(url), loop))
        try:
            verifier = client.create_authorization_code_verifier()
            scopes = client.get_default_communication_scopes()
            code, back = await client.authorize(
                AuthorizationArgs(client_id=self.head.id, scopes=scopes, code_challenge=verifier.challenge)
            )
            if bringing is None:
                tokens = await client.get_token(self.head.id, code, verifier.verifier, back)
            else:
                tokens = await client.get_token_from_provisional_merge(
                    self.head.id, code, verifier.verifier, back, BOT_ISSUED, bringing
                )
        finally:
            await client.close()
        return Player(self, tokens.access_token, browser)

    async def provisional(self, external_user_id: str) -> Player:
        """Create a provisional player, named by the publisher's backend."""
        assert self.head.bot is not None
        body = {"external_user_id": external_user_id, "preferred_global_name": external_user_id.title()}
        answer = await self.head.bot.post("/partner-sdk/token/bot", json=body)
        return Player(self, answer.ok()["access_token"])

    async def backend(self, method: str, path: str, **body: Any) -> ApiResponse:
        """Send a request as the backend of Puddle."""
        assert self.puddle.bot is not None
        return await self.puddle.bot.request(method, path, json=body)


async def publisher(world: World) -> Publisher:
    """Create the publisher and both games."""
    owner = await world.user("developer")
    social = ApplicationFlags.SOCIAL_LAYER_INTEGRATION
    made = [
        await oauth.create_application(world, owner, public=True, redirect_uris=(LOOPBACK,), flags=social, name=name)
        for name in ("Rain House", "Puddle", "Pond")
    ]

    def join(call: Call) -> None:
        head, *games = (applications.find(call.tx, ApplicationId(each.id)) for each in made)
        assert head is not None
        for game in games:
            assert game is not None
            identities.join_family(call, game, head)

    await world.write(join)
    return Publisher(world, *made)


async def test_the_social_layer(platform: tuple[World, LoadBalancer | None], monkeypatch: pytest.MonkeyPatch) -> None:
    world, front = platform
    house = await publisher(world)
    async with contextlib.AsyncExitStack() as leaving:

        async def come(arriving: Awaitable[Player], game: oauth.Client) -> Player:
            player = await arriving
            leaving.push_async_callback(player.client.close)
            return await player.play(game)

        browsers = {name: Browser(world) for name in ("mary", "zoe", "robert", "nick")}
        for name, browser in browsers.items():
            await browser.register(name)
        mary = await come(house.enter(browsers["mary"]), house.puddle)
        zoe = await come(house.enter(browsers["zoe"]), house.pond)
        rob = await come(house.provisional("rob"), house.puddle)
        pip = await come(house.provisional("pip"), house.pond)

        await friends_are_made(mary, zoe, rob, pip)
        party = await a_party_gathers(house, mary, zoe, rob, pip)
        await they_talk(house, party, mary, zoe, rob, pip)
        lobby_id = await a_channel_is_linked(house, monkeypatch, mary, zoe, rob)

        history = await rob.client.get_user_messages_with_limit(mary.id, 10)
        private = {each.id: each.author_id for each in history}
        assert set(private.values()) == {rob.id, mary.id}
        sent_id = await rob.client.send_lobby_message(party, "I will be robert")
        robert = await come(house.enter(browsers["robert"], bringing=rob.family_token), house.puddle)
        await the_merged_account_keeps_its_data(rob, robert, mary, [party, lobby_id], sent_id)
        history = await robert.client.get_user_messages_with_limit(mary.id, 10)
        moved = {id: robert.id if author == rob.id else author for id, author in private.items()}
        assert {each.id: each.author_id for each in history} == moved

        await world.write(lambda call: accounts.ban(call, UserId(robert.id), reason="a test"))
        again = await a_ban_ends_everything(house, robert, mary, {party, lobby_id}, come)
        sent_id = await again.client.send_lobby_message(party, "it is me, rob")
        # Messages of a banned user stay in the game (spec/sdk.md#11.3).
        await again.client.send_user_message(mary.id, "robert is banned")
        with pytest.raises(SdkError) as caught:
            await house.enter(browsers["nick"], bringing=again.family_token)
        assert caught.value.result.error_code == 530017

        assert await world.write(lambda call: accounts.unban(call, UserId(robert.id)))
        whispered = await again.client.send_user_message(mary.id, "robert is free again")
        await browsers["robert"].log_in("robert")
        back = await come(house.enter(browsers["robert"], bringing=again.family_token), house.puddle)
        assert back.id == robert.id
        await the_merged_account_keeps_its_data(again, back, mary, [party, lobby_id], sent_id)
        # Robert already has a conversation with Mary: new messages become a group of the two (spec/sdk.md#8.5).
        chat = mary.in_chat()
        channels = (await chat.get("/users/@me/channels")).ok()
        [group] = [each for each in channels if each["type"] == ChannelType.GROUP_DM]
        assert [each["id"] for each in group["recipients"]] == [str(back.id)]
        kept = (await chat.get(f"/channels/{group['id']}/messages")).ok()
        assert [(each["id"], each["author"]["id"]) for each in kept] == [(str(whispered), str(back.id))]
    if front is not None:
        assert min(front.request_counts.values()) > 2, front.request_counts


async def friends_are_made(mary: Player, zoe: Player, rob: Player, pip: Player) -> None:
    """Add friends by name on the platform, and players in the games, across both games."""
    await mary.client.send_platform_friend_request("zoe")
    await zoe.sees(lambda: zoe.relationship_types(mary)[0] is RelationshipType.PENDING_INCOMING)
    await zoe.client.accept_platform_friend_request(mary.id)
    for one, other in ((mary, rob), (zoe, pip), (rob, pip)):
        await one.client.send_game_friend_request_by_id(other.id)
        await other.sees(lambda: other.relationship_types(one)[1] is RelationshipType.PENDING_INCOMING)  # noqa: B023
        await other.client.accept_game_friend_request(one.id)
        for each, friend in ((one, other), (other, one)):
            await each.sees(lambda: each.relationship_types(friend) == (RelationshipType.NONE, FRIEND))  # noqa: B023
    for each, friend in ((mary, zoe), (zoe, mary)):
        await each.sees(lambda: each.relationship_types(friend)[0] is FRIEND)  # noqa: B023


async def a_party_gathers(house: Publisher, mary: Player, zoe: Player, rob: Player, pip: Player) -> int:
    """Mary plays Puddle: players of both games are invited or ask to join, and the secret leads to one lobby."""
    secret = "behind the third puddle"

    def playing(size: int) -> Activity:
        return Activity(
            name="Puddle",
            state="Jumping",
            party=ActivityParty(id="party", current_size=size, max_size=4),
            secrets=ActivitySecrets(join=secret),
            supported_platforms=ActivityGamePlatforms.DESKTOP,
        )

    await mary.client.update_rich_presence(playing(1))
    lobby_id = await mary.client.create_or_join_lobby_with_metadata(secret, {"map": "pond"}, {"boots": "red"})
    await rob.sees(lambda: (user := rob.client.get_user(mary.id)) is not None and user.game_activity)

    await mary.client.send_activity_invite(zoe.id, "come over to Puddle")
    invite = await zoe.invited(mary)
    assert (invite.application_id, invite.party_id) == (house.puddle.id, "party")
    assert await zoe.client.accept_activity_invite(invite) == secret
    await zoe.play(house.puddle)
    assert await zoe.client.create_or_join_lobby(secret) == lobby_id

    await rob.client.send_activity_join_request(mary.id)
    question = await mary.invited(rob, ActivityActionTypes.JOIN_REQUEST)
    await mary.client.send_activity_join_request_reply(question)
    assert await rob.client.accept_activity_invite(await rob.invited(mary)) == secret
    assert await rob.client.create_or_join_lobby(secret) == lobby_id

    # Any party member may invite others.
    await zoe.client.update_rich_presence(playing(3))
    await zoe.client.send_activity_invite(pip.id, "and you")
    assert await pip.client.accept_activity_invite(await pip.invited(zoe)) == secret
    await pip.play(house.puddle)
    assert await pip.client.create_or_join_lobby(secret) == lobby_id

    all_ids = sorted(player.id for player in (mary, zoe, rob, pip))
    for player in (mary, zoe, rob, pip):
        lobby = player.lobby(lobby_id)
        await player.sees(lambda: sorted(lobby.lobby_member_ids) == all_ids)  # noqa: B023
        assert lobby.metadata == {"map": "pond"}
    return lobby_id


async def they_talk(house: Publisher, lobby_id: int, mary: Player, zoe: Player, rob: Player, pip: Player) -> None:
    """Send lobby and direct messages; every recipient sees the backend's moderation metadata."""
    for speaker in (mary, zoe, rob, pip):
        sent_id = await speaker.client.send_lobby_message_with_metadata(lobby_id, f"says {speaker.id}", {"mood": "wet"})
        for player in (mary, zoe, rob, pip):
            message = await player.sees(lambda: player.message(sent_id))  # noqa: B023
            assert (message.author_id, message.content) == (speaker.id, f"says {speaker.id}")
            assert message.metadata == {"mood": "wet"}
    path = f"/lobbies/{lobby_id}/messages/{sent_id}/moderation-metadata"
    assert (await house.backend("PUT", path, verdict="splashy")).status == 204
    for player in (mary, zoe, rob, pip):
        await player.sees(lambda: player.message(sent_id).moderation_metadata == {"verdict": "splashy"})  # type: ignore[union-attr]  # noqa: B023

    private = await rob.client.send_user_message(mary.id, "psst")
    incoming = await mary.sees(lambda: mary.message(private))
    assert (incoming.author_id, incoming.content, incoming.application_id) == (rob.id, "psst", house.puddle.id)
    path = f"/partner-sdk/dms/{rob.id}/{mary.id}/messages/{private}/moderation-metadata"
    assert (await house.backend("PUT", path, verdict="harmless")).status == 204
    for player in (mary, rob):
        await player.sees(lambda: player.message(private).moderation_metadata == {"verdict": "harmless"})  # type: ignore[union-attr]  # noqa: B023
    assert zoe.message(private) is None


async def a_channel_is_linked(
    house: Publisher, monkeypatch: pytest.MonkeyPatch, mary: Player, zoe: Player, rob: Player
) -> int:
    """The backend creates a lobby, Mary links it to her guild, and a bot unaware of games chats with the players."""
    world = house.world
    guild = await world.guild(mary.in_chat(), name="Rain")
    builder = await world.bot(guild, name="umbrella")
    members = [{"id": str(mary.id), "flags": 1}, {"id": str(zoe.id)}, {"id": str(rob.id)}]
    lobby_id = int((await house.backend("POST", "/lobbies", members=members)).ok()["id"])
    for player in (mary, zoe, rob):
        await player.sees(lambda: player.client.get_lobby_handle(lobby_id))  # noqa: B023

    [shown] = [each for each in await mary.client.get_user_guilds() if each.id == guild.id]
    general = next(each for each in await mary.client.get_guild_channels(shown.id) if each.id == guild.general)
    assert general.is_linkable
    await mary.client.link_channel_to_lobby(lobby_id, general.id)
    for player in (mary, zoe, rob):
        await player.sees(lambda: player.lobby(lobby_id).linked_channel is not None)  # noqa: B023

    monkeypatch.setattr(discord.http.Route, "BASE", world.api)
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(world.gateway))
    async with connected(Bot(), builder.token) as bot:
        sent_id = await rob.client.send_lobby_message(lobby_id, "is it raining there?")
        incoming = await bot.received("message", lambda message: message.id == sent_id)
        assert (incoming.content, incoming.author.id, incoming.channel.id) == (
            "is it raining there?",
            rob.id,
            guild.general,
        )

        answer = await incoming.channel.send("cats and dogs")
        for player in (mary, zoe, rob):
            message = await player.sees(lambda: player.message(answer.id))  # noqa: B023
            assert (message.content, message.author_id) == ("cats and dogs", builder.id)
            assert message.lobby is not None
            assert message.lobby.id == lobby_id
        await answer.edit(content="cats only")
        await rob.sees(lambda: (message := rob.message(answer.id)) is not None and message.content == "cats only")
        await answer.delete()
        await rob.sees(lambda: rob.message(answer.id) is None)
    return lobby_id


async def the_merged_account_keeps_its_data(
    before: Player, after: Player, mary: Player, lobbies: list[int], sent_id: int
) -> None:
    """A provisional account merged into another: its session ends, and friends, lobbies and messages move."""
    assert before.id != after.id
    await before.sees(lambda: before.client.get_status() is ClientStatus.DISCONNECTED)
    await mary.sees(lambda: mary.relationship_types(after) == (RelationshipType.NONE, FRIEND))
    await after.sees(lambda: after.relationship_types(mary) == (RelationshipType.NONE, FRIEND))
    assert mary.relationship_types(before) == (RelationshipType.NONE, RelationshipType.NONE)
    assert set(after.client.get_lobby_ids()) == set(lobbies)
    for lobby_id in lobbies:
        inside = mary.lobby(lobby_id)
        await mary.sees(lambda: after.id in inside.lobby_member_ids and before.id not in inside.lobby_member_ids)  # noqa: B023
    newest, *_ = await after.client.get_lobby_messages_with_limit(lobbies[0], 1)
    assert (newest.id, newest.author_id) == (sent_id, after.id)


async def a_ban_ends_everything(
    house: Publisher,
    robert: Player,
    mary: Player,
    lobbies: set[int],
    come: Callable[[Awaitable[Player], oauth.Client], Awaitable[Player]],
) -> Player:
    """The tokens of a banned account end at once; its player continues with a provisional account."""
    await robert.sees(lambda: robert.client.get_status() is ClientStatus.DISCONNECTED)
    with pytest.raises(SdkError) as caught:
        await robert.client.fetch_current_user(BEARER, robert.token)
    assert caught.value.result.status == 401
    with pytest.raises(SdkError) as caught:
        await robert.client.exchange_child_token(robert.family_token, house.puddle.id)
    assert caught.value.result.error_code == 50025
    again = await come(house.provisional("rob"), house.puddle)
    assert again.id != robert.id
    await again.sees(lambda: again.relationship_types(mary) == (RelationshipType.NONE, FRIEND))
    assert set(again.client.get_lobby_ids()) == lobbies
    for lobby_id in lobbies:
        inside = mary.lobby(lobby_id)
        await mary.sees(lambda: again.id in inside.lobby_member_ids and robert.id not in inside.lobby_member_ids)  # noqa: B023
    return again
