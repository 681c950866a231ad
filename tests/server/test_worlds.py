"""World files: loading, reproducible contents, the demo world, and validation errors."""

import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.identity import relationships
from hubbub.server.worlds import WorldError
from hubbub.server.worlds.schema import EVERYONE
from tests.world import Actor, World, small_config

SMALL_WORLD = """
[users.ann]
password = "correct horse"

[users.ben]

[applications.helper]
intents = ["MESSAGE_CONTENT"]

[guilds.Home]
owner = "ann"
members = { ann = { roles = ["elders"] }, ben = { roles = ["elders", "young"], nick = "Benny" } }
bots = { helper = { permissions = ["MANAGE_ROLES"] } }

[guilds.Home.roles.elders]
permissions = ["MANAGE_MESSAGES"]

[guilds.Home.roles.young]

[guilds.Home.channels.hall]
topic = "Come in"
parent = "Rooms"

[guilds.Home.channels.Rooms]
type = "category"
overwrites = { "@everyone" = { deny = ["SEND_MESSAGES"] } }

[guilds.Home.channels.attic]
overwrites = { "@everyone" = { deny = ["VIEW_CHANNEL"] }, helper = { allow = ["VIEW_CHANNEL"] }, elders = {} }
"""


@pytest.fixture
async def app() -> AsyncIterator[App]:
    """A running app on the in-memory store, without a world."""
    app = App(small_config(), clock=ControlledClock(1_790_000_000_000, running=False))
    await app.start()
    yield app
    await app.stop()


async def build_world(text: str | None, seed: int) -> worlds.BuiltWorld:
    """Build a world in its own app."""
    app = App(small_config())
    await app.start()
    try:
        return await worlds.load(app, worlds.demo_world() if text is None else worlds.read_text(text), seed)
    finally:
        await app.stop()


@pytest.mark.parametrize("text", [None, SMALL_WORLD], ids=["demo", "small"])
async def test_the_same_file_and_seed_create_the_same_ids_and_tokens(text: str | None) -> None:
    first_world, same_world, other_world = (
        await build_world(text, 7),
        await build_world(text, 7),
        await build_world(text, 8),
    )

    assert first_world == same_world
    assert not {user.token for user in first_world.users.values()} & {user.token for user in other_world.users.values()}
    assert not {guild.id for guild in first_world.guilds.values()} & {guild.id for guild in other_world.guilds.values()}


async def test_a_world_file_defines_skus(app: App) -> None:
    text = (
        SMALL_WORLD
        + '[skus.Gold]\napplication = "helper"\nprice = 999\n[skus.Hat]\napplication = "helper"\ntype = "durable"\n'
    )
    world_without_addition = await build_world(SMALL_WORLD, 1)

    built_world = await worlds.load(app, worlds.read_text(text), 1)

    assert built_world == world_without_addition
    query = "SELECT name, type, flags, price FROM skus WHERE application_id = ? AND type <> 6 ORDER BY price"
    application_id = built_world.applications["helper"].id
    assert await app.database.read(lambda tx: tx.all(query, application_id)) == [
        ("Hat", 2, 0, 0),
        ("Gold", 5, 256, 999),
    ]


async def test_a_world_file_defines_activities(app: App) -> None:
    text = SMALL_WORLD.replace(
        "[applications.helper]\n",
        '[applications.helper]\nurl_map = { "/api" = "b.example.org/x", "/" = "a.example.org" }\n',
    )
    world_without_addition = await build_world(SMALL_WORLD, 1)

    built_world = await worlds.load(app, worlds.read_text(text), 1)

    assert built_world == world_without_addition
    query = "SELECT prefix, target FROM activity_url_mappings WHERE application_id = ? ORDER BY position"
    application_id = built_world.applications["helper"].id
    stored_mappings = await app.database.read(lambda tx: tx.all(query, application_id))
    assert stored_mappings == [("/api", "b.example.org/x"), ("/", "a.example.org")]
    flags = await app.database.read(lambda tx: tx.value("SELECT flags FROM applications WHERE id = ?", application_id))
    assert flags & ApplicationFlags.EMBEDDED


