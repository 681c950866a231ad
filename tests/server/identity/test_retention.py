"""The retention of reports, decisions, the audit log, and the IP addresses and user agents of login sessions."""

from typing import Any

import msgspec
import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.core.config import Config
from hubbub.server.core.config_sections import RetentionConfig
from tests.server.identity.accounts import create_user_with_password
from tests.server.identity.operators import create_operator
from tests.server.identity.test_moderation_decisions import list_decisions, suspend
from tests.server.talk.test_reports import decide, list_cases, report
from tests.world import Actor, World

DAY_MS = 24 * 3_600_000


@pytest.fixture
def world_config(store_config: Config) -> Config:
    """A configuration that keeps records for a limited time."""
    retention = RetentionConfig(report_days=10, decision_days=20, audit_days=30, address_days=5)
    return msgspec.structs.replace(store_config, retention=retention)


async def list_actions(operator: Actor) -> list[str]:
    """Return the actions of the audit log, newest first."""
    return [audit_entry["action"] for audit_entry in (await operator.get("/admin/audit-log")).ok()]


async def advance_days(world: World, days: int) -> None:
    """Advance the clock day by day, and run all due jobs after each day."""
    for _ in range(days):
        world.clock.advance(DAY_MS)
        await world.run_due_jobs()


async def list_sessions(user: Actor) -> list[tuple[Any, Any]]:
    """Return the IP address and the user agent of each login session of a user."""
    return [(session["ip"], session["user_agent"]) for session in (await user.get("/auth/sessions")).ok()]


async def test_records_are_deleted_after_their_time(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    bob, spammer = await world.user(), await create_user_with_password(world, "spammer")
    carl = await create_user_with_password(world, "carl")
    await report(bob, "user", spammer.id)
    [report_case] = await list_cases(ann)
    await decide(ann, report_case, "warn", note="Stay polite")
    await suspend(ann, carl)
    await report(bob, "user", ann.id)
    assert (await list_sessions(spammer))[0][1] == "phone/1"

    await advance_days(world, 6)
    assert await list_sessions(spammer) == [("", None)]
    assert len(await list_cases(ann)) == 2

    await advance_days(world, 5)
    assert [report_case["state"] for report_case in await list_cases(ann)] == ["open"]
    assert len((await bob.get("/users/@me/reports")).ok()) == 1
    assert len(await list_decisions(ann)) == 2

    await advance_days(world, 10)
    assert [decision["action"] for decision in await list_decisions(ann)] == ["suspend_user"]
    assert "report.decide" in await list_actions(ann)

    await advance_days(world, 10)
    assert await list_actions(ann) == []
