"""Moderation decisions about accounts and guilds, and appeals against the decisions."""

import re
from typing import Any

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.core.call import Call
from hubbub.server.core.config import MailConfig
from hubbub.server.core.mail import Mailbox
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import PASSWORD, create_user_with_password, delete_account, log_in
from tests.server.identity.operators import create_operator
from tests.server.talk.test_reports import decide, list_cases, list_notices, report
from tests.world import Actor, ApiResponse, World, run_with_settings, small_config


async def suspend(operator: Actor, user: Actor, **body: Any) -> None:
    """Suspend an account without a report."""
    (await operator.post(f"/admin/users/{user.id}/suspend", json={"reason": "Spam", **body})).ok()


async def appeal_with_password(world: World, name: str, text: str = "Sorry", password: str = PASSWORD) -> ApiResponse:
    """Appeal against the suspension of an account with the account's password."""
    body = {"login": name, "password": password, "text": text}
    return await world.request("POST", "/auth/appeal", json=body)


async def list_decisions(operator: Actor, **query: str) -> list[dict[str, Any]]:
    """Return the decisions that match a query."""
    decisions: list[dict[str, Any]] = (await operator.get("/admin/decisions", params=query)).ok()
    return decisions


async def log_in_and_get_error(world: World, name: str) -> str:
    """Log in as a suspended user and return the error message."""
    message: str = (await log_in(world, name)).rejected(400, 50035)["errors"]["login"]["_errors"][0]["message"]
    return message


async def warn(operator: Actor, reporter: Actor, user: Actor) -> dict[str, Any]:
    """Report a user, warn the user as an operator, and return the decision that the user receives."""
    await report(reporter, "user", user.id)
    [report_case] = await list_cases(operator, state="open")
    await decide(operator, report_case, "warn", note="Stay polite")
    decision: dict[str, Any] = (await user.get("/users/@me/decisions")).ok()[0]
    return decision


