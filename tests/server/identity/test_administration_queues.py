"""Administration of the queues of background jobs, in the API and the console."""

from typing import Any

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from hubbub.server.core.call import Call
from tests.pages import Browser
from tests.server.admin_commands import run_admin_command
from tests.server.identity.operators import create_operator
from tests.world import World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def create_jobs(world: World, *states: tuple[str, int], kind: str = "test.deliver") -> list[int]:
    """Create a job for each pair of state and number of attempts, and return their IDs.

    The jobs are ready in one minute, so that no worker runs them during the test."""

    def create(call: Call) -> list[int]:
        job_ids = []
        for state, attempts in states:
            job_id = call.tx.enqueue(kind, {"secret": "payload"}, due_ms=call.now_ms - 1000)
            call.tx.run(
                "UPDATE jobs SET state = ?, attempts = ?, ready_ms = ?, error = ? WHERE id = ?",
                state,
                attempts,
                call.now_ms + 60_000,
                "TimeoutError: no response" if attempts else None,
                job_id,
            )
            job_ids.append(job_id)
        return job_ids

    job_ids: list[int] = await world.write(create)
    return job_ids


async def find_job(world: World, job_id: int) -> Any | None:
    """Return state, attempts and time of the next attempt of a job, or None."""
    return await world.write(
        lambda call: call.tx.one("SELECT state, attempts, ready_ms FROM jobs WHERE id = ?", job_id)
    )


async def test_operators_see_queues_and_failed_jobs_without_payloads(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    _, retrying_id, failed_id = await create_jobs(world, ("waiting", 0), ("waiting", 3), ("failed", 9))

    [queue] = [queue for queue in (await ann.get("/admin/queues")).ok() if queue["kind"] == "test.deliver"]
    assert (queue["waiting"], queue["retrying"], queue["failed"]) == (1, 1, 1)
    assert queue["oldest_due_at"] is not None
    response = await ann.get("/admin/jobs", params={"kind": "test.deliver"})
    [job] = response.ok()
    assert (job["id"], job["state"], job["attempts"], job["next_attempt_at"]) == (str(failed_id), "failed", 9, None)
    assert job["error"] == "TimeoutError: no response"
    assert b"secret" not in response.body
    [job] = (await ann.get("/admin/jobs", params={"state": "retrying", "kind": "test.deliver"})).ok()
    assert (job["id"], job["state"]) == (str(retrying_id), "retrying")
    assert (await ann.get("/admin/jobs", params={"kind": "other"})).ok() == []


async def test_job_lists_are_paginated(world: World) -> None:
    ann = await create_operator(world, "ann")
    first_id, second_id = await create_jobs(world, ("failed", 1), ("failed", 1))

    [job] = (await ann.get("/admin/jobs", params={"limit": "1"})).ok()
    assert job["id"] == str(first_id)
    [job] = (await ann.get("/admin/jobs", params={"after": str(first_id)})).ok()
    assert job["id"] == str(second_id)


async def test_a_moderator_retries_and_discards_jobs(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    waiting_id, retrying_id, failed_id, discarded_id = await create_jobs(
        world, ("waiting", 0), ("waiting", 3), ("failed", 9), ("failed", 9)
    )

    (await ann.post(f"/admin/jobs/{retrying_id}/retry")).ok()
    (await ann.post(f"/admin/jobs/{failed_id}/retry", json={"reason": "The server is back"})).ok()
    (await ann.post(f"/admin/jobs/{discarded_id}/discard")).ok()

    assert tuple(await find_job(world, retrying_id)) == ("waiting", 3, world.clock.now_ms())
    assert tuple(await find_job(world, failed_id))[:2] == ("waiting", 0)
    assert await find_job(world, discarded_id) is None
    for path in (f"{waiting_id}/retry", f"{retrying_id}/discard", f"{discarded_id}/discard", "999999/retry"):
        (await ann.post(f"/admin/jobs/{path}")).rejected(404, 0)
    audit_entries = (await ann.get("/admin/audit-log", params={"operator_id": str(ann.id)})).ok()
    assert [
        (audit_entry["action"], audit_entry["target_name"], audit_entry["reason"]) for audit_entry in audit_entries
    ] == [
        ("job.discard", "test.deliver", None),
        ("job.retry", "test.deliver", "The server is back"),
        ("job.retry", "test.deliver", None),
    ]


async def test_commands_retry_and_discard_jobs(world: World) -> None:
    waiting_id, retried_id, discarded_id = await create_jobs(world, ("waiting", 0), ("failed", 9), ("failed", 9))

    assert f"{retried_id} test.deliver failed after 9 attempts: TimeoutError" in await run_admin_command(
        world, "list-jobs"
    )
    assert await run_admin_command(world, "retry-job", str(retried_id)) == f"Retrying job {retried_id}."
    assert await run_admin_command(world, "discard-job", str(discarded_id)) == f"Deleted job {discarded_id}."

    assert await find_job(world, discarded_id) is None
    for command in ("retry-job", "discard-job"):
        with pytest.raises(AdminError, match=f"there is no job {waiting_id} .*; see hubbub admin list-jobs"):
            await run_admin_command(world, command, str(waiting_id))


async def test_a_moderator_retries_all_failed_jobs_of_a_queue(world: World) -> None:
    ann = await create_operator(world, "ann")
    failed_ids = await create_jobs(world, ("failed", 9), ("failed", 9))
    other_ids = await create_jobs(world, ("failed", 9), kind="test.other")

    assert (await ann.post("/admin/queues/test.deliver/retry")).ok() == {"count": 2}

    states = [state for job_id in failed_ids + other_ids for state, _, _ in [await find_job(world, job_id)]]
    assert states == ["waiting", "waiting", "failed"]
    assert (await ann.post("/admin/queues/test.deliver/retry")).ok() == {"count": 0}


async def test_auditors_cannot_change_queues(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    [failed_id] = await create_jobs(world, ("failed", 9))

    for path in (f"jobs/{failed_id}/retry", f"jobs/{failed_id}/discard", "queues/test.deliver/retry"):
        (await ann.post(f"/admin/{path}")).rejected(403, 0)
    (await (await world.user()).get("/admin/queues")).rejected(403, 0)


async def test_the_console_shows_queues(world: World) -> None:
    ann = await create_operator(world, "ann")
    await create_jobs(world, ("waiting", 2), ("failed", 9), ("failed", 9), ("failed", 9))
    browser = Browser(world)
    browser.sign_in_as(ann)

    page = await browser.open("/admin/queues")
    assert page.text.count("TimeoutError: no response") == 3
    page = await browser.submit(page, "Discard")
    assert "Job discarded." in page.text
    page = await browser.submit(page, "Retry now")
    assert "Retrying the job." in page.text
    page = await browser.submit(page, "Retry failed test.deliver")
    assert "Retrying 1 job." in page.text
    assert "No job has failed." in page.text
    page = await browser.open("/admin/queues?state=retrying")
    assert "2 attempts" in page.text
    page = await browser.submit(page, "Retry now")
    assert "Retrying the job." in page.text