async def test_a_world_file_defines_friendships(app: App) -> None:
    text = SMALL_WORLD + '[users.zoe]\n[users.yan]\n[[friendships]]\nbetween = ["zoe", "yan"]\n'

    built_world = await worlds.load(app, worlds.read_text(text), 1)

    zoe_id, yan_id = built_world.users["zoe"].id, built_world.users["yan"].id
    assert await app.database.read(lambda tx: relationships.list_friend_ids(tx, zoe_id)) == [yan_id]
    assert await app.database.read(lambda tx: relationships.list_friend_ids(tx, yan_id)) == [zoe_id]


async def test_a_world_file_defines_premium_of_users_and_guilds(app: App) -> None:
    text = SMALL_WORLD.replace("[users.ben]\n", '[users.ben]\npremium = "tier_0"\n')
    text = text.replace("[guilds.Home]\n", '[guilds.Home]\npremium_tier = 2\nfeatures = ["VANITY_URL"]\n')
    world_without_addition = await build_world(SMALL_WORLD, 1)

    built_world = await worlds.load(app, worlds.read_text(text), 1)

    assert built_world == world_without_addition
    query = "SELECT username, premium_type FROM users WHERE bot = 0 ORDER BY username"
    assert await app.database.read(lambda tx: tx.all(query)) == [("ann", 0), ("ben", 3)]
    stored_guilds = await app.database.read(lambda tx: tx.all("SELECT premium_tier, features FROM guilds"))
    assert stored_guilds == [(2, '["VANITY_URL"]')]
    for invalid_line, key in (('premium = "gold"', "users.ben.premium"), ("premium = 2", "users.ben.premium")):
        with pytest.raises(WorldError, match=key):
            worlds.read_text(text.replace('premium = "tier_0"', invalid_line))
    with pytest.raises(WorldError, match=r"guilds\.Home\.premium_tier"):
        worlds.read_text(text.replace("premium_tier = 2", "premium_tier = 4"))


async def test_a_community_guild_has_the_channels_that_it_requires(world: World) -> None:
    text = SMALL_WORLD.replace("[guilds.Home]\n", '[guilds.Home]\nfeatures = ["COMMUNITY"]\n')

    async def build(text: str, seed: int) -> tuple[dict[str, Any], dict[str, str]]:
        built_world = await worlds.load(world.app, worlds.read_text(text), seed)
        guild = built_world.guilds["Home"]
        headers = {"Authorization": next(iter(built_world.users.values())).token}
        path = f"/guilds/{guild.id}"
        # The update is rejected if a channel that a community requires is missing.
        response = (await world.request("PATCH", path, json={"name": "Renamed"}, headers=headers)).ok()
        return response, {str(channel_id): name for name, channel_id in guild.channels.items()}

    guild, channel_names = await build(text, 1)
    assert (channel_names[guild["rules_channel_id"]], channel_names[guild["public_updates_channel_id"]]) == (
        "hall",
        "hall",
    )
    text = text.replace("[users.ann]", "[users.amy]").replace("[users.ben]", "[users.bob]").replace("helper", "aide")
    text = text.replace('"ann"', '"amy"').replace("ann =", "amy =").replace("ben =", "bob =")
    chosen_channels = 'features = ["COMMUNITY"]\nsystem_channel = "hall"\npublic_updates_channel = "attic"'
    guild, channel_names = await build(text.replace('features = ["COMMUNITY"]', chosen_channels), 2)
    assert (channel_names[guild["rules_channel_id"]], channel_names[guild["public_updates_channel_id"]]) == (
        "hall",
        "attic",
    )


GUILD_SETTINGS = """
[guilds.Home.channels.ideas]
type = "forum"
default_auto_archive_duration = 4320
default_thread_rate_limit_per_user = 5
default_reaction_emoji = "👍"
default_sort_order = 1
default_forum_layout = 2
default_tag_setting = "match_all"
available_tags = [{ name = "new", emoji_name = "✨" }, { name = "done", moderated = true }]

[guilds.Home.channels.Idle]
type = "voice"
"""