async def test_a_suspended_user_appeals_once_and_another_operator_grants_it(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_operator(world, "ben", OperatorRole.MODERATOR)
    carol = await create_user_with_password(world, "carol")
    await suspend(ann, carol)

    appealed_decision = (await appeal_with_password(world, "carol", " I was hacked ")).ok()

    assert (appealed_decision["appeal"]["text"], appealed_decision["appeal"]["state"]) == ("I was hacked", "pending")
    (await appeal_with_password(world, "carol")).rejected(403, 0)
    assert "has not decided about your appeal yet" in await log_in_and_get_error(world, "carol")
    [pending_decision] = await list_decisions(ann, appeal="pending")
    assert (pending_decision["username"], pending_decision["operator_name"], pending_decision["reason"]) == (
        "carol",
        "ann",
        "Spam",
    )
    path = f"/admin/decisions/{pending_decision['id']}/appeal"
    (await ann.post(path, json={"grant": True})).rejected(403, 0)
    granted_decision = (await ben.post(path, json={"grant": True, "note": "We are sorry"})).ok()
    assert (granted_decision["revoked"], granted_decision["appeal"]["state"]) == (True, "granted")
    carol.token = (await log_in(world, "carol")).ok()["token"]
    [notice] = await list_notices(carol)
    assert "granted your appeal" in notice
    assert "> We are sorry" in notice
    (await ben.post(path, json={"grant": True})).rejected(403, 0)
    assert await list_decisions(ann, appeal="pending") == []
    actions = [audit_entry["action"] for audit_entry in (await ann.get("/admin/audit-log")).ok()]
    assert actions[:2] == ["user.unsuspend", "appeal.granted"]


async def test_a_rejected_appeal_is_shown_at_login(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    carol = await create_user_with_password(world, "carol")
    await suspend(ann, carol)
    (await appeal_with_password(world, "carol")).ok()
    [pending_decision] = await list_decisions(ann, appeal="pending")

    # A server with one moderator lets this moderator decide about appeals against their own decisions.
    (await ann.post(f"/admin/decisions/{pending_decision['id']}/appeal", json={"grant": False, "note": "No"})).ok()

    assert "Your appeal was rejected: No" in await log_in_and_get_error(world, "carol")
    assert [decision["id"] for decision in await list_decisions(ann, appeal="rejected")] == [pending_decision["id"]]
    assert [decision["id"] for decision in await list_decisions(ann, user_id=str(carol.id))] == [pending_decision["id"]]


async def test_an_appeal_needs_the_password_of_a_suspended_account(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    carol = await create_user_with_password(world, "carol")
    assert (await appeal_with_password(world, "carol")).errors("login") == ["ACCOUNT_NOT_DISABLED"]
    await suspend(ann, carol)

    assert (await appeal_with_password(world, "carol", password="wrong")).errors("password") == ["INVALID_LOGIN"]
    assert (await appeal_with_password(world, "carol", text="  ")).errors("text") == ["BASE_TYPE_REQUIRED"]
    assert (await appeal_with_password(world, "carol", text="x" * 2001)).errors("text")


async def test_a_warned_user_appeals_in_the_account(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    bob, carol = await world.user(), await world.user()
    decision = await warn(ann, bob, carol)
    path = f"/users/@me/decisions/{decision['id']}/appeal"

    (await bob.post(path, json={"text": "x"})).rejected(404, 0)
    appealed_decision = (await carol.post(path, json={"text": "It was a joke"})).ok()
    (await carol.post(path, json={"text": "Again"})).rejected(403, 0)

    assert appealed_decision["appeal"]["state"] == "pending"
    [pending_decision] = await list_decisions(ann, appeal="pending")
    assert pending_decision["case_id"] is not None
    (await ann.post(f"/admin/decisions/{pending_decision['id']}/appeal", json={"grant": False})).ok()
    assert "rejected your appeal" in (await list_notices(carol))[-1]


async def test_an_appeal_lifts_the_suspension_of_a_guild(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    bob = await guild.member()
    await report(bob, "guild", guild.id)
    [report_case] = await list_cases(ann)
    await decide(ann, report_case, "suspend_guild", note="Spam")
    [decision] = (await guild.owner.get("/users/@me/decisions")).ok()
    (await guild.owner.post(f"/users/@me/decisions/{decision['id']}/appeal", json={"text": "Please"})).ok()

    (await ann.post(f"/admin/decisions/{decision['id']}/appeal", json={"grant": True})).ok()

    (await bob.get(f"/guilds/{guild.id}")).ok()


async def test_a_lifted_suspension_needs_no_appeal(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    carol = await create_user_with_password(world, "carol")
    await suspend(ann, carol)
    (await ann.post(f"/admin/users/{carol.id}/unsuspend")).ok()
    carol.token = (await log_in(world, "carol")).ok()["token"]

    [decision] = (await carol.get("/users/@me/decisions")).ok()

    assert decision["revoked"] is True
    (await carol.post(f"/users/@me/decisions/{decision['id']}/appeal", json={"text": "x"})).rejected(403, 0)


async def test_auditors_and_users_cannot_decide_about_appeals(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_operator(world, "ben", OperatorRole.AUDITOR)
    bob, carol = await world.user(), await world.user()
    decision = await warn(ann, bob, carol)
    path = f"/admin/decisions/{decision['id']}/appeal"

    (await carol.get("/admin/decisions")).rejected(403, 0)
    (await ben.post(path, json={"grant": True})).rejected(403, 0)
    (await ann.post(path, json={"grant": True})).rejected(403, 0)
    (await ann.post("/admin/decisions/1/appeal", json={"grant": True})).rejected(404, 0)


async def test_decisions_are_deleted_with_the_account(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    bob = await world.user()
    carol = await create_user_with_password(world, "carol")
    await warn(ann, bob, carol)

    await delete_account(carol)

    assert await list_decisions(ann, user_id=str(carol.id)) == []


async def test_a_suspension_without_a_reason_has_a_text_on_pages_and_in_mails() -> None:
    config = small_config(mail=MailConfig(keep_in_memory=True))
    async with run_with_settings(config) as world:
        ann, carol = await create_operator(world, "ann"), await create_user_with_password(world, "carol")

        def set_email(call: Call) -> None:
            call.tx.run("UPDATE users SET email = ?, verified = 1 WHERE id = ?", "carol@example.org", carol.id)

        await world.write(set_email)
        await run_admin_command(world, "ban-user", "carol")
        assert await log_in_and_get_error(world, "carol") == (
            f"This account is suspended. You can appeal at {world.url}/appeal."
        )
        (await appeal_with_password(world, "carol", "Why?")).ok()
        browser, carol_browser = Browser(world), Browser(world)
        browser.sign_in_as(ann)
        pages = [await browser.open("/admin/appeals"), await browser.open(f"/admin/users/{carol.id}")]
        [decision] = await list_decisions(ann)
        (await ann.post(f"/admin/decisions/{decision['id']}/appeal", json={"grant": True})).ok()
        await carol_browser.log_in("carol")
        pages.append(await carol_browser.open("/settings/account"))
        await world.run_due_jobs()
        assert isinstance(world.app.mailer, Mailbox)
        texts = [
            *(page.text for page in pages),
            *(mail.text for mail in world.app.mailer if "suspended" in mail.subject),
        ]

    assert decision["reason"] is None
    assert len(texts) == 4
    assert [text for text in texts if "No reason was given." not in text] == []
    assert (
        re.findall(r".{20}\b(?:None(?!: delete now)|null|undefined|unknown)\b.{20}|Reason: .{20}", " ".join(texts))
        == []
    )


async def test_a_reason_is_not_blank(world: World) -> None:
    ann, carol = await create_operator(world, "ann"), await world.user("carol")

    response = await ann.post(f"/admin/users/{carol.id}/suspend", json={"reason": "  "})

    assert response.status == 400
    assert "reason" in response.json["errors"]
