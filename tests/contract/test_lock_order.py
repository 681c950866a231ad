"""Units of work lock the rows of a table in the order of their keys, so that concurrent ones do not deadlock."""

from typing import Any

import pytest

from hubbub.protocol.enums import CommandType
from hubbub.server.core.postgres_tx import sort_by_key
from hubbub.server.core.sqlite_tx import SqliteTx
from tests.world import World


def find_key(sql: str, parameters: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the key of the row that a statement locks, or None if it locks no row or an unknown number of rows."""
    if sql.startswith(("UPDATE ", "DELETE ")) and " WHERE " in sql and " IN (" not in sql:
        count = sql.rpartition(" WHERE ")[2].count("?")
        return parameters[-count:] if count else None
    return parameters if " ON CONFLICT" in sql else None


@pytest.fixture
def unordered_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Descriptions of the statements that locked a row after they locked one with a higher key, in the same transaction."""
    unordered_texts: list[str] = []
    run = SqliteTx.run

    def checked_run(tx: SqliteTx, sql: str, *parameters: Any) -> int:
        key = find_key(sql, parameters)
        if key is not None:
            last_keys = tx.__dict__.setdefault("last_keys", {})
            if sql in last_keys and key < last_keys[sql]:
                unordered_texts.append(f"{sql}: {key} after {last_keys[sql]}")
            last_keys[sql] = key
        return run(tx, sql, *parameters)

    monkeypatch.setattr(SqliteTx, "run", checked_run)
    return unordered_texts


def test_statements_for_many_rows_are_sorted_by_their_key() -> None:
    update = "UPDATE roles SET position = ? WHERE id = ?"
    assert sort_by_key(update, [(1, 9), (2, 3)]) == [(2, 3), (1, 9)]
    upsert = "INSERT INTO t (a, b, c) VALUES (?, ?, ?) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c"
    assert sort_by_key(upsert, [(2, None, 0), (1, 5, 0), (1, None, 0)]) == [(1, None, 0), (1, 5, 0), (2, None, 0)]
    # The order of new rows may determine their IDs.
    assert sort_by_key("INSERT INTO t (a) VALUES (?)", [(2,), (1,)]) == [(2,), (1,)]


@pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
async def test_operations_that_change_several_rows_lock_them_in_order(
    world: World, unordered_statements: list[str]
) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    channel_ids = [
        (await alice.post(f"/guilds/{guild.id}/channels", json={"name": f"c{number}"})).ok()["id"]
        for number in range(3)
    ]
    moves = [{"id": id, "position": position} for position, id in enumerate(reversed(channel_ids))]
    (await alice.patch(f"/guilds/{guild.id}/channels", json=moves)).ok()

    for sender, other in ((alice, bob), (bob, alice)):
        (await sender.put(f"/users/@me/relationships/{other.id}", json={})).ok()
        (await sender.delete(f"/users/@me/relationships/{other.id}")).ok()

    bot = await world.bot(guild)
    path = f"/applications/{bot.application_id}/commands"
    commands = [{"name": f"command{number}", "description": "x", "type": CommandType.CHAT_INPUT} for number in range(3)]
    (await bot.put(path, json=commands)).ok()
    (await bot.put(path, json=[command | {"description": "y"} for command in reversed(commands)])).ok()

    assert unordered_statements == []
