"""Operations of the developer portal: applications, secrets, deletion, approvals, testers and assets.

One test is about channel obfuscation, which developers enable for their application."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import CloseCode, CommandHandlerType, CommandType, OverwriteType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import developers as wire
from hubbub.server.app import App
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config
from hubbub.server.identity import applications, developers
from hubbub.server.identity.applications.testers import TESTER_ACCEPTED, TESTER_INVITED
from hubbub.server.places import members
from tests.fixtures.validator import ResponseMonitor
from tests.media import data_uri, png
from tests.oauth import REDIRECT, url_parameters
from tests.players import create_provisional_player, create_social_game, link_account, request_link_tokens
from tests.server.identity.accounts import create_user_with_password, enable_totp, totp_code
from tests.world import NOW_MS, Actor, ApiResponse, Guild, World

DAY_MS = 86_400_000
UNPRIVILEGED_INTENTS = Intents.BOT_MASK & ~Intents.PRIVILEGED


@pytest.fixture
async def operated_world(store_config: Config, response_monitor: ResponseMonitor) -> AsyncIterator[World]:
    """A world that is not a rehearsal, so an operator decides approvals."""
    app = App(msgspec.structs.replace(store_config, control=False), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


async def create_application(owner: Actor, name: str = "My game") -> str:
    """Create an application and return its ID."""
    created_application = (await owner.post("/applications", json={"name": name})).ok()
    application_id: str = created_application["id"]
    return application_id


async def create_application_with_bot(owner: Actor, name: str = "My bot") -> tuple[str, Actor]:
    """Create an application with a bot; return the application's ID and the bot."""
    application_id = await create_application(owner, name)
    token = (await owner.post(f"/applications/{application_id}/bot")).ok()["token"]
    return application_id, Actor(
        owner.world, int(application_id), token, name, is_bot=True, application_id=int(application_id)
    )


# A developer's own applications


async def test_a_user_creates_and_lists_an_application(world: World) -> None:
    alice, bob = await world.user(), await world.user()

    response = await alice.post("/applications", json={"name": "  My   game "})

    assert response.status == 201
    created_application = response.ok()
    assert created_application["name"] == "My game"
    assert created_application["owner"]["id"] == str(alice.id)
    assert "bot" not in created_application
    assert [application["id"] for application in (await alice.get("/applications")).ok()] == [created_application["id"]]
    assert (await alice.get(f"/applications/{created_application['id']}")).ok() == created_application
    assert (await bob.get("/applications")).ok() == []
    (await (await world.bot()).get("/applications")).rejected(403, 20001)


async def test_application_names_are_validated_and_the_number_of_applications_is_limited(world: World) -> None:
    alice = await world.user()

    for name in ("x", "x" * 33):
        assert (await alice.post("/applications", json={"name": name})).errors("name")
    assert (await alice.post("/applications", json={"name": "a @ b"})).errors("name") == ["USERNAME_INVALID"]
    assert (await alice.post("/applications", json={})).errors("name") == ["BASE_TYPE_REQUIRED"]

    def create_applications(call: Call) -> None:
        for _ in range(wire.APPLICATIONS_MAX):
            applications.management.create(call, "another", UserId(alice.id), with_bot=False)

    await world.write(create_applications)
    (await alice.post("/applications", json={"name": "one more"})).rejected(400, 50011)


async def test_enabling_activities_creates_an_entry_point_command(world: World) -> None:
    alice = await world.user()
    application_id, bot = await create_application_with_bot(alice)
    path, commands_path = f"/applications/{application_id}", f"/applications/{application_id}/commands"

    (await bot.patch(path, json={"activities": True})).ok()
    assert (await bot.get(commands_path)).ok() == []
    for _ in range(2):
        assert (await alice.patch(path, json={"activities": True})).ok()["flags"] == ApplicationFlags.EMBEDDED
    (command,) = (await bot.get(commands_path)).ok()
    assert (command["name"], command["type"], command["handler"]) == (
        "launch",
        CommandType.PRIMARY_ENTRY_POINT,
        CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY,
    )

    (await bot.patch(f"{commands_path}/{command['id']}", json={"name": "play", "handler": 1})).ok()
    (await alice.patch(path, json={"activities": True, "name": "Game"})).ok()
    assert [command["name"] for command in (await bot.get(commands_path)).ok()] == ["play"]
    assert (await alice.patch(path, json={"activities": False})).ok()["flags"] == 0
    assert (await bot.get(commands_path)).ok() == []