async def test_a_world_file_defines_settings_of_guilds_and_forums(world: World) -> None:
    settings = (
        "verification_level = 3\ndefault_message_notifications = 1\nexplicit_content_filter = 2\n"
        'preferred_locale = "de"\nafk_channel = "Idle"\nafk_timeout = 900\nsystem_channel = "attic"\n'
        'system_channel_flags = ["SUPPRESS_JOIN_NOTIFICATIONS", "SUPPRESS_PREMIUM_SUBSCRIPTIONS"]\n'
    )
    text = SMALL_WORLD.replace("[guilds.Home]\n", f"[guilds.Home]\n{settings}") + GUILD_SETTINGS
    built_world = await worlds.load(world.app, worlds.read_text(text), 1)
    ann = Actor(world, built_world.users["ann"].id, built_world.users["ann"].token, "ann")

    guild = (await ann.get(f"/guilds/{built_world.guilds['Home'].id}")).ok()
    forum = (await ann.get(f"/channels/{built_world.guilds['Home'].channels['ideas']}")).ok()

    assert (
        guild
        | {
            "verification_level": 3,
            "default_message_notifications": 1,
            "explicit_content_filter": 2,
            "preferred_locale": "de",
            "afk_channel_id": str(int(built_world.guilds["Home"].channels["Idle"])),
            "afk_timeout": 900,
            "system_channel_flags": 3,
        }
        == guild
    )
    assert (
        forum
        | {
            "default_auto_archive_duration": 4320,
            "default_thread_rate_limit_per_user": 5,
            "default_reaction_emoji": {"emoji_id": None, "emoji_name": "👍"},
            "default_sort_order": 1,
            "default_forum_layout": 2,
            "default_tag_setting": "match_all",
        }
        == forum
    )
    tags = [(tag["name"], tag["emoji_name"], tag["moderated"]) for tag in forum["available_tags"]]
    assert tags == [("new", "✨", False), ("done", None, True)]
    # IDs of tags depend on the file and the seed only.
    assert [tag["id"] for tag in forum["available_tags"]] == ["1188027802046185642", "1188051844468016168"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('afk_channel = "hall"', '.afk_channel: "hall" is a text channel, not a voice channel'),
        ('preferred_locale = "dee"', '.preferred_locale: "dee" is not a locale; did you mean de?'),
        ("verification_level = 9", ".verification_level: invalid enum value 9"),
        ("afk_timeout = 7", ".afk_timeout: invalid enum value 7"),
        ('system_channel_flags = ["QUIET"]', '.system_channel_flags: "QUIET" is not a system channel flag'),
    ],
)
def test_an_invalid_setting_of_a_guild_is_rejected_with_its_path(line: str, message: str) -> None:
    with pytest.raises(WorldError, match=re.escape(f"guilds.Home{message}")):
        worlds.read_text(SMALL_WORLD.replace("[guilds.Home]\n", f"[guilds.Home]\n{line}\n"))


def test_only_a_user_with_an_email_address_is_verified() -> None:
    text = SMALL_WORLD.replace("[users.ben]\n", "[users.ben]\nverified = true\n")
    with pytest.raises(WorldError, match=r"users\.ben\.verified: a user without an email address"):
        worlds.read_text(text)


def test_only_forums_have_tags() -> None:
    text = SMALL_WORLD.replace('topic = "Come in"', 'available_tags = [{ name = "new" }]')
    with pytest.raises(
        WorldError, match=r"channels\.hall\.available_tags: only forum and media channels have this key"
    ):
        worlds.read_text(text)


LOBBY_TABLES = """
[lobbies.Table]
application = "helper"
metadata = { mode = "chess" }
members = { ann = { metadata = { side = "white" }, flags = ["CAN_LINK_LOBBY"] }, ben = {} }
guild = "Home"
channel = "hall"

[lobbies.Corner]
application = "helper"
secret = "psst"
idle_timeout_seconds = 60
"""


