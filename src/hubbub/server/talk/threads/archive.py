"""Members of threads in the archive of a guild."""

from typing import Final

from hubbub.server.core.archives import REFERENCE, TIME, USER, ArchiveTable, number

ARCHIVE: Final = (
    ArchiveTable(
        name="thread_members",
        parent="channels",
        parent_column="thread_id",
        key=("thread_id", "user_id"),
        columns={"thread_id": REFERENCE, "user_id": USER, "joined_ms": TIME, "flags": number(1 << 30)},
    ),
)