async def test_an_owner_updates_fields_that_the_bot_cannot(world: World) -> None:
    alice = await world.user()
    application_id, bot = await create_application_with_bot(alice)
    body = {
        "name": "Better name",
        "bot_public": False,
        "bot_require_code_grant": True,
        "redirect_uris": [REDIRECT, "http://127.0.0.1/callback", "mygame:/authorize/callback"],
        "terms_of_service_url": "https://game.example/terms",
        "privacy_policy_url": "https://game.example/privacy",
        "channel_obfuscation": True,
    }

    (await bot.patch(f"/applications/{application_id}", json=body)).ok()
    application_before = (await alice.get(f"/applications/{application_id}")).ok()
    (await alice.patch(f"/applications/{application_id}", json=body | {"public_client": True})).ok()
    application_after = (await alice.get(f"/applications/{application_id}")).ok()

    assert not [key for key in body if application_before.get(key) == body[key]]
    assert {key: application_after[key] for key in body} == body
    assert application_after["flags"] == ApplicationFlags.PUBLIC_OAUTH2_CLIENT
    assert "channel_obfuscation" not in (await bot.get("/applications/@me")).ok()
    (await alice.patch(f"/applications/{application_id}", json={"public_client": False, "redirect_uris": None})).ok()
    application_after = (await alice.get(f"/applications/{application_id}")).ok()
    assert (application_after["flags"], application_after["redirect_uris"]) == (0, [])


async def test_each_invalid_redirect_uri_is_named(world: World) -> None:
    alice = await world.user()
    application_id = await create_application(alice)
    path = f"/applications/{application_id}"

    response = await alice.patch(
        path, json={"redirect_uris": [REDIRECT, "javascript:alert(1)", REDIRECT, "hubbub-1:/authorize/callback"]}
    )

    assert response.errors("redirect_uris.1") == ["REDIRECT_URI_INVALID"]
    assert response.errors("redirect_uris.2") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    assert response.errors("redirect_uris.3") == ["REDIRECT_URI_INVALID"]
    too_many_uris = [f"{REDIRECT}/{number}" for number in range(26)]
    assert (await alice.patch(path, json={"redirect_uris": too_many_uris})).errors("redirect_uris") == [
        "BASE_TYPE_MAX_LENGTH"
    ]
    assert (await alice.get(path)).ok()["redirect_uris"] == []
    standard_uri = f"hubbub-{application_id}:/authorize/callback"
    assert (await alice.patch(path, json={"redirect_uris": [standard_uri]})).ok()["redirect_uris"] == [standard_uri]


async def test_install_settings_only_accept_install_scopes(world: World) -> None:
    alice = await world.user()
    path = f"/applications/{await create_application(alice)}"

    def install_config(scope: str) -> dict[str, object]:
        return {"oauth2_install_params": {"scopes": ["applications.commands", scope], "permissions": "0"}}

    response = await alice.patch(path, json={"integration_types_config": {"0": install_config("fly")}})
    assert response.errors("integration_types_config.0.oauth2_install_params.scopes.1") == ["ENUM_TYPE_COERCE"]
    response = await alice.patch(path, json={"integration_types_config": {"1": install_config("identify")}})
    assert response.errors("integration_types_config.1.oauth2_install_params.scopes.1") == ["ENUM_TYPE_COERCE"]
    response = await alice.patch(path, json={"install_params": {"scopes": ["bot", "email"], "permissions": "0"}})
    assert response.errors("install_params.scopes.1") == ["ENUM_TYPE_COERCE"]
    response = await alice.patch(path, json={"integration_types_config": {"1": install_config("bot"), "2": {}}})
    assert response.errors("integration_types_config.1.oauth2_install_params.scopes.1") == ["ENUM_TYPE_COERCE"]
    assert response.errors("integration_types_config.2") == ["BASE_TYPE_CHOICES"]
    assert set((await alice.get(path)).ok()["integration_types_config"]) == {"0", "1"}
    settings = {"0": install_config("bot"), "1": {}}
    response = await alice.patch(path, json={"integration_types_config": settings})
    assert response.ok()["integration_types_config"] == settings


# Secrets


async def test_a_bot_is_added_to_an_application_once(world: World) -> None:
    alice = await world.user()
    application_id, bot = await create_application_with_bot(alice)

    assert (await bot.get("/users/@me")).ok()["id"] == application_id
    response = await alice.post(f"/applications/{application_id}/bot")
    assert response.errors("application_id") == ["APPLICATION_HAS_BOT"]
    assert (await alice.get(f"/applications/{application_id}")).ok()["bot"]["bot"] is True


