"""Assignment of new IDs to imported objects (decisions/0128).

A new ID has the time of the old ID, so that history, paging and creation dates are right. Imports have a process number
that servers and commands do not use, and the counter continues after the IDs of earlier imports, so no ID is assigned
twice."""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from hubbub.server.core.store import Tx
from hubbub.server.identity.imports import store

IMPORT_PROCESS: Final = 30
"""The value of `process` in the IDs of imported objects; servers use 0 and commands 31."""
IDS_PER_MS_MAX: Final = 1 << 17
"""Maximum number of imported objects of one millisecond: 2 to the number of bits of worker (5) and counter (12)."""


class TooManyIds(Exception):
    """More objects have the same millisecond than there are IDs for it."""


def assign(tx: Tx, import_id: int, old_ids: Iterable[int]) -> None:
    """Assign new IDs to objects that have none; objects of the same millisecond keep their order.

    Raise `TooManyIds` if, with earlier imports, more than IDS_PER_MS_MAX objects have the same millisecond."""
    distinct_ids = set(old_ids)
    new_ids_by_old_id = store.find_new_ids(tx, import_id, list(distinct_ids))
    missing_ids = sorted(distinct_ids - new_ids_by_old_id.keys())
    groups = [
        (time_ms, list(group_ids)) for time_ms, group_ids in groupby(missing_ids, key=lambda old_id: old_id >> 22)
    ]
    # IDs of a millisecond are assigned from counter 0 on, so earlier imports used the millisecond only if its first ID is taken.
    taken_ids = store.find_taken_ids(tx, [_compose_id(time_ms, 0) for time_ms, _ in groups])
    id_pairs: list[tuple[int, int]] = []
    for time_ms, group_ids in groups:
        counter = 0
        if _compose_id(time_ms, 0) in taken_ids:
            highest_id = store.find_highest_id(tx, time_ms << 22, (time_ms + 1) << 22)
            counter = 0 if highest_id is None else _extract_counter(highest_id) + 1
        if counter + len(group_ids) > IDS_PER_MS_MAX:
            raise TooManyIds(f"more than {IDS_PER_MS_MAX} objects have the time {time_ms}")
        id_pairs += [(old_id, _compose_id(time_ms, counter + index)) for index, old_id in enumerate(group_ids)]
    store.insert_ids(tx, import_id, id_pairs)


def _compose_id(time_ms: int, counter: int) -> int:
    """Return the ID of a counter of 17 bits, of which the upper five are stored as the worker."""
    return time_ms << 22 | (counter >> 12) << 17 | IMPORT_PROCESS << 12 | (counter & 0xFFF)


def _extract_counter(new_id: int) -> int:
    return (new_id >> 17 & 31) << 12 | (new_id & 0xFFF)
