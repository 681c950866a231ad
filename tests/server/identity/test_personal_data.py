"""Deletion and export of everything that is stored about a user: one row in each declared column."""

from collections.abc import Mapping
from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.personal_data import Erasure
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

    def fill(self, call: Call) -> None:
        """Insert the missing rows."""
        for column in personal_data.collect():
            if column.erasure == Erasure.REJECTED or count_rows(call, column.column, self.user.id):
                continue
            values = dict.fromkeys(self.builder.required_names(column.table, OTHER_USER_COLUMNS), self.other_id)
            values |= self.own_rows.get(column.column, {}) | {column.name: self.user.id}
            self.builder.insert(call, column.table, **values)


async def prepare(world: World) -> FilledUser:
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
    filled = await prepare(world)
    (await ann.post(f"/admin/users/{filled.user.id}/delete", json={"reason": "Spam", "grace_days": 7})).ok()
    await world.write(filled.fill)
    counts = {
        column.column: await world.write(lambda call, column=column: count_rows(call, column.column, filled.user.id))
        for column in personal_data.collect()
        if column.erasure != Erasure.REJECTED
    }
    assert [column for column, number in counts.items() if not number] == []

    world.clock.advance(7 * DAY_MS)
    await world.run_due_jobs()

    for column in personal_data.collect():
        number = await world.write(lambda call, column=column: count_rows(call, column.column, filled.user.id))
        if column.erasure in {Erasure.DELETED, Erasure.WRITTEN, Erasure.CLEARED}:
            assert number == 0, column.column
        elif column.erasure == Erasure.KEPT:
            assert number > 0, column.column


async def test_an_export_has_every_declared_section(world: World) -> None:
    filled = await prepare(world)
    await world.write(filled.fill)
    (await filled.user.post("/guilds", json={"name": "Own"})).ok()

    export = (await filled.user.get("/users/@me/harvest")).ok()
    messages = (await filled.user.get("/users/@me/harvest/messages")).ok()

    sections = export["records"] | {"user": export["user"], "sessions": export["sessions"], "messages": messages}
    declared = {column.export for column in personal_data.collect() if column.export}
    assert set(sections) == declared
    assert {name for name in declared if not sections[name]} == {"applications"}
