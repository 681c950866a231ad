"""Deletion and export of everything that is stored about a user: one row in each declared column."""

import json
from collections.abc import Mapping
from typing import Any

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.core.personal_data import Erasure
from hubbub.server.talk.reports.views import OWN_REPORTS_MAX
from tests.server.admin_commands import run_admin_command
from tests.server.identity.accounts import create_user_with_password
from tests.server.identity.operators import create_operator
from tests.server.personal_rows import DAY_MS, RowBuilder
from tests.server.places.scheduled_events import external_event
from tests.server.talk.uploads import send_files
from tests.world import Actor, World
from tools import personal_data

OTHER_USER_COLUMNS = ("user_id", "author_id", "owner_id", "creator_id", "sender_id", "recipient_id", "other_id")
"""Required columns that get the ID of another user if they are not the tested column."""


class FilledUser:
    """A user with a row in every declared column except those that prevent the deletion."""

    def __init__(
        self, user: Actor, own_rows: Mapping[str, Mapping[str, Any]], builder: RowBuilder, other_id: int
    ) -> None:
        self.user = user
        self.own_rows = own_rows
        self.builder = builder
        self.other_id = other_id

    def insert_missing_rows(self, call: Call) -> None:
        """Insert a row for each declared column that has none of the user yet."""
        for column in personal_data.collect():
            if column.erasure == Erasure.REJECTED or count_rows(call, column.column, self.user.id):
                continue
            values = dict.fromkeys(self.builder.required_names(column.table, OTHER_USER_COLUMNS), self.other_id)
            values |= self.own_rows.get(column.column, {}) | {column.name: self.user.id}
            self.builder.insert(call, column.table, **values)


async def create_user_with_content(world: World) -> FilledUser:
    """Return a user who is a member of a guild with another user's thread, event, message and lobby."""
    ben, carol = await create_user_with_password(world, "ben"), await world.user("carol")
    guild = await world.guild(carol, ben)
    bot = await world.bot(guild)
    message = await guild.send_message(carol, "hello")
    path = f"/channels/{guild.general}/messages"
    (await send_files(ben, path, ("note.txt", b"hello"), content=f"hello <@{carol.id}>")).ok()
    (await ben.post("/reports", json={"kind": "user", "id": str(carol.id), "reason": "spam"})).ok()
    thread_id = await carol.create_thread(guild.general)
    event = (await carol.post(f"/guilds/{guild.id}/scheduled-events", json=external_event())).ok()
    (await ben.patch("/users/@me/settings", json={"theme": "light"})).ok()
    await carol.post("/users/@me/channels", json={"recipient_id": str(ben.id)})
    references = {
        "guild_id": guild.id,
        "channel_id": guild.general,
        "application_id": bot.application_id,
        "family_id": bot.application_id,
        "message_id": int(message["id"]),
        "thread_id": thread_id,
        "event_id": int(event["id"]),
        "lobby_id": 800_000,
    }
    builder = RowBuilder(references)
    await world.write(lambda call: builder.insert(call, "lobbies", id=800_000, idle_timeout_seconds=300))
    own_rows = {
        "channels.owner_id": {"parent_id": guild.general},
        "direct_messages.higher_id": {"lower_id": 1},
        "direct_messages.lower_id": {"higher_id": ben.id + 1},
        "game_invites.recipient_id": {"message_id": 810_000},
        "installations.target_id": {"integration_type": 1},
        "installations.user_id": {"integration_type": 0, "target_id": guild.id},
        "report_cases.assignee_id": {"target_id": 820_000},
        "report_cases.operator_id": {"target_id": 820_001},
        "report_cases.user_id": {"target_id": 820_002},
        "overwrites.target_id": {"channel_id": guild.general},
        "reactions.user_id": {"channel_id": guild.general},
    }
    return FilledUser(ben, own_rows, builder, carol.id)


def count_rows(call: Call, column: str, user_id: int) -> int:
    table, _, name = column.partition(".")
    return int(call.tx.value(f"SELECT COUNT(*) FROM {table} WHERE {name} = ?", user_id) or 0)


async def test_a_deletion_leaves_only_the_rows_that_are_declared_as_kept(world: World) -> None:
    ann = await create_operator(world, "ann")
    filled_tables = await create_user_with_content(world)
    (await ann.post(f"/admin/users/{filled_tables.user.id}/delete", json={"reason": "Spam", "grace_days": 7})).ok()
    await world.write(filled_tables.insert_missing_rows)
    counts = {
        column.column: await world.write(
            lambda call, column=column: count_rows(call, column.column, filled_tables.user.id)
        )
        for column in personal_data.collect()
        if column.erasure != Erasure.REJECTED
    }
    assert [column for column, count in counts.items() if not count] == []

    world.clock.advance(7 * DAY_MS)
    await world.run_due_jobs()

    for column in personal_data.collect():
        count = await world.write(lambda call, column=column: count_rows(call, column.column, filled_tables.user.id))
        if column.erasure in {Erasure.DELETED, Erasure.WRITTEN, Erasure.CLEARED}:
            assert count == 0, column.column
        elif column.erasure == Erasure.KEPT:
            assert count > 0, column.column


async def test_an_export_has_every_declared_section(world: World) -> None:
    filled_tables = await create_user_with_content(world)
    await world.write(filled_tables.insert_missing_rows)
    (await filled_tables.user.post("/guilds", json={"name": "Own"})).ok()

    export = (await filled_tables.user.get("/users/@me/harvest")).ok()
    messages = (await filled_tables.user.get("/users/@me/harvest/messages")).ok()

    sections = export["records"] | {"user": export["user"], "sessions": export["sessions"], "messages": messages}
    declared_sections = {column.export for column in personal_data.collect() if column.export}
    assert set(sections) == declared_sections
    assert {name for name in declared_sections if not sections[name]} == {"applications"}