async def test_a_world_file_defines_lobbies(app: App) -> None:
    built_world = await worlds.load(app, worlds.read_text(SMALL_WORLD + LOBBY_TABLES), 1)
    bot = built_world.applications["helper"].bot
    assert bot is not None
    ann_id, ben_id = built_world.users["ann"].id, built_world.users["ben"].id
    async with aiohttp.ClientSession(headers={"Authorization": f"Bot {bot.token}"}) as http:

        async def get(path: str) -> Any:
            async with http.get(f"{app.config.public_url}/api/v10{path}") as response:
                return response.status, await response.json()

        _, lobby = await get(f"/lobbies/{built_world.lobbies['Table'].id}")
        members = {member["id"]: (member["metadata"], member["flags"]) for member in lobby["members"]}
        assert lobby["metadata"] == {"mode": "chess"}
        assert members == {str(ann_id): ({"side": "white"}, 1), str(ben_id): (None, 0)}
        assert lobby["linked_channel"]["id"] == str(built_world.guilds["Home"].channels["hall"])
        assert lobby["linked_channel"]["linked_lobby"]["linked_by"] == str(ann_id)
        lobby_path = f"/lobbies/{built_world.lobbies['Corner'].id}"
        assert (await get(lobby_path))[0] == 200
        # Idle timeouts start at the current time, although the world is older: the empty lobby expires in one minute.
        assert isinstance(app.clock, ControlledClock)
        assert app.worker is not None
        app.clock.advance(59_000)
        await app.worker.run_due()
        assert (await get(lobby_path))[0] == 200
        app.clock.advance(2_000)
        await app.worker.run_due()
        assert (await get(lobby_path))[0] == 404


async def test_lobbies_change_no_other_id() -> None:
    world_without_addition = await build_world(SMALL_WORLD, 1)

    built_world = await build_world(SMALL_WORLD + LOBBY_TABLES, 1)

    assert built_world.lobbies
    assert msgspec.structs.replace(built_world, lobbies={}) == world_without_addition


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[lobbies.one]\napplication = "helper"\nsecret = "psst"\n',
            "lobbies.one: secret: Another lobby has this secret.",
        ),
        (
            '[lobbies.one]\napplication = "helper"\nguild = "Home"\nchannel = "hall"\n',
            "lobbies.one: channel: The channel is linked to another lobby.",
        ),
        (
            '[lobbies.one]\napplication = "helper"\nguild = "Home"\nchannel = "Rooms"\n',
            "lobbies.one: channel: Only text channels",
        ),
        (
            '[lobbies.one]\napplication = "helper"\nsecret = "x"\nguild = "Home"\nchannel = "attic"\n',
            "lobbies.one: channel: A lobby created with a secret cannot be linked.",
        ),
        (
            '[lobbies.one]\napplication = "helper"\nmembers = { ben = {}, ann = { metadata = { side = "'
            + "w" * 1000
            + '" } } }\n',
            "lobbies.one: members.ann.metadata: ",
        ),
    ],
)
async def test_an_invalid_lobby_is_rejected(app: App, text: str, problem: str) -> None:
    with pytest.raises(WorldError, match=re.escape(problem)):
        await worlds.load(app, worlds.read_text(SMALL_WORLD + LOBBY_TABLES + text), 1)


async def test_an_invalid_sku_is_rejected_with_the_key_of_the_file(app: App) -> None:
    text = "".join(
        f'[skus.{name}]\napplication = "helper"\ntype = "subscription"\nsold_to = "{name}"\n'
        for name in ("users", "guilds")
    )

    with pytest.raises(WorldError, match=re.escape("skus.guilds: sold_to: An application can offer")):
        await worlds.load(app, worlds.read_text(SMALL_WORLD + text), 1)


async def test_a_channel_added_to_the_file_changes_no_other_id() -> None:
    original_world = await build_world(SMALL_WORLD, 1)
    extended_world = await build_world(SMALL_WORLD + "\n[guilds.Home.channels.cellar]\n", 1)

    assert extended_world.users == original_world.users
    assert extended_world.applications == original_world.applications
    guild = extended_world.guilds["Home"]
    assert guild.channels.pop("cellar")
    assert guild == original_world.guilds["Home"]


async def test_the_demo_world_has_the_documented_contents() -> None:
    built_world = await build_world(None, 0)

    assert list(built_world.users) == ["alice", "bob", "carol"]
    assert list(built_world.applications) == ["demo-bot", "demo-game", "demo-web"]
    assert built_world.applications["demo-web"].bot is None
    assert built_world.applications["demo-bot"].bot is not None
    assert built_world.applications["demo-game"].bot is not None
    guild = built_world.guilds["Town Square"]
    assert list(guild.channels) == ["general", "staff", "Lounge", "ideas"]
    assert list(guild.roles) == ["mods", "players"]


