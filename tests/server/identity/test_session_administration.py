"""The administration of login sessions in the API, the console and commands."""

import msgspec
import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from hubbub.server.core.config import Config
from tests.pages import Browser, Page
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import PASSWORD, create_user_with_password
from tests.server.identity.operators import create_operator
from tests.world import Actor, World

pytestmark = pytest.mark.usefixtures("accented_pages")


@pytest.fixture
def world_config(store_config: Config) -> Config:
    """The world of a server behind a proxy, so that a request can name the address of its client."""
    return msgspec.structs.replace(store_config, http=msgspec.structs.replace(store_config.http, trusted_proxies=1))


async def log_in_from(world: World, name: str, address: str) -> str:
    """Log a user in with a client that has an IP address, and return the token."""
    headers = {"X-Forwarded-For": address, "User-Agent": "tablet/3"}
    body = {"login": name, "password": PASSWORD}
    token: str = (await world.request("POST", "/auth/login", json=body, headers=headers)).ok()["token"]
    return token


async def search_sessions(operator: Actor, **query: str) -> list[tuple[str, str | None]]:
    """Return the username and the address of the sessions that a search finds."""
    sessions = (await operator.get("/admin/sessions", params=query)).ok()
    return [(session["username"], session["ip"]) for session in sessions]


def read_end_button(page: Page) -> str:
    """Return the label of the only button of a page that ends one session."""
    [label] = [label for form in page.forms for label, _, _ in form.buttons if label.startswith("End session")]
    return label


async def test_sessions_are_found_by_address(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    for name in ("ben", "carl"):
        await create_user_with_password(world, name)
    for name, address in (
        ("ben", "192.0.2.7"),
        ("carl", "192.0.2.70"),
        ("carl", "192.0.2.7"),
        ("ben", "2001:db8::1:7"),
    ):
        await log_in_from(world, name, address)

    assert (await search_sessions(ann))[:2] == [("ben", "2001:db8::1:7"), ("carl", "192.0.2.7")]
    assert await search_sessions(ann, address="192.0.2.7") == [("carl", "192.0.2.7"), ("ben", "192.0.2.7")]
    assert await search_sessions(ann, address="192.0.2.7*") == [
        ("carl", "192.0.2.7"),
        ("carl", "192.0.2.70"),
        ("ben", "192.0.2.7"),
    ]
    assert await search_sessions(ann, address=" 2001:DB8:0::1:7 ") == [("ben", "2001:db8::1:7")]
    for address in ("192.0.2", "%", "192_0*"):
        assert await search_sessions(ann, address=address) == [], address
    carl = (await ann.get("/admin/users", params={"username": "carl"})).ok()[0]
    assert {name for name, _ in await search_sessions(ann, user_id=carl["id"])} == {"carl"}


async def test_sessions_have_pages_and_name_the_current_one(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    await create_user_with_password(world, "ben")

    [newest_session] = (await ann.get("/admin/sessions", params={"limit": "1"})).ok()
    assert (newest_session["username"], newest_session["user_agent"], newest_session["current"]) == (
        "ben",
        "phone/1",
        False,
    )
    older_sessions = (await ann.get("/admin/sessions", params={"before": newest_session["id"]})).ok()
    assert [(session["username"], session["current"]) for session in older_sessions] == [("ann", True)]


async def test_an_operator_ends_one_session_of_a_user(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_user_with_password(world, "ben")
    stolen = Actor(world, ben.id, await log_in_from(world, "ben", "192.0.2.7"), "ben")
    gateway_session, other_gateway_session = await stolen.connect(), await ben.connect()
    [session] = (await ann.get("/admin/sessions", params={"address": "192.0.2.7"})).ok()

    (await ann.post(f"/admin/sessions/{session['id']}/end", json={"reason": "Stolen tablet"})).ok()

    assert await gateway_session.wait_closed() == 4004
    assert (await stolen.get("/users/@me")).status == 401
    (await ben.get("/users/@me")).ok()
    await other_gateway_session.wait_processed()
    (await ann.post(f"/admin/sessions/{session['id']}/end")).rejected(404, 10020)
    [audit_entry] = (await ann.get("/admin/audit-log", params={"target_id": str(ben.id)})).ok()
    assert (audit_entry["action"], audit_entry["detail"], audit_entry["reason"]) == (
        "user.end_session",
        f"session {session['id']}",
        "Stolen tablet",
    )


async def test_operators_end_their_own_sessions_only(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    await create_operator(world, "olga", OperatorRole.OWNER)
    auditor = await create_operator(world, "otto", OperatorRole.AUDITOR)
    session_ids = {session["username"]: session["id"] for session in (await ann.get("/admin/sessions")).ok()}

    (await ann.post(f"/admin/sessions/{session_ids['olga']}/end")).rejected(403, 0)
    (await auditor.post(f"/admin/sessions/{session_ids['otto']}/end")).rejected(403, 0)
    (await ann.post(f"/admin/sessions/{session_ids['ann']}/end")).ok()

    assert (await ann.get("/users/@me")).status == 401


async def test_a_bot_token_is_not_a_session(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.OWNER)
    guild = await world.guild(await world.user("ben"))
    bot = await world.bot(guild)

    assert bot.name not in {name for name, _ in await search_sessions(ann)}


async def test_commands_list_and_end_sessions(world: World) -> None:
    await create_user_with_password(world, "ben")
    token = await log_in_from(world, "ben", "192.0.2.7")

    [line] = (await run_admin_command(world, "list-sessions", "192.0.2.*")).splitlines()
    session_id = line.split()[0]
    assert line.split()[1] == "ben"
    assert line.endswith(" from 192.0.2.7 with tablet/3")
    assert f"session: {session_id} " in await run_admin_command(world, "show-user", "ben")
    assert len((await run_admin_command(world, "list-sessions", "--user", "ben")).splitlines()) == 2
    assert await run_admin_command(world, "list-sessions", "198.51.100.1") == "No sessions found."
    assert await run_admin_command(world, "end-session", session_id) == "Ended a session of ben."
    assert (await world.request("GET", "/users/@me", headers={"Authorization": token})).status == 401
    with pytest.raises(AdminError, match="there is no session"):
        await run_admin_command(world, "end-session", session_id)


async def test_the_console_searches_and_ends_sessions(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_user_with_password(world, "ben")
    await log_in_from(world, "ben", "192.0.2.7")
    browser = Browser(world)
    browser.sign_in_as(ann)

    page = await browser.submit(await browser.open("/admin/sessions"), "Search", address="192.0.2.*")
    assert "tablet/3" in page.text
    assert "phone/1" not in page.text
    page = await browser.submit(page, read_end_button(page))
    assert "Session ended." in page.text
    assert "No session has this address." in page.text
    page = await browser.open(f"/admin/users/{ben.id}")
    page = await browser.submit(page, read_end_button(page))
    assert "This user is not logged in anywhere." in page.text
    assert "ann ended a session of ben" in page.text