async def test_an_export_contains_all_reports_of_the_user(world: World) -> None:
    ben = await create_user_with_password(world, "ben")
    (
        await ben.post("/reports", json={"kind": "user", "id": str((await world.user("carol")).id), "reason": "spam"})
    ).ok()

    def copy_report(call: Call) -> None:
        for report_id in range(1, OWN_REPORTS_MAX + 1):
            call.tx.run(
                "INSERT INTO reports (id, case_id, reporter_id, reason, comment, evidence) "
                "SELECT CAST(? AS BIGINT), case_id, reporter_id, reason, comment, evidence FROM reports WHERE reporter_id = ? "
                "ORDER BY id DESC LIMIT 1",
                report_id,
                ben.id,
            )

    await world.write(copy_report)

    export = (await ben.get("/users/@me/harvest")).ok()

    assert len(export["records"]["reports"]) == OWN_REPORTS_MAX + 1


async def test_an_export_contains_templates_without_the_content_of_the_guild(world: World) -> None:
    guild = await world.guild()
    (await guild.owner.post(f"/guilds/{guild.id}/templates", json={"name": "Start", "description": "Two rooms"})).ok()

    export = (await guild.owner.get("/users/@me/harvest")).ok()

    [record] = export["records"]["guild_templates"]
    assert (record["name"], record["description"], record["guild_id"]) == ("Start", "Two rooms", str(guild.id))
    assert "snapshot" not in record


async def test_exported_messages_are_complete(world: World) -> None:
    ben = await create_user_with_password(world, "ben")
    guild = await world.guild(None, ben)
    question = await guild.send_message(guild.owner, "Lunch?")
    poll = {"question": {"text": "Where?"}, "answers": [{"poll_media": {"text": "Park"}}]}
    reference = {"message_id": question["id"]}
    await guild.send_message(ben, "Yes", message_reference=reference)
    await guild.send_message(ben, "", poll=poll)

    reply, poll_message = (await ben.get("/users/@me/harvest/messages")).ok()

    assert (reply["content"], reply["message_reference"]["message_id"]) == ("Yes", question["id"])
    assert poll_message["poll"]["question"]["text"] == "Where?"
    assert (reply["poll"], reply["embeds"], reply["sticker_items"]) == (None, [], [])


async def test_an_owner_exports_the_data_of_a_suspended_user(world: World) -> None:
    ann, moderator = await create_operator(world, "ann"), await create_operator(world, "mia", OperatorRole.MODERATOR)
    ben = await create_user_with_password(world, "ben")
    guild = await world.guild(None, ben)
    await guild.send_message(ben, "hello")
    (await ann.post(f"/admin/users/{ben.id}/suspend", json={"reason": "Spam"})).ok()

    path = f"/admin/users/{ben.id}/export"
    export = (await ann.post(path, json={"reason": "Request by mail"})).ok()
    [message] = (await ann.get(f"{path}/messages")).ok()
    assert (export["user"]["username"], message["content"]) == ("ben", "hello")
    assert [record["reason"] for record in export["records"]["moderation_decisions"]] == ["Spam"]
    [entry, *_] = (await ann.get("/admin/audit-log", params={"target_id": str(ben.id)})).ok()
    assert (entry["action"], entry["reason"]) == ("user.export", "Request by mail")
    (await moderator.post(path)).rejected(403, 0)
    (await moderator.get(f"{path}/messages")).rejected(403, 0)

    document = json.loads(await run_admin_command(world, "export-user", "ben"))
    assert [message["content"] for message in document["messages"]] == ["hello"]
    assert document["records"].keys() == export["records"].keys()


async def test_a_deletion_publishes_the_removal_of_what_the_user_wrote(world: World) -> None:
    ann = await create_operator(world, "ann")
    ben = await create_user_with_password(world, "ben")
    guild = await world.guild(None, ben)
    await guild.allow_permissions(ben, Permissions.ALL)
    poll = {"question": {"text": "Where?"}, "answers": [{"poll_media": {"text": "Park"}}], "duration": 100}
    question = await guild.send_message(guild.owner, "", poll=poll)
    path = f"/channels/{guild.general}/messages/{question['id']}"
    (await ben.put(f"{path}/reactions/👍/@me")).ok()
    (await ben.put(f"/channels/{guild.general}/polls/{question['id']}/answers/@me", json={"answer_ids": [1]})).ok()
    empty_id, used_id = await ben.create_thread(guild.general), await ben.create_thread(guild.general, name="secret")
    (await guild.owner.post(f"/channels/{used_id}/messages", json={"content": "hi"})).ok()
    event = (await ben.post(f"/guilds/{guild.id}/scheduled-events", json=external_event())).ok()
    session = await guild.owner.connect()

    (await ann.post(f"/admin/users/{ben.id}/delete", json={"reason": "Spam", "grace_days": 1})).ok()
    world.clock.advance(DAY_MS)
    await world.run_due_jobs()

    assert (await session.next("MESSAGE_REACTION_REMOVE"))["user_id"] == str(ben.id)
    assert (await session.next("MESSAGE_POLL_VOTE_REMOVE"))["answer_id"] == 1
    assert (await session.next("THREAD_DELETE"))["id"] == str(empty_id)
    thread = await session.next("THREAD_UPDATE", lambda update: update["id"] == str(used_id))
    assert thread["name"] == "Deleted thread"
    assert (await session.next("GUILD_SCHEDULED_EVENT_DELETE"))["id"] == event["id"]
    remaining_question = (await guild.owner.get(path)).ok()
    assert "reactions" not in remaining_question
    assert remaining_question["poll"]["results"]["answer_counts"] == []
