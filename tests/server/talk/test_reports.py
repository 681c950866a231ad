"""Reports of messages, users and guilds, the decisions of operators about reports, and the data of reporters."""

from typing import Any

import aiohttp

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.permissions import Permissions
from tests.server.identity.accounts import create_user_with_password, delete_account, log_in
from tests.server.identity.operators import create_operator
from tests.world import Actor, Guild, World

DAY_MS = 24 * 3_600_000


async def report(reporter: Actor, kind: str, target_id: int | str, **body: Any) -> dict[str, Any]:
    """Report an object and return the report."""
    body = {"kind": kind, "id": str(target_id), "reason": "spam", **body}
    created_report: dict[str, Any] = (await reporter.post("/reports", json=body)).ok()
    return created_report


async def report_message(reporter: Actor, message: dict[str, Any], **body: Any) -> dict[str, Any]:
    return await report(reporter, "message", message["id"], channel_id=message["channel_id"], **body)


async def list_cases(operator: Actor, **query: str) -> list[dict[str, Any]]:
    """Return the cases of reports that match a query, newest first."""
    cases: list[dict[str, Any]] = (await operator.get("/admin/reports", params=query)).ok()
    return cases


async def decide(operator: Actor, case: dict[str, Any], action: str, **body: Any) -> dict[str, Any]:
    """Decide about a case and return the decided case."""
    path = f"/admin/reports/{case['id']}/decide"
    decided_case: dict[str, Any] = (await operator.post(path, json={"action": action, **body})).ok()
    return decided_case


async def list_notices(user: Actor) -> list[str]:
    """Return the texts of the direct messages that the system sent to a user, oldest first."""
    for channel in (await user.get("/users/@me/channels")).ok():
        if channel["recipients"][0].get("system"):
            channel_messages = (await user.get(f"/channels/{channel['id']}/messages")).ok()
            return [message["content"] for message in reversed(channel_messages)]
    return []


async def create_guild_with_spam(world: World) -> tuple[Guild, Actor, Actor, dict[str, Any]]:
    """Create a guild in which a member with a password sends spam.

    Return the guild, the spammer, another member, and the message."""
    spammer = await create_user_with_password(world, "spammer")
    guild = await world.guild(None, spammer, name="Harbor")
    bob = await guild.member()
    message = await guild.send_message(spammer, "buy now")
    return guild, spammer, bob, message


# Reports