async def test_resetting_the_bot_token_revokes_the_old_one(world: World) -> None:
    alice = await world.user()
    application_id, bot = await create_application_with_bot(alice)
    session = await bot.connect(UNPRIVILEGED_INTENTS)

    response = await alice.post(f"/applications/{application_id}/bot/reset")

    assert response.headers["Cache-Control"] == "no-store"
    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    (await bot.get("/users/@me")).rejected(401, 0)
    bot.token = response.ok()["token"]
    await bot.connect(UNPRIVILEGED_INTENTS)
    application_id_without_bot = await create_application(alice)
    (await alice.post(f"/applications/{application_id_without_bot}/bot/reset")).rejected(400, 50010)


async def test_resetting_the_client_secret_invalidates_the_old_one(world: World) -> None:
    alice = await world.user()
    application_id = await create_application(alice)

    async def request_token(secret: str) -> ApiResponse:
        form = {
            "grant_type": "client_credentials",
            "scope": "identify",
            "client_id": application_id,
            "client_secret": secret,
        }
        return await world.request("POST", "/oauth2/token", data=form)

    first_secret = (await alice.post(f"/applications/{application_id}/reset", json={})).ok()["secret"]
    (await request_token(first_secret)).ok()
    second_secret = (await alice.post(f"/applications/{application_id}/reset")).ok()["secret"]
    (await request_token(second_secret)).ok()
    assert (await request_token(first_secret)).json["error"] == "invalid_client"


async def test_an_owner_with_an_authenticator_confirms_with_a_code(world: World) -> None:
    alice = await create_user_with_password(world)
    application_id, _ = await create_application_with_bot(alice)
    secret, _ = await enable_totp(world, alice)

    for path in (f"/applications/{application_id}/bot/reset", f"/applications/{application_id}/reset"):
        (await alice.post(path)).rejected(401, 60003)
        assert (await alice.post(path, json={"code": "000000x"})).errors("code") == ["MFA_INVALID_CODE"]
        current_code = totp_code(world, secret)
        (await alice.post(path, json={"code": current_code})).ok()
        assert (await alice.post(path, json={"code": current_code})).errors("code") == ["MFA_INVALID_CODE"]
        world.clock.advance(30_000)
    (await alice.delete(f"/applications/{application_id}")).rejected(401, 60003)
    (await alice.delete(f"/applications/{application_id}", json={"code": totp_code(world, secret)})).ok()


async def test_guessing_codes_is_throttled(world: World) -> None:
    alice = await create_user_with_password(world)
    application_id = await create_application(alice)
    await enable_totp(world, alice)

    for _ in range(10):
        assert (await alice.post(f"/applications/{application_id}/reset", json={"code": "zzzzzz"})).errors("code")
    assert (await alice.post(f"/applications/{application_id}/reset", json={"code": "zzzzzz"})).status == 429


async def test_other_users_cannot_manage_an_application(world: World) -> None:
    alice, mallory = await world.user(), await world.user()
    application_id, bot = await create_application_with_bot(alice)
    application_path = f"/applications/{application_id}"

    for method, path, body in (
        ("DELETE", application_path, None),
        ("POST", f"{application_path}/bot", None),
        ("POST", f"{application_path}/bot/reset", None),
        ("POST", f"{application_path}/reset", None),
        ("GET", f"{application_path}/approvals", None),
        ("POST", f"{application_path}/approvals", {"kind": "scope", "name": "rpc", "reason": "please"}),
        ("GET", f"{application_path}/testers", None),
        ("POST", f"{application_path}/testers", {"username": "x"}),
        ("POST", f"{application_path}/test-users", {"username": "xyz"}),
        ("DELETE", f"{application_path}/testers/1", None),
        ("POST", f"/oauth2{application_path}/assets", {"name": "x", "image": data_uri(png())}),
        ("DELETE", f"/oauth2{application_path}/assets/1", None),
    ):
        (await mallory.request(method, path, json=body)).rejected(403, 20012)
        (await bot.request(method, path, json=body)).rejected(403, 20001)
        (await mallory.request(method, path.replace(application_id, "1"), json=body)).rejected(404, 10002)


# Deleting


