"""The doctor finds what is wrong, says how to fix it, and leaves nothing behind."""

import socket
from pathlib import Path
from typing import Any

import pytest

from hubbub.server import cli
from hubbub.server.core.config import ActivitiesConfig, Config
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.doctor import Finding, examine


async def findings(**settings: Any) -> dict[str, Finding]:
    """What the doctor says of a configuration, by subject."""
    return {finding.subject: finding async for finding in examine(Config(**{"port": 0, **settings}))}


async def test_a_good_configuration_has_no_problem_and_nothing_is_left_behind(tmp_path: Path) -> None:
    found = await findings(data=str(tmp_path / "data"))
    # Calls need a certificate, which nobody can do without asking.
    assert {subject for subject, finding in found.items() if finding.level != "ok"} == {"voice"}
    assert found["voice"].level == "note"
    assert not list(tmp_path.iterdir())


async def test_a_database_in_use_is_noted_and_one_that_is_none_is_a_problem(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "hubbub.sqlite3")
    await database.start()
    assert (await findings(data=str(tmp_path)))["database"].level == "note"
    await database.close()
    found = (await findings(data=str(tmp_path)))["database"]
    assert (found.level, "up to date" in found.words) == ("ok", True)

    (tmp_path / "hubbub.sqlite3").write_bytes(b"this is no database" * 100)
    found = (await findings(data=str(tmp_path)))["database"]
    assert (found.level, found.fix) == ("problem", "restore a backup, or set --data to another folder")


async def test_a_database_of_a_newer_version_is_a_problem(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "hubbub.sqlite3")
    await database.start()
    await database.write(
        lambda tx: tx.run("INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'later', 'x')")
    )
    await database.close()
    found = (await findings(data=str(tmp_path)))["database"]
    assert (found.level, "newer version" in found.words) == ("problem", True)


async def test_a_data_folder_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert (await findings(data=str(tmp_path / "data")))["data"].level == "problem"


@pytest.mark.parametrize("below", ["x", "x/y"])
async def test_a_folder_that_cannot_be_made_is_a_problem(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("")
    places = [tmp_path / "file", Path("/proc")]

    for place in places if places[1].is_dir() else places[:1]:
        found = (await findings(data=str(place / below)))["data"]

        # Nobody makes folders there, whatever permissions they have.
        assert (found.level, str(place) in found.words) == ("problem", True), found


async def test_a_port_in_use_is_a_problem(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = (await findings(port=taken.getsockname()[1]))["port"]
    assert (found.level, found.fix) == ("problem", "stop the program that listens there, or set another --port")


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({"public_url": "https://chat.example"}, "ok"),
        ({"public_url": "https://chat.example/"}, "ok"),
        ({"public_url": "http://localhost:8080"}, "ok"),
        ({"public_url": "http://chat.example"}, "note"),
        ({"public_url": "https://chat.example/hubbub"}, "problem"),
        ({"public_url": "http://0.0.0.0:8080"}, "problem"),
        ({"host": "0.0.0.0"}, "problem"),
    ],
)
async def test_the_public_address_must_be_one_that_clients_can_use(settings: dict[str, str], level: str) -> None:
    assert (await findings(**settings))["public url"].level == level


@pytest.mark.parametrize(
    ("settings", "level", "words"),
    [
        ({}, "ok", "disabled; set --activities-proxy-host"),
        (
            {"public_url": "https://chat.example.org", "proxy_host": "activities.example.net"},
            "ok",
            "served at https://APPLICATION_ID.activities.example.net",
        ),
        ({"public_url": "https://example.org", "proxy_host": "activities.example.org"}, "note", "cookies"),
        ({"public_url": "https://example.org", "proxy_host": "example.org"}, "problem", "inside the activity domain"),
        (
            {"public_url": "https://chat.example.org", "proxy_host": "example.org"},
            "problem",
            "inside the activity domain",
        ),
    ],
)
async def test_activities_need_a_domain_of_their_own(settings: dict[str, str], level: str, words: str) -> None:
    activities = ActivitiesConfig(proxy_host=settings.get("proxy_host"))
    found = (await findings(activities=activities, public_url=settings.get("public_url")))["activities"]
    assert (found.level, words in found.words) == (level, True), found


async def test_servers_that_do_not_answer_are_problems_and_secrets_stay_unsaid() -> None:
    found = await findings(
        database_url="postgresql://hubbub:hush-hush@127.0.0.1:1/x", nats_url="nats://hush:hush-hush@127.0.0.1:1"
    )
    assert found["database"].level == found["nats"].level == "problem"
    assert not any("hush-hush" in finding.words for finding in found.values())


async def test_servers_that_answer_are_fine(postgres_url: str, nats_url: str) -> None:
    found = await findings(database_url=postgres_url, nats_url=nats_url)
    assert (found["database"].level, found["nats"].level, found["processes"].level) == ("ok", "ok", "ok")
    assert "PostgreSQL" in found["database"].words


async def test_nats_needs_postgresql(nats_url: str) -> None:
    assert (await findings(nats_url=nats_url))["processes"].level == "problem"


async def test_a_file_store_is_tried(tmp_path: Path) -> None:
    assert (await findings(files_url=str(tmp_path)))["files"].level == "ok"
    assert (await findings(files_url="ftp://example"))["files"].level == "problem"


def test_the_exit_code_says_whether_something_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--data", str(tmp_path / "data"), "--port", "0"]
    assert cli.main(["doctor", *settings]) == 0
    assert "No problems found." in capsys.readouterr().out
    assert cli.main(["doctor", *settings, "--host", "0.0.0.0"]) == 1
    assert "1 problem" in capsys.readouterr().out