async def test_a_report_contains_the_message_as_the_reporter_saw_it(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild, spammer, bob, _ = await create_guild_with_spam(world)
    for number in range(3):
        await guild.send_message(bob, f"before {number}")
    form = aiohttp.FormData()
    form.add_field("payload_json", '{"content": "bad words"}', content_type="application/json")
    form.add_field("files[0]", b"x" * 10, filename="a.txt", content_type="text/plain")
    message = (await spammer.post(f"/channels/{guild.general}/messages", data=form)).ok()
    for number in range(3):
        await guild.send_message(bob, f"after {number}")

    created_report = await report_message(bob, message, reason="harassment", comment=" Rude ")
    (await spammer.delete(f"/channels/{guild.general}/messages/{message['id']}")).ok()

    assert (created_report["kind"], created_report["target_id"], created_report["comment"]) == (
        "message",
        message["id"],
        "Rude",
    )
    assert (created_report["state"], created_report["has_violation"]) == ("open", None)
    [case] = await list_cases(ann)
    assert (case["title"], case["user_id"], case["guild_id"]) == ("bad words", str(spammer.id), str(guild.id))
    assert (case["state"], case["reasons"], case["report_count"]) == ("open", ["harassment"], 1)
    details = (await ann.get(f"/admin/reports/{case['id']}")).ok()
    [case_report] = details["reports"]
    assert (case_report["reporter_name"], case_report["comment"]) == (bob.name, "Rude")
    evidence = case_report["evidence"]
    assert (evidence["name"], evidence["channel_name"], evidence["guild_name"]) == ("spammer", "general", "Harbor")
    assert evidence["message"]["content"] == "bad words"
    [file] = evidence["message"]["files"]
    assert (file["filename"], file["size"], file["id"]) == ("a.txt", 10, message["attachments"][0]["id"])
    assert [context_message["content"] for context_message in evidence["context"]] == [
        "before 0",
        "before 1",
        "before 2",
        "after 0",
        "after 1",
    ]


async def test_a_reporter_without_the_history_reports_only_the_message(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild, _, bob, message = await create_guild_with_spam(world)
    await guild.send_message(guild.owner, "secret")
    await guild.overwrite(guild.general, bob.id, deny=int(Permissions.READ_MESSAGE_HISTORY))

    await report_message(bob, message)

    [case] = await list_cases(ann)
    [case_report] = (await ann.get(f"/admin/reports/{case['id']}")).ok()["reports"]
    assert case_report["evidence"]["message"]["content"] == "buy now"
    assert case_report["evidence"]["context"] == []


async def test_only_visible_objects_can_be_reported(world: World) -> None:
    guild, _, bob, message = await create_guild_with_spam(world)
    stranger = await world.user()
    body = {"kind": "message", "id": message["id"], "channel_id": str(guild.general), "reason": "spam"}

    (await stranger.post("/reports", json=body)).rejected(403, 50001)
    (await stranger.post("/reports", json={"kind": "guild", "id": str(guild.id), "reason": "spam"})).rejected(
        403, 50001
    )
    (await bob.post("/reports", json={**body, "id": "1"})).rejected(404, 10008)
    (await bob.post("/reports", json={**body, "channel_id": "1"})).rejected(404, 10003)
    (await bob.post("/reports", json={"kind": "user", "id": "1", "reason": "spam"})).rejected(404, 10013)
    (await bob.post("/reports", json={"kind": "guild", "id": "1", "reason": "spam"})).rejected(404, 10004)


async def test_a_report_with_invalid_fields_is_rejected(world: World) -> None:
    guild, spammer, bob, message = await create_guild_with_spam(world)
    body = {"kind": "message", "id": message["id"], "channel_id": str(guild.general), "reason": "spam"}

    assert (await bob.post("/reports", json={**body, "reason": "boredom"})).errors("reason")
    assert (await bob.post("/reports", json={**body, "comment": "x" * 1001})).errors("comment")
    del body["channel_id"]
    assert (await bob.post("/reports", json=body)).errors("channel_id") == ["BASE_TYPE_REQUIRED"]
    body["channel_id"] = str(guild.general)
    assert (await spammer.post("/reports", json=body)).errors("id") == ["OWN_OBJECT"]
    own_user_report = {"kind": "user", "id": str(bob.id), "reason": "spam"}
    assert (await bob.post("/reports", json=own_user_report)).errors("id") == ["OWN_OBJECT"]


async def test_reports_of_the_same_reporter_merge_and_others_join_the_case(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild, spammer, bob, _ = await create_guild_with_spam(world)

    first_report = await report(bob, "user", spammer.id)
    second_report = await report(bob, "user", spammer.id, reason="hate", comment="More")
    await report(guild.owner, "user", spammer.id, reason="hate")

    assert (second_report["id"], second_report["reason"]) == (first_report["id"], "hate")
    [case] = await list_cases(ann)
    assert (case["report_count"], case["reasons"]) == (2, ["hate"])
    assert [own_report["comment"] for own_report in (await bob.get("/users/@me/reports")).ok()] == ["More"]


async def test_cases_are_filtered_by_state_kind_reason_and_age(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild, spammer, bob, message = await create_guild_with_spam(world)
    await report_message(bob, message)
    world.clock.advance(2 * DAY_MS)
    await report(bob, "user", spammer.id, reason="impersonation")
    await report(bob, "guild", guild.id, reason="illegal")

    async def list_kinds(**query: str) -> list[str]:
        return [case["kind"] for case in await list_cases(ann, **query)]

    assert await list_kinds() == ["guild", "user", "message"]
    assert await list_kinds(reason="impersonation") == ["user"]
    assert await list_kinds(kind="guild") == ["guild"]
    assert await list_kinds(older_than_hours="24") == ["message"]
    assert await list_kinds(state="decided") == []
    [newest_case, *_] = await list_cases(ann)
    assert await list_kinds(before=newest_case["id"], limit="1") == ["user"]
    assigned_case = (await ann.post(f"/admin/reports/{newest_case['id']}/assign", json={"assigned": True})).ok()
    assert assigned_case["assignee_name"] == "ann"
    assert await list_kinds(assignee_id=str(ann.id)) == ["guild"]
    (await ann.post(f"/admin/reports/{newest_case['id']}/assign", json={"assigned": False})).ok()
    assert await list_kinds(assignee_id=str(ann.id)) == []


async def test_only_moderators_decide_about_reports(world: World) -> None:
    ben = await create_operator(world, "ben", OperatorRole.AUDITOR)
    _, spammer, bob, _ = await create_guild_with_spam(world)
    await report(bob, "user", spammer.id)
    [case] = await list_cases(ben)

    (await bob.get("/admin/reports")).rejected(403, 0)
    (await bob.get(f"/admin/reports/{case['id']}")).rejected(403, 0)
    (await ben.post(f"/admin/reports/{case['id']}/assign", json={"assigned": True})).rejected(403, 0)
    (await ben.post(f"/admin/reports/{case['id']}/decide", json={"action": "dismiss"})).rejected(403, 0)
    (await ben.get("/admin/reports/1")).rejected(404, 0)


# Decisions


async def test_a_dismissed_report_notifies_only_its_reporters(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild, spammer, bob, message = await create_guild_with_spam(world)
    await report_message(bob, message)
    await report_message(guild.owner, message)
    session = await bob.connect()
    [case] = await list_cases(ann)

    decided_case = await decide(ann, case, "dismiss")
    await world.run_due_jobs()

    assert (decided_case["state"], decided_case["action"], decided_case["operator_name"]) == (
        "decided",
        "dismiss",
        "ann",
    )
    assert (await session.next("MESSAGE_CREATE"))["author"]["system"] is True
    for reporter in (bob, guild.owner):
        [notice] = await list_notices(reporter)
        assert "found no violation of the rules" in notice
    assert await list_notices(spammer) == []
    [own_report] = (await bob.get("/users/@me/reports")).ok()
    assert (own_report["state"], own_report["has_violation"]) == ("decided", False)
    (await ann.post(f"/admin/reports/{case['id']}/decide", json={"action": "dismiss"})).rejected(403, 0)
    (await ann.post(f"/admin/reports/{case['id']}/assign", json={"assigned": True})).rejected(403, 0)
    await report_message(bob, message)
    assert [listed_case["state"] for listed_case in await list_cases(ann)] == ["open", "decided"]


async def test_a_deleted_message_is_published_and_its_author_learns_the_reason(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild, spammer, bob, message = await create_guild_with_spam(world)
    await report_message(bob, message)
    session = await bob.connect()
    [case] = await list_cases(ann)

    await decide(ann, case, "delete_message", note="No advertising")
    await world.run_due_jobs()

    assert (await session.next("MESSAGE_DELETE"))["id"] == message["id"]
    (await bob.get(f"/channels/{guild.general}/messages/{message['id']}")).rejected(404, 10008)
    [notice] = await list_notices(spammer)
    assert "deleted your message. Reason:\n> No advertising" in notice
    assert bob.name not in notice
    [decision] = (await spammer.get("/users/@me/decisions")).ok()
    assert (decision["action"], decision["subject"], decision["reason"]) == (
        "delete_message",
        "buy now",
        "No advertising",
    )
    assert str(bob.id) not in str(decision)
    assert (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()["audit_log_entries"] == []
    entries = (await ann.get("/admin/audit-log", params={"target_id": case["id"]})).ok()
    assert [(entry["action"], entry["detail"], entry["reason"]) for entry in entries] == [
        ("report.decide", "delete message", "No advertising")
    ]


async def test_an_account_is_suspended_and_its_message_deleted(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild, spammer, bob, message = await create_guild_with_spam(world)
    await report_message(bob, message)
    [case] = await list_cases(ann)

    body = {"note": "Spam", "delete_message": True, "ends_at": "2030-01-01T00:00:00Z"}
    await decide(ann, case, "suspend_user", **body)
    await world.run_due_jobs()

    assert (await spammer.get("/users/@me")).status == 401
    error = (await log_in(world, "spammer")).rejected(400, 50035)["errors"]["login"]["_errors"][0]
    assert "until 2030-01-01" in error["message"]
    (await bob.get(f"/channels/{guild.general}/messages/{message['id']}")).rejected(404, 10008)
    [notice] = await list_notices(bob)
    assert "took action" in notice


async def test_a_warning_reaches_the_account(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    _, spammer, bob, _ = await create_guild_with_spam(world)
    await report(bob, "user", spammer.id)
    [case] = await list_cases(ann)

    await decide(ann, case, "warn", note="Stay polite")

    [notice] = await list_notices(spammer)
    assert "warned you. Reason:\n> Stay polite" in notice
    (await spammer.get("/users/@me")).ok()


async def test_a_guild_is_suspended_and_its_owner_sees_the_decision(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild, _, bob, _ = await create_guild_with_spam(world)
    await report(bob, "guild", guild.id, reason="illegal")
    [case] = await list_cases(ann)

    await decide(ann, case, "suspend_guild", note="Illegal trade")

    (await bob.get(f"/guilds/{guild.id}")).rejected(403, 50001)
    [decision] = (await guild.owner.get("/users/@me/decisions")).ok()
    assert (decision["action"], decision["subject"]) == ("suspend_guild", "Harbor")


async def test_a_decision_that_does_not_fit_is_rejected(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild, spammer, bob, _ = await create_guild_with_spam(world)
    bot = await world.bot(guild)
    await report(bob, "user", spammer.id)
    bot_message = await guild.send_message(bot, "beep")
    await report_message(bob, bot_message)
    bot_case, user_case = await list_cases(ann)

    async def decide_and_get_errors(case: dict[str, Any], field: str, **body: Any) -> list[str]:
        return (await ann.post(f"/admin/reports/{case['id']}/decide", json=body)).errors(field)

    assert await decide_and_get_errors(user_case, "note", action="warn") == ["BASE_TYPE_REQUIRED"]
    assert await decide_and_get_errors(user_case, "action", action="delete_message", note="x") == ["NOT_A_MESSAGE"]
    assert await decide_and_get_errors(user_case, "action", action="suspend_guild", note="x") == ["NO_GUILD"]
    assert await decide_and_get_errors(user_case, "delete_message", action="warn", note="x", delete_message=True)
    past = "2020-01-01T00:00:00Z"
    assert await decide_and_get_errors(user_case, "ends_at", action="suspend_user", note="x", ends_at=past) == [
        "TIME_IN_PAST"
    ]
    assert await decide_and_get_errors(user_case, "ends_at", action="warn", note="x", ends_at=past) == [
        "NOT_A_SUSPENSION"
    ]
    assert await decide_and_get_errors(bot_case, "action", action="suspend_user", note="x") == ["NO_ACCOUNT"]
    await decide(ann, bot_case, "delete_message", note="x")


async def test_an_operator_is_not_suspended_by_a_report(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    ben = await create_operator(world, "ben", OperatorRole.AUDITOR)
    bob = await world.user()
    await report(bob, "user", ben.id)
    [case] = await list_cases(ann)

    (await ann.post(f"/admin/reports/{case['id']}/decide", json={"action": "suspend_user", "note": "x"})).rejected(
        403, 0
    )
    assert [listed_case["state"] for listed_case in await list_cases(ann)] == ["open"]


# Data of reporters


async def test_the_export_contains_own_reports_and_decisions(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    _, spammer, bob, _ = await create_guild_with_spam(world)
    await report(bob, "user", spammer.id, comment="Rude")
    [case] = await list_cases(ann)
    await decide(ann, case, "warn", note="Stay polite")

    export = (await bob.get("/users/@me/harvest")).ok()["records"]
    about_spammer = (await spammer.get("/users/@me/harvest")).ok()["records"]

    assert [entry["comment"] for entry in export["reports"]] == ["Rude"]
    assert export["reports"][0]["evidence"]["name"] == spammer.name
    assert [entry["reason"] for entry in about_spammer["moderation_decisions"]] == ["Stay polite"]
    assert about_spammer["reports"] == []
    assert "Rude" not in str(about_spammer)


async def test_the_deletion_of_an_account_keeps_reports_without_the_reporter(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    _, spammer, _, _ = await create_guild_with_spam(world)
    carol = await create_user_with_password(world, "carol")
    await report(carol, "user", spammer.id)

    await delete_account(carol)

    [case] = await list_cases(ann)
    [case_report] = (await ann.get(f"/admin/reports/{case['id']}")).ok()["reports"]
    assert (case_report["reporter_id"], case_report["reporter_name"]) == (None, None)
    await decide(ann, case, "dismiss")
    await world.run_due_jobs()
