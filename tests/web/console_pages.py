"""Content for the pages of the operator console."""

from dataclasses import dataclass

from hubbub.protocol.operator_roles import OperatorRole
from tests.server.identity.accounts import create_user_with_password
from tests.server.identity.operators import create_operator
from tests.server.identity.test_administration_queues import create_jobs
from tests.server.identity.test_moderation_decisions import appeal_with_password
from tests.server.talk.test_file_administration import send_sized_file
from tests.server.talk.test_reports import list_cases, report_message
from tests.world import Actor, World

SECTIONS = ("guilds", "applications", "files", "announcements", "features", "queues", "operators", "sessions")


@dataclass(frozen=True)
class ConsoleContent:
    """An operator, a user without sanctions, and the paths of pages below `/admin`."""

    operator: Actor
    user: Actor
    paths: tuple[str, ...]


async def create_console_content(world: World) -> ConsoleContent:
    """Create entries with long texts for the pages of the console."""
    ann = await create_operator(world, "ann")
    await create_operator(world, "carol", OperatorRole.AUDITOR)
    ben = await create_user_with_password(world, "ben")
    await create_jobs(world, ("waiting", 0), ("waiting", 2), ("failed", 9), kind=f"test.{'delivery' * 12}")
    guild = await world.guild(name="Harbor watch " * 7)
    bot = await world.bot(guild)
    (await send_sized_file(guild.owner, guild.general, 5000, f"{'long' * 20}.txt")).ok()
    announcement = {"content": "Maintenance " * 20, "level": "critical", "ends_at": "2026-12-24T00:00:00Z"}
    (await ann.post("/admin/announcements", json=announcement)).ok()
    (await ann.request("PUT", "/admin/features/uploads", json={"enabled": False, "message": "The disk is full."})).ok()
    carl = await create_user_with_password(world, "carl")
    message = await guild.send_message(guild.owner, "Buy now " * 40)
    await report_message(await guild.member(), message, comment="Again " * 30)
    [case] = await list_cases(ann)
    (await ann.post(f"/admin/users/{carl.id}/suspend", json={"reason": "Spam " * 20})).ok()
    (await appeal_with_password(world, "carl", "Sorry " * 50)).ok()
    details = (f"/users/{ann.id}", f"/users/{ben.id}", f"/guilds/{guild.id}", f"/applications/{bot.application_id}")
    sections = tuple(f"/{section}" for section in SECTIONS)
    reports = ("/reports", f"/reports/{case['id']}", "/appeals")
    return ConsoleContent(ann, ben, ("/users", "/users?query=nothing", *details, *sections, *reports))
