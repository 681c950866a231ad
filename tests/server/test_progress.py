"""The progress bar of commands: in a terminal, without one, and during the copy of an embedded database."""

import asyncio
import os
import pty
import sqlite3
import sys
from pathlib import Path

from hubbub.server.backups import creation
from hubbub.server.core.backends import DATABASE_FILE
from hubbub.server.core.sqlite import SqliteDatabase
from tests.world import WAIT_TIMEOUT_SECONDS

ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TERM": "xterm"}
PROGRAM = """
from hubbub.server.commands.progress import ProgressBar
with ProgressBar() as progress:
    progress.update("files", 2, 2)
    progress.update("messages", 0)
    progress.update("rows", 1, 1)
print("done")
"""


async def run_in_terminal(*arguments: str) -> tuple[int, str]:
    """Run Python with standard output and standard error in a pseudo-terminal; return its exit code and output."""
    controller, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=terminal, stderr=terminal, env=ENVIRONMENT
    )
    os.close(terminal)
    output = b""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while True:
            try:
                chunk = await asyncio.to_thread(os.read, controller, 65_536)
            except OSError:  # Linux reports the end of the last program in the terminal as an error.
                break
            if not chunk:
                break
            output += chunk
        exit_code = await process.wait()
    os.close(controller)
    return exit_code, output.decode()


async def create_database(folder: Path) -> Path:
    """Create a data folder with an embedded database, and return the path of the database."""
    folder.mkdir()
    database = SqliteDatabase(folder / DATABASE_FILE)
    await database.start()
    await database.close()
    return folder / DATABASE_FILE


async def test_a_bar_is_drawn_in_place_and_removed() -> None:
    exit_code, output = await run_in_terminal("-c", PROGRAM)

    assert exit_code == 0
    bar = "#" * 30
    assert f"\rfiles        [{bar}] 2/2" in output
    assert f"\rrows         [{bar}] 1/1" in output
    # The last text is overwritten by spaces before the command prints its result.
    assert output.rstrip().endswith("\rdone")
    assert output.rpartition("1/1")[2].lstrip("\r").startswith(" " * len(f"rows         [{bar}] 1/1"))


async def test_nothing_is_drawn_without_a_terminal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=ENVIRONMENT
    )

    assert await process.communicate() == (b"done\n", b"")


async def test_a_backup_of_an_embedded_database_shows_its_progress(tmp_path: Path) -> None:
    path = await create_database(tmp_path / "data")

    exit_code, output = await run_in_terminal(
        *("-m", "hubbub.server.cli", "backup", str(tmp_path / "copy"), "--data", str(path.parent))
    )

    assert exit_code == 0, output
    assert "\rdatabase     [##############################] " in output
    assert "Backup created in" in output


async def test_a_copy_with_progress_is_one_snapshot_while_a_server_writes(tmp_path: Path) -> None:
    path = await create_database(tmp_path / "data")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE written (number INTEGER, content BLOB)")
    writer.execute("INSERT INTO written VALUES (0, ?)", (b"x" * 40_000_000,))
    target_folder = tmp_path / "copy"
    target_folder.mkdir()
    shares = []

    def write_during_copy(subject: str, count: int, total: int) -> None:
        shares.append((count, total))
        writer.execute("INSERT INTO written VALUES (?, NULL)", (len(shares),))

    creation.copy_embedded(path, target_folder, write_during_copy)
    writer.close()

    assert len(shares) > 1
    assert shares == sorted(set(shares))
    assert shares[-1][0] == shares[-1][1]
    copy = sqlite3.connect(target_folder / DATABASE_FILE)
    assert copy.execute("SELECT COUNT(*) FROM written").fetchone() == (1,)
    copy.close()