async def test_deleting_an_application_deletes_its_bot_tokens_and_memberships(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(bob)
    application_id, bot = await create_application_with_bot(alice)
    (await alice.patch(f"/applications/{application_id}", json={"redirect_uris": [REDIRECT]})).ok()
    await world.write(lambda call: members.membership.add(call, guild.id, UserId(bot.id)), actor=bob.id)
    (await bot.put(f"/applications/{application_id}/commands", json=[{"name": "hi", "description": "x"}])).ok()
    (await alice.post(f"/applications/{application_id}/emojis", json={"name": "wave", "image": data_uri(png())})).ok()
    message = await guild.send_message(bot)
    authorize_path = (
        f"/oauth2/authorize?client_id={application_id}&response_type=token&scope=identify&redirect_uri={REDIRECT}"
    )
    token = url_parameters((await bob.post(authorize_path, json={"authorize": True})).ok()["url"])["access_token"]
    bob_session, bot_session = await bob.connect(), await bot.connect(UNPRIVILEGED_INTENTS)

    (await alice.delete(f"/applications/{application_id}")).ok()

    assert await bot_session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    assert (await bob_session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == application_id
    (await bot.get("/users/@me")).rejected(401, 0)
    (await world.request("GET", "/oauth2/@me", headers={"Authorization": f"Bearer {token}"})).rejected(401, 0)
    (await alice.get(f"/applications/{application_id}")).rejected(404, 10002)
    assert (await bob.get("/oauth2/tokens")).ok() == []
    assert (await alice.get("/applications")).ok() == []
    # The messages of the bot stay.
    messages = (await bob.get(f"/channels/{guild.general}/messages")).ok()
    assert message["id"] in [listed_message["id"] for listed_message in messages]


async def test_deleting_an_application_removes_a_commands_only_installation(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(bob)
    application_id = await create_application(alice)
    authorize_path = f"/oauth2/authorize?client_id={application_id}&scope=applications.commands&integration_type=0"
    (await bob.post(authorize_path, json={"authorize": True, "guild_id": str(guild.id)})).ok()
    bob_session = await bob.connect()

    (await alice.delete(f"/applications/{application_id}")).ok()

    assert (await bob_session.next("INTEGRATION_DELETE"))["application_id"] == application_id


async def test_deleting_a_game_deletes_its_provisional_accounts_only(world: World) -> None:
    client = await create_social_game(world)
    player, alice = await create_provisional_player(client, "one"), await world.user()
    linked_bearer = await link_account(client, alice, (await create_provisional_player(client, "two")).token)

    (await client.owner.delete(f"/applications/{client.id}")).ok()

    (await player.get("/users/@me")).rejected(401, 0)
    (await linked_bearer.get("/users/@me")).rejected(401, 0)
    assert (await alice.get("/users/@me")).ok()["id"] == str(alice.id)

    def count_rows(call: Call) -> list[int]:
        tables = ("external_identities WHERE family_id", "provisional_accounts WHERE family_id")
        return [call.tx.value(f"SELECT COUNT(*) FROM {table} = ?", client.id) for table in tables]

    assert await world.write(count_rows) == [0, 0]


async def test_a_publisher_with_games_cannot_be_deleted(world: World) -> None:
    alice = await world.user()
    parent_id, child_id = await create_application(alice), await create_application(alice, "Child")

    def set_parent(call: Call) -> None:
        row = applications.find(call.tx, int(child_id))
        assert row is not None
        applications.management.update(
            call, row._replace(parent_id=applications.families.read_family_id(call.tx, int(parent_id)))
        )

    await world.write(set_parent)

    assert (await alice.delete(f"/applications/{parent_id}")).errors("application_id") == ["APPLICATION_HAS_CHILDREN"]
    # spec/sdk.md#8.7: a publisher and its games are the same type of client.
    response = await alice.patch(f"/applications/{child_id}", json={"public_client": True})
    assert response.errors("public_client") == ["APPLICATION_FAMILY_CLIENT_TYPE"]
    (await alice.delete(f"/applications/{child_id}")).ok()
    (await alice.delete(f"/applications/{parent_id}")).ok()


# Scopes


def find_approval(approvals: dict[str, list[dict[str, Any]]], name: str) -> dict[str, Any]:
    """Return the approval of an intent or scope."""
    return next(approval for approval in approvals["intents"] + approvals["scopes"] if approval["name"] == name)


def state_of(approvals: dict[str, list[dict[str, Any]]], name: str) -> str:
    """Return the approval state of an intent or scope."""
    state: str = find_approval(approvals, name)["state"]
    return state


async def test_a_rehearsal_approves_a_scope_immediately(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    path = f"/applications/{await create_application(alice)}"
    (await alice.patch(path, json={"redirect_uris": [REDIRECT]})).ok()
    authorize_path = f"/oauth2/authorize?client_id={path.rpartition('/')[2]}&response_type=code&scope=activities.read"
    assert (await bob.get(authorize_path)).json["error"] == "invalid_scope"

    body = {"kind": "scope", "name": "activities.read", "reason": "To show what friends play"}
    approval = (await alice.post(f"{path}/approvals", json=body)).ok()

    assert (approval["state"], approval["reason"]) == ("approved", body["reason"])
    (await bob.get(authorize_path)).ok()
    assert (await alice.post(f"{path}/approvals", json=body)).errors("name") == ["APPROVAL_GRANTED"]


async def test_outside_a_rehearsal_the_operator_approves_or_denies_scopes(operated_world: World) -> None:
    alice = await operated_world.user()
    application_id = await create_application(alice)
    path = f"/applications/{application_id}/approvals"
    for name in ("activities.read", "voice"):
        body = {"kind": "scope", "name": name, "reason": "Because"}
        assert (await alice.post(path, json=body)).ok()["state"] == "pending"

    def decide(call: Call) -> list[str]:
        row = applications.find(call.tx, int(application_id))
        assert row is not None
        pending_names = [approval.name for approval in developers.list_pending(call.tx)]
        developers.approve(call, row, "scope", "activities.read")
        developers.deny(call, row, "scope", "voice")
        return pending_names

    assert await operated_world.write(decide) == ["activities.read", "voice"]
    approvals = (await alice.get(path)).ok()
    assert state_of(approvals, "activities.read") == "approved"
    assert state_of(approvals, "voice") == "denied"
    assert state_of(approvals, "rpc") == "none"
    assert await operated_world.write(lambda call: developers.list_pending(call.tx)) == []


async def test_only_scopes_and_intents_that_need_approval_can_be_requested(world: World) -> None:
    alice = await world.user()
    path = f"/applications/{await create_application(alice)}/approvals"

    async def request_approval(kind: str, name: str, reason: str = "x") -> ApiResponse:
        return await alice.post(path, json={"kind": kind, "name": name, "reason": reason})

    assert (await request_approval("scope", "identify")).errors("name") == ["APPROVAL_NOT_NEEDED"]
    assert (await request_approval("scope", "fly")).errors("name") == ["ENUM_TYPE_COERCE"]
    assert (await request_approval("scope", "rpc", "")).errors("reason")
    assert (await request_approval("wish", "rpc")).errors("kind")
    assert (await request_approval("intent", "GUILDS")).errors("name")
    assert (await request_approval("intent", "GUILD_MEMBERS")).errors("name") == ["APPROVAL_NEEDS_BOT"]


async def test_accepting_the_social_layer_terms_unlocks_its_scopes(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    application_id = await create_application(alice)
    (await alice.patch(f"/applications/{application_id}", json={"redirect_uris": [REDIRECT]})).ok()
    authorize_path = f"/oauth2/authorize?client_id={application_id}&response_type=code&scope=relationships.read"
    assert (await bob.get(authorize_path)).json["error"] == "invalid_scope"

    body = {"accept_social_layer_terms": True}
    updated_application = (await alice.patch(f"/applications/{application_id}", json=body)).ok()

    assert updated_application["flags"] == ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED
    (await bob.get(authorize_path)).ok()
    approvals = (await alice.get(f"/applications/{application_id}/approvals")).ok()
    assert state_of(approvals, "relationships.read") == "open"
    response = await alice.patch(f"/applications/{application_id}", json={"accept_social_layer_terms": False})
    assert response.errors("accept_social_layer_terms")


# Privileged intents


async def add_members(world: World, guild: Guild, count: int) -> None:
    """Add `count` members to a guild."""

    def insert_members(call: Call) -> None:
        call.tx.run_many(
            "INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, ?)",
            [(guild.id, 1_000_000 + number, call.now_ms) for number in range(count)],
        )

    await world.write(insert_members)


async def remove_members(world: World) -> None:
    """Remove the members that `add_members` added."""
    await world.write(lambda call: call.tx.run("DELETE FROM members WHERE user_id < 2000000"))


async def create_bot_in_guild(world: World) -> tuple[Actor, str, Actor, Guild]:
    """Create a bot in a guild; return the application's owner, the application's path, the bot and the guild."""
    alice = await world.user()
    guild = await world.guild()
    application_id, bot = await create_application_with_bot(alice)
    await world.write(lambda call: members.membership.add(call, guild.id, UserId(bot.id)), actor=guild.owner.id)
    return alice, f"/applications/{application_id}", bot, guild


async def advance_to_day(world: World, day: int) -> None:
    """Advance the clock to `day` days after NOW_MS and run the jobs that are due."""
    assert world.app.worker is not None
    world.clock.advance(NOW_MS + day * DAY_MS - world.clock.now_ms())
    await world.app.worker.run_due()


GUILD_MEMBERS_LIMITED = ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED


async def test_below_ten_thousand_users_intents_need_no_approval(world: World) -> None:
    alice, path, _, guild = await create_bot_in_guild(world)
    await add_members(world, guild, 9_997)

    approvals = (await alice.get(f"{path}/approvals")).ok()
    assert approvals["reach"] == {
        "counted": "users",
        "count": 9_999,
        "free_below": 10_000,
        "free": True,
        "expires_at": None,
    }
    assert state_of(approvals, "GUILD_MEMBERS") == "open"
    assert (await alice.patch(path, json={"flags": GUILD_MEMBERS_LIMITED})).ok()["flags"] == GUILD_MEMBERS_LIMITED
    body = {"kind": "intent", "name": "GUILD_MEMBERS", "reason": "x"}
    assert (await alice.post(f"{path}/approvals", json=body)).errors("name") == ["APPROVAL_NOT_NEEDED"]


async def test_from_ten_thousand_users_the_operator_grants_intents_for_a_year(operated_world: World) -> None:
    alice, path, bot, guild = await create_bot_in_guild(operated_world)
    await add_members(operated_world, guild, 9_998)
    response = await alice.patch(path, json={"flags": GUILD_MEMBERS_LIMITED})
    assert response.errors("flags") == ["APPLICATION_INTENTS_NEED_REVIEW"]
    body = {"kind": "intent", "name": "GUILD_MEMBERS", "reason": "Greets new members"}
    assert (await alice.post(f"{path}/approvals", json=body)).ok()["state"] == "pending"

    def approve(call: Call) -> None:
        row = applications.find(call.tx, bot.id)
        assert row is not None
        developers.approve(call, row, "intent", "GUILD_MEMBERS")

    await operated_world.write(approve)

    (await bot.get(f"/guilds/{guild.id}/members")).ok()
    approval = find_approval((await alice.get(f"{path}/approvals")).ok(), "GUILD_MEMBERS")
    assert (approval["state"], approval["enabled"]) == ("approved", True)
    assert approval["ends_at"].startswith("2027-11-18")
    assert (await alice.post(f"{path}/approvals", json=body)).errors("name") == ["APPROVAL_GRANTED"]

    # An approval can be renewed before it expires, and then lasts a year longer.
    await advance_to_day(operated_world, 300)
    assert (await alice.post(f"{path}/approvals", json=body)).ok()["state"] == "pending"
    await operated_world.write(approve)
    approval = find_approval((await alice.get(f"{path}/approvals")).ok(), "GUILD_MEMBERS")
    assert approval["ends_at"].startswith("2028-11-17")

    await advance_to_day(operated_world, 366)
    (await bot.get(f"/guilds/{guild.id}/members")).ok()
    await advance_to_day(operated_world, 731)
    (await bot.get(f"/guilds/{guild.id}/members")).rejected(403, 50001)
    approval = find_approval((await alice.get(f"{path}/approvals")).ok(), "GUILD_MEMBERS")
    assert (approval["state"], approval["enabled"]) == ("expired", False)


@pytest.mark.dated(changes.PRIVILEGED_INTENTS_BY_USERS)
async def test_granted_intents_expire_from_the_date(operated_world: World) -> None:
    alice, path, bot, _ = await create_bot_in_guild(operated_world)

    def approve(call: Call) -> None:
        row = applications.find(call.tx, bot.id)
        assert row is not None
        developers.approve(call, row, "intent", "GUILD_MEMBERS")

    end_times = []
    for offset_ms in (-1, 0):
        operated_world.clock.set(changes.PRIVILEGED_INTENTS_BY_USERS.at_ms + offset_ms)
        await operated_world.write(approve)
        approval = find_approval((await alice.get(f"{path}/approvals")).ok(), "GUILD_MEMBERS")
        assert approval["enabled"]
        end_times.append(approval["ends_at"])

    assert end_times[0] is None
    assert end_times[1].startswith("2027-06-10")


async def test_a_bot_that_falls_below_the_limit_keeps_its_intent_without_approval(operated_world: World) -> None:
    alice, path, bot, guild = await create_bot_in_guild(operated_world)
    await add_members(operated_world, guild, 9_998)

    def approve(call: Call) -> None:
        row = applications.find(call.tx, bot.id)
        assert row is not None
        developers.approve(call, row, "intent", "GUILD_MEMBERS")

    await operated_world.write(approve)
    await remove_members(operated_world)
    await advance_to_day(operated_world, 366)

    assert (await alice.get(path)).ok()["flags"] == GUILD_MEMBERS_LIMITED
    assert state_of((await alice.get(f"{path}/approvals")).ok(), "GUILD_MEMBERS") == "open"


async def test_a_bot_that_reaches_the_limit_has_ninety_days_to_request_approval(operated_world: World) -> None:
    alice, path, _, guild = await create_bot_in_guild(operated_world)
    both_flags = GUILD_MEMBERS_LIMITED | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED
    (await alice.patch(path, json={"flags": both_flags})).ok()
    await add_members(operated_world, guild, 9_998)

    await advance_to_day(operated_world, 2)
    reach = (await alice.get(f"{path}/approvals")).ok()["reach"]
    assert reach["expires_at"].startswith("2027-02-18")
    body = {"kind": "intent", "name": "MESSAGE_CONTENT", "reason": "Reads"}
    (await alice.post(f"{path}/approvals", json=body)).ok()
    assert (await alice.get(path)).ok()["flags"] == both_flags

    await advance_to_day(operated_world, 93)
    # An intent requested in time stays enabled until the operator decides.
    assert (await alice.get(path)).ok()["flags"] == ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED


# Channel obfuscation


async def test_channel_obfuscation_hides_channels_before_the_date(
    store_config: Config, response_monitor: ResponseMonitor
) -> None:
    # 2026-01-01, before the change of 16 November.
    app = App(store_config, clock=ControlledClock(1_767_225_600_000, running=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            world = World(app, client)
            alice, path, bot, guild = await create_bot_in_guild(world)
            hidden_channel_id = await guild.channel("secret")
            await guild.overwrite(
                hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE
            )

            def channel_name_of(session_guilds: dict[str, dict[str, list[dict[str, str]]]]) -> str:
                channels = session_guilds[str(guild.id)]["channels"]
                return next(channel["name"] for channel in channels if channel["id"] == str(hidden_channel_id))

            assert channel_name_of((await bot.connect(UNPRIVILEGED_INTENTS)).guilds) == "secret"
            (await alice.patch(path, json={"channel_obfuscation": True})).ok()
            assert channel_name_of((await bot.connect(UNPRIVILEGED_INTENTS)).guilds) != "secret"
            await world.close()
    finally:
        await app.stop()


# Testers


async def test_testers_are_invited_accept_and_are_removed(world: World) -> None:
    alice, bob = await world.user(), await world.user("bob")
    application_id = await create_application(alice)
    path = f"/applications/{application_id}/testers"

    assert (await alice.post(path, json={"username": "BOB"})).ok()["state"] == TESTER_INVITED
    second_invitation = await alice.post(path, json={"username": "bob"})
    assert second_invitation.errors("username") == ["TESTER_ALREADY_INVITED"]
    assert (await alice.post(path, json={"username": "unknown"})).errors("username") == ["TESTER_UNKNOWN"]
    own_invitation = await alice.post(path, json={"username": alice.name})
    assert own_invitation.errors("username") == ["TESTER_IS_OWNER"]

    invitations = (await bob.get("/users/@me/testing")).ok()
    assert [(invitation["application"]["id"], invitation["state"]) for invitation in invitations] == [
        (application_id, TESTER_INVITED)
    ]
    assert not await world.write(lambda call: applications.testers.is_tester(call.tx, int(application_id), bob.id))
    (await bob.put(f"/users/@me/testing/{application_id}")).ok()
    assert await world.write(lambda call: applications.testers.is_tester(call.tx, int(application_id), bob.id))
    assert [invitation["state"] for invitation in (await alice.get(path)).ok()] == [TESTER_ACCEPTED]

    (await alice.delete(f"{path}/{bob.id}")).ok()
    (await alice.delete(f"{path}/{bob.id}")).rejected(404, 10013)
    (await bob.put(f"/users/@me/testing/{application_id}")).rejected(404, 10002)
    (await bob.delete(f"/users/@me/testing/{application_id}")).rejected(404, 10002)
    assert (await bob.get("/users/@me/testing")).ok() == []


async def test_a_tester_can_decline_the_invitation(world: World) -> None:
    alice, bob = await world.user(), await world.user("bob")
    application_id = await create_application(alice)
    (await alice.post(f"/applications/{application_id}/testers", json={"username": "bob"})).ok()

    (await bob.delete(f"/users/@me/testing/{application_id}")).ok()

    assert (await alice.get(f"/applications/{application_id}/testers")).ok() == []


async def test_owner_and_testers_can_use_unapproved_scopes(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user("bob"), await world.user()
    application_id = await create_application(alice)
    (await alice.patch(f"/applications/{application_id}", json={"redirect_uris": [REDIRECT]})).ok()
    (await alice.post(f"/applications/{application_id}/testers", json={"username": "bob"})).ok()
    authorize_path = f"/oauth2/authorize?client_id={application_id}&response_type=code&scope="

    # spec/rpc.md#6: before approval, rpc and messages.read are available to the owner and testers.
    (await alice.get(f"{authorize_path}rpc")).ok()
    assert (await bob.get(f"{authorize_path}rpc")).json["error"] == "invalid_scope"
    (await bob.put(f"/users/@me/testing/{application_id}")).ok()
    (await bob.get(f"{authorize_path}rpc+messages.read")).ok()
    assert (await bob.get(f"{authorize_path}voice")).json["error"] == "invalid_scope"
    assert (await carol.get(f"{authorize_path}rpc")).json["error"] == "invalid_scope"


async def test_testers_have_no_merge_limit(world: World) -> None:
    client = await create_social_game(world)
    bob = await world.user("bob")
    (await client.owner.post(f"/applications/{client.id}/testers", json={"username": "bob"})).ok()
    (await bob.put(f"/users/@me/testing/{client.id}")).ok()

    for number in range(6):
        player = await create_provisional_player(client, str(number))
        tokens = await request_link_tokens(client, bob, player.token)
        (await client.post_form("/oauth2/token/revoke", token=tokens["access_token"])).ok()


async def test_a_rehearsal_creates_test_users(world: World) -> None:
    alice = await world.user()
    application_id = await create_application(alice)

    test_user = (await alice.post(f"/applications/{application_id}/test-users", json={"username": "tess"})).ok()

    tess = Actor(world, int(test_user["user"]["id"]), test_user["token"], "tess")
    assert (await tess.get("/users/@me")).ok()["username"] == "tess"
    login = await world.request("POST", "/auth/login", json={"login": "tess", "password": test_user["password"]})
    assert login.ok()["token"]
    assert [tester["state"] for tester in (await alice.get(f"/applications/{application_id}/testers")).ok()] == [
        TESTER_ACCEPTED
    ]
    response = await alice.post(f"/applications/{application_id}/test-users", json={"username": "tess"})
    assert response.errors("username") == ["USERNAME_ALREADY_TAKEN"]


async def test_test_users_are_unavailable_outside_a_rehearsal(operated_world: World) -> None:
    alice = await operated_world.user()
    application_id = await create_application(alice)

    (await alice.post(f"/applications/{application_id}/test-users", json={"username": "tess"})).rejected(404, 0)


async def test_the_number_of_testers_is_limited(world: World) -> None:
    alice = await world.user()
    application_id = await create_application(alice)

    def add_testers(call: Call) -> None:
        for number in range(wire.APPLICATION_TESTERS_MAX):
            applications.testers.save_tester(
                call.tx, applications.testers.TesterRow(int(application_id), number + 1, TESTER_INVITED, call.now_ms)
            )

    await world.write(add_testers)
    response = await alice.post(f"/applications/{application_id}/test-users", json={"username": "tess"})
    assert response.errors("username") == ["TESTER_LIMIT"]


# Rich presence assets


async def test_rich_presence_assets_are_identified_by_their_name(world: World) -> None:
    alice = await world.user()
    application_id = await create_application(alice)
    path = f"/oauth2/applications/{application_id}/assets"

    created_asset = (await alice.post(path, json={"name": "Big_Castle", "image": data_uri(png())})).ok()

    assert (created_asset["name"], created_asset["type"]) == ("big_castle", 2)
    assert (await world.request("GET", path)).ok() == [created_asset]
    image = await world.request("GET", f"{world.url}/cdn/app-assets/{application_id}/{created_asset['id']}.png?size=16")
    assert image.headers["Content-Type"] == "image/png"
    duplicate_response = await alice.post(path, json={"name": "BIG_castle", "image": data_uri(png())})
    assert duplicate_response.errors("name") == ["APPLICATION_ASSET_NAME_TAKEN"]
    assert (await alice.post(path, json={"name": " ", "image": data_uri(png())})).errors("name") == [
        "BASE_TYPE_REQUIRED"
    ]
    assert (await alice.post(path, json={"name": "x", "image": "data:text/plain,x"})).errors("image")

    (await alice.delete(f"{path}/{created_asset['id']}")).ok()
    (await alice.delete(f"{path}/{created_asset['id']}")).rejected(404, 10021)
    deleted_image = await world.request("GET", f"{world.url}/cdn/app-assets/{application_id}/{created_asset['id']}.png")
    assert deleted_image.status == 404
    (await world.request("GET", "/oauth2/applications/1/assets")).rejected(404, 10002)


async def test_the_number_of_rich_presence_assets_is_limited(world: World) -> None:
    alice = await world.user()
    application_id = await create_application(alice)

    def insert_assets(call: Call) -> None:
        call.tx.run_many(
            "INSERT INTO application_assets (id, application_id, name, type, image) VALUES (?, ?, ?, 2, 'x')",
            [(number, int(application_id), str(number)) for number in range(wire.APPLICATION_ASSETS_MAX)],
        )

    await world.write(insert_assets)
    response = await alice.post(
        f"/oauth2/applications/{application_id}/assets", json={"name": "more", "image": data_uri(png())}
    )
    assert response.errors("image") == ["APPLICATION_ASSET_LIMIT"]