async def test_users_and_bots_of_the_demo_world_have_access_by_role(world: World) -> None:
    built_world = await worlds.load(world.app, worlds.demo_world(), 0)
    guild = built_world.guilds["Town Square"]
    alice, bob = (
        Actor(world, built_world.users[name].id, built_world.users[name].token, name) for name in ("alice", "bob")
    )
    bot_entry = built_world.applications["demo-bot"].bot
    assert bot_entry is not None
    bot = Actor(world, bot_entry.id, bot_entry.token, "demo-bot", is_bot=True)

    assert [entry["name"] for entry in (await bob.get("/users/@me/guilds")).ok()] == ["Town Square"]
    types_by_name = {
        channel["name"]: channel["type"] for channel in (await alice.get(f"/guilds/{guild.id}/channels")).ok()
    }
    assert types_by_name == {"general": 0, "staff": 0, "Lounge": 2, "ideas": 15}
    assert (await alice.get(f"/channels/{guild.channels['staff']}")).status == 200
    assert (await bob.get(f"/channels/{guild.channels['staff']}")).status == 403
    assert (await bot.post(f"/channels/{guild.channels['general']}/messages", json={"content": "hello"})).status == 200
    assert {role["name"] for role in (await alice.get(f"/guilds/{guild.id}/roles")).ok()} == {
        EVERYONE,
        "mods",
        "players",
    }
    game = built_world.applications["demo-game"]
    assert len(game.public_key) == 64


async def test_users_can_log_in_with_their_passwords(world: World) -> None:
    built_world = await worlds.load(world.app, worlds.read_text(SMALL_WORLD), 0)

    response = await world.request("POST", "/auth/login", json={"login": "ann", "password": "correct horse"})
    assert response.ok()["user_id"] == str(built_world.users["ann"].id)
    password = built_world.users["ben"].password
    assert (await world.request("POST", "/auth/login", json={"login": "ben", "password": password})).status == 200
    assert (await world.request("POST", "/auth/login", json={"login": "ben", "password": "x"})).status == 400


async def test_roles_overwrites_and_parents_match_the_file(world: World) -> None:
    built_world = await worlds.load(world.app, worlds.read_text(SMALL_WORLD), 0)
    guild = built_world.guilds["Home"]
    ann = Actor(world, built_world.users["ann"].id, built_world.users["ann"].token, "ann")

    roles = {role["name"]: role for role in (await ann.get(f"/guilds/{guild.id}/roles")).ok()}
    assert [name for name, _ in sorted(roles.items(), key=lambda item: -item[1]["position"])] == [
        "elders",
        "young",
        "helper",
        EVERYONE,
    ]
    assert int(roles["elders"]["permissions"]) == Permissions.MANAGE_MESSAGES
    assert roles["helper"]["managed"]
    channels = {channel["name"]: channel for channel in (await ann.get(f"/guilds/{guild.id}/channels")).ok()}
    assert channels["hall"]["parent_id"] == str(guild.channels["Rooms"])
    # A channel without overwrites takes those of its category.
    assert channels["hall"]["permission_overwrites"] == channels["Rooms"]["permission_overwrites"] != []
    assert {(overwrite["id"], overwrite["type"]) for overwrite in channels["attic"]["permission_overwrites"]} == {
        (str(guild.id), 0),
        (str(built_world.applications["helper"].id), 1),
        (str(guild.roles["elders"]), 0),
    }
    members = {
        member["user"]["username"]: member for member in (await ann.get(f"/guilds/{guild.id}/members?limit=10")).ok()
    }
    assert members["ben"]["nick"] == "Benny"
    assert set(members["ben"]["roles"]) == {str(guild.roles["elders"]), str(guild.roles["young"])}
    assert members["ann"]["roles"] == [str(guild.roles["elders"])]
    assert members["helper"]["roles"] == [roles["helper"]["id"]]


async def test_a_rejected_world_creates_nothing(app: App) -> None:
    await worlds.load(app, worlds.read_text("[users.ann]"), 0)

    with pytest.raises(WorldError, match=r"users\.ann: username: Username is unavailable"):
        await worlds.load(app, worlds.read_text("[users.zoe]\n[users.ann]"), 1)

    assert await app.database.read(lambda tx: tx.value("SELECT COUNT(*) FROM users")) == 1


async def test_loading_the_initial_world_twice_returns_the_same_world(app: App) -> None:
    first_world = await worlds.load_initial(app, worlds.read_text(SMALL_WORLD), 3)

    assert await worlds.load_initial(app, worlds.read_text(SMALL_WORLD), 3) == first_world
    with pytest.raises(WorldError, match="another world or seed"):
        await worlds.load_initial(app, worlds.demo_world(), 3)


GUILD_WORLD = '[users.ann]\n[guilds.Home]\nowner = "ann"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[users", "world: is not valid TOML: "),
        ("[user.ann]", "user: no such key; did you mean users?"),
        ("users = 3", "users: expected object, got int"),
        ("[users.ann]\npassword = 3", "users.ann.password: expected str | null, got int"),
        ("[users.ann]\npasword = 'x'", "users.ann.pasword: no such key; did you mean password?"),
        ("[users.ann]\nglobal_name = ''", "users.ann.global_name: expected str of length >= 1"),
        ("friendships = 3", "friendships: expected a list of tables"),
        (
            "[users.ann]\n[[friendships]]\nbetween = ['ann', 'b']",
            'friendships.0.between: "b" is not a user; choose one of: ann',
        ),
        (
            "[users.ann]\n[[friendships]]\nbetween = ['ann', 'ann']",
            "friendships.0.between: a user cannot be their own friend",
        ),
        ("[users.ann]\n[[friendships]]\nbetween = ['ann']", "friendships.0.between: expected array of length >= 2"),
        ("[lobbies.one]", "lobbies.one: object missing required field application"),
        ("lobbies = 3", "lobbies: expected object"),
        (f'{SMALL_WORLD}[lobbies.one]\napplication = "help"', 'lobbies.one.application: "help" is not an application'),
        (
            f'{SMALL_WORLD}[lobbies.one]\napplication = "helper"\nflags = ["X"]',
            'lobbies.one.flags: "X" is not a lobby flag',
        ),
        (
            f'{SMALL_WORLD}[lobbies.one]\napplication = "helper"\nmembers = {{ zoe = {{}} }}',
            'lobbies.one.members.zoe: "zoe" is not a user',
        ),
        (
            f'{SMALL_WORLD}[lobbies.one]\napplication = "helper"\nmembers = {{ ann = {{ flags = ["X"] }} }}',
            'lobbies.one.members.ann.flags: "X" is not a flag of lobby members',
        ),
        (
            f'{SMALL_WORLD}[lobbies.one]\napplication = "helper"\nguild = "Home"',
            "lobbies.one.channel: a linked channel needs both `guild` and `channel`",
        ),
        (
            f'{SMALL_WORLD}[lobbies.one]\napplication = "helper"\nguild = "Home"\nchannel = "hal"',
            'lobbies.one.channel: "hal" is not a channel; did you mean hall?',
        ),
        (
            f'{SMALL_WORLD}[lobbies.one]\napplication = "helper"\nidle_timeout_seconds = 1',
            "lobbies.one.idle_timeout_seconds: expected int >= 5",
        ),
        ('[skus.one]\napplication = "unknown"', "skus.one.application: "),
        ("[applications.a]", "applications.a.owner: an application needs an owner"),
        (
            "[users.ann]\n[applications.a]\nowner = 'anne'",
            'applications.a.owner: "anne" is not a user; did you mean ann?',
        ),
        ("[users.ann]\n[applications.ann]", "applications.ann: a user has the same name"),
        ("[users.ann]\n[applications.a]\nintents = ['GUILDS']", "applications.a.intents: GUILDS is not privileged"),
        (
            "[users.ann]\n[applications.a]\nintents = ['X']",
            'applications.a.intents: "X" is not a privileged intent; choose one of:',
        ),
        ("[users.ann]\n[applications.a]\nflags = ['EMBEDED']", "did you mean EMBEDDED?"),
        (
            "[users.ann]\n[applications.a]\nscopes = ['voise']",
            'applications.a.scopes: "voise" is not a scope; did you mean voice?',
        ),
        ("[users.ann]\n[applications.a]\nparent = 'b'", 'applications.a.parent: "b" is not an application'),
        ("[users.ann]\n[applications.a]\nparent = 'a'", 'applications.a.parent: "a" is a game of a publisher'),
        (
            "[users.ann]\n[applications.a]\n[applications.b]\nparent = 'a'\n[applications.c]\nparent = 'b'",
            'applications.c.parent: "b" is a game of a publisher and cannot be a publisher',
        ),
        (
            "[users.ann]\n[applications.a.providers]\nSTEEM = {clients = ['1']}",
            'applications.a.providers.STEEM: "STEEM" is not a provider; did you mean STEAM?',
        ),
        (
            "[users.ann]\n[applications.a.providers]\nOIDC = {clients = ['1']}",
            "applications.a.providers.OIDC.issuer: OIDC needs an issuer",
        ),
        ("[guilds.Home]", "guilds.Home: object missing required field owner"),
        (GUILD_WORLD.replace('"ann"', '"zoe"'), 'guilds.Home.owner: "zoe" is not a user; choose one of: ann'),
        (GUILD_WORLD + "everyone = ['FLY']", 'guilds.Home.everyone: "FLY" is not a permission'),
        (GUILD_WORLD + "system_channel = 'lobby'", 'guilds.Home.system_channel: "lobby" is not a channel'),
        (GUILD_WORLD + "rules_channel = 'lobby'", 'guilds.Home.rules_channel: "lobby" is not a channel'),
        (
            GUILD_WORLD + "rules_channel = 'c'\n[guilds.Home.channels.c]\ntype = 'voice'",
            'guilds.Home.rules_channel: "c" is a voice channel, not a text or announcement channel',
        ),
        (
            GUILD_WORLD + "system_channel = 'c'\n[guilds.Home.channels.c]\ntype = 'category'",
            'guilds.Home.system_channel: "c" is a category channel, not a text or announcement channel',
        ),
        (
            GUILD_WORLD + "features = ['COMMUNITY']\n[guilds.Home.channels.c]\ntype = 'voice'",
            "guilds.Home.features: a guild with COMMUNITY needs a text or announcement channel",
        ),
        (GUILD_WORLD + "members = { bob = {} }", 'guilds.Home.members.bob: "bob" is not a user'),
        (GUILD_WORLD + "members = { ann = { roles = ['r'] } }", 'guilds.Home.members.ann.roles: "r" is not a role'),
        (GUILD_WORLD + "bots = { ann = {} }", 'guilds.Home.bots.ann: "ann" is not an application with a bot'),
        (GUILD_WORLD + '[guilds.Home.roles."@everyone"]', "guilds.Home.roles.@everyone: every guild has this role"),
        (GUILD_WORLD + "[guilds.Home.roles.r]\ncolor = -1", "guilds.Home.roles.r.color: expected int >= 0"),
        (GUILD_WORLD + "[guilds.Home.roles.r]\npermissions = ['MANAGE_MESAGES']", "did you mean MANAGE_MESSAGES?"),
        (
            GUILD_WORLD + "[guilds.Home.channels.c]\ntype = 'telly'",
            "guilds.Home.channels.c.type: invalid enum value 'telly'; choose one of: text, voice",
        ),
        (GUILD_WORLD + "[guilds.Home.channels.c]\nparent = 'd'", 'guilds.Home.channels.c.parent: "d" is not a channel'),
        (
            GUILD_WORLD + "[guilds.Home.channels.c]\nparent = 'c'",
            'guilds.Home.channels.c.parent: "c" is a text channel, not a category',
        ),
        (
            GUILD_WORLD + "[guilds.Home.channels.c]\noverwrites = { bob = {} }",
            'channels.c.overwrites.bob: "bob" is not a role or user',
        ),
        (
            GUILD_WORLD + "[guilds.Home.channels.c]\noverwrites = { ann = { deny = ['X'] } }",
            'overwrites.ann.deny: "X" is not a permission',
        ),
        (
            GUILD_WORLD + "[guilds.Home.roles.ann]\n[guilds.Home.channels.c]\noverwrites = { ann = {} }",
            "is both a role and a user",
        ),
    ],
)
def test_an_invalid_file_is_rejected_with_the_path_of_the_key(text: str, message: str) -> None:
    with pytest.raises(WorldError) as caught_error:
        worlds.read_text(text)
    assert message in str(caught_error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"users": {"everyone": {}}}, "users.everyone: username: Username is invalid."),
        (
            {"users": {"ann": {}}, "guilds": {"G": {"owner": "ann", "channels": {"!": {"topic": "x" * 2000}}}}},
            "guilds.G.channels.!",
        ),
        (
            {"users": {"ann": {}}, "applications": {"game": {"url_map": {"api": "https://a.example.org"}}}},
            "applications.game: url_map.0.prefix: A prefix must be a path that starts with a slash.; url_map.0.target: A target",
        ),
    ],
)
async def test_an_error_of_an_action_contains_the_path_of_the_key(
    app: App, content: dict[str, Any], message: str
) -> None:
    with pytest.raises(WorldError) as caught_error:
        await worlds.load(app, worlds.read_mapping(content), 0)
    assert message in str(caught_error.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(WorldError, match=r"cannot read nowhere\.toml"):
        worlds.read_file("nowhere.toml")


MESSAGE_TABLES = """
[[guilds.Home.channels.hall.messages]]
author = "ann"
content = "hello <@1>"

[[guilds.Home.channels.hall.messages]]
author = "ben"
content = "hi"

[[guilds.Home.channels.hall.messages]]
author = "helper"
content = "later"
at = 2026-01-02T03:04:05Z
"""
WORLD_WITH_MESSAGES = SMALL_WORLD.replace('deny = ["SEND_MESSAGES"]', 'deny = ["ADD_REACTIONS"]') + MESSAGE_TABLES


async def test_a_world_has_messages(world: World) -> None:
    built_world = await worlds.load(world.app, worlds.read_text(WORLD_WITH_MESSAGES), 1)
    user = built_world.users["ann"]
    ann = Actor(world, user.id, user.token, "ann")

    messages = (await ann.get(f"/channels/{built_world.guilds['Home'].channels['hall']}/messages")).ok()

    assert [(message["author"]["username"], message["content"]) for message in reversed(messages)] == [
        ("ann", "hello <@1>"),
        ("ben", "hi"),
        ("helper", "later"),
    ]
    assert [message["timestamp"][:19] for message in reversed(messages)] == [
        "2024-01-01T00:01:00",
        "2024-01-01T00:02:00",
        "2026-01-02T03:04:05",
    ]


async def test_messages_do_not_change_the_ids_of_other_objects(app: App) -> None:
    first_world = await worlds.load(app, worlds.read_text(WORLD_WITH_MESSAGES), 1)
    assert first_world == await build_world(SMALL_WORLD, 1)


@pytest.mark.parametrize(
    ("valid_text", "invalid_text", "problem"),
    [
        ('"ben"\ncontent', '"zoe"\ncontent', 'channels.hall.messages.1.author: "zoe" is not a member of the guild'),
        ('content = "hi"', 'content = ""', "guilds.Home.channels.hall.messages.1.content"),
        ("03:04:05Z", "03:04:05", "guilds.Home.channels.hall.messages.2.at: a time needs a time zone"),
        ("channels.hall.messages", "channels.Rooms.messages", "a category channel of a world has no messages"),
        ('deny = ["ADD_REACTIONS"]', 'deny = ["SEND_MESSAGES"]', "guilds.Home.channels.hall.messages.1: Missing Perm"),
        ('content = "hi"', f'content = "{"x" * 2001}"', "guilds.Home.channels.hall.messages.1.content: expected"),
    ],
)
async def test_an_invalid_message_is_rejected_with_its_path(
    app: App, valid_text: str, invalid_text: str, problem: str
) -> None:
    with pytest.raises(WorldError) as caught_error:
        await worlds.load(app, worlds.read_text(WORLD_WITH_MESSAGES.replace(valid_text, invalid_text)), 1)
    assert problem in str(caught_error.value)
