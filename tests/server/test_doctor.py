"""`hubbub doctor`: it reports problems with a fix, and creates no files."""

import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hubbub.server import cli
from hubbub.server.core.config import ActivitiesConfig, Config, MailConfig
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.doctor import Finding, check_chat_client, run_checks
from tests.journeys.processes import running_server
from tests.smtp import run_smtp_server


async def run_doctor(**settings: Any) -> dict[str, Finding]:
    """Return the doctor's findings for a configuration, by subject."""
    return {finding.subject: finding async for finding in run_checks(Config(**{"port": 0, **settings}))}


async def test_a_valid_configuration_has_no_problems_and_creates_no_files(tmp_path: Path) -> None:
    findings = await run_doctor(data=str(tmp_path / "data"))
    # Voice needs a certificate, which the operator must provide.
    # A checkout without access to the npm registry has no third-party files.
    assert {subject for subject, finding in findings.items() if finding.level != "ok"} - {"client"} == {"voice"}
    assert findings["voice"].level == "note"
    assert not list(tmp_path.iterdir())


def test_missing_files_of_the_chat_client_are_noted(tmp_path: Path) -> None:
    finding = check_chat_client(tmp_path)
    assert (finding.level, "calls in the browser" in finding.message) == ("note", True)
    assert "npm registry" in finding.fix
    (tmp_path / "third_party").mkdir()
    for name in ("davey.wasm", "emnapi_core.js", "emnapi_runtime.js"):
        (tmp_path / "third_party" / name).touch()
    assert "calls in the browser" not in check_chat_client(tmp_path).message


async def test_a_database_in_use_is_noted_and_an_invalid_one_is_a_problem(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "hubbub.sqlite3")
    await database.start()
    assert (await run_doctor(data=str(tmp_path)))["database"].level == "note"
    await database.close()
    finding = (await run_doctor(data=str(tmp_path)))["database"]
    assert (finding.level, "up to date" in finding.message) == ("ok", True)

    (tmp_path / "hubbub.sqlite3").write_bytes(b"this is not a database" * 100)
    finding = (await run_doctor(data=str(tmp_path)))["database"]
    assert (finding.level, finding.fix) == ("problem", "restore a backup, or set --data to another folder")


async def test_a_database_of_a_newer_version_is_a_problem(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "hubbub.sqlite3")
    await database.start()
    await database.write(
        lambda tx: tx.run("INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'later', 'x')")
    )
    await database.close()
    finding = (await run_doctor(data=str(tmp_path)))["database"]
    assert (finding.level, "newer version" in finding.message) == ("problem", True)


async def test_a_data_folder_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert (await run_doctor(data=str(tmp_path / "data")))["data"].level == "problem"


@pytest.mark.parametrize("subpath", ["x", "x/y"])
async def test_a_folder_that_cannot_be_created_is_a_problem(tmp_path: Path, subpath: str) -> None:
    (tmp_path / "file").write_text("")
    # No user can create folders inside a file or in /proc, whatever the permissions.
    folders = [tmp_path / "file", Path("/proc")]

    for folder in folders if folders[1].is_dir() else folders[:1]:
        finding = (await run_doctor(data=str(folder / subpath)))["data"]

        assert (finding.level, str(folder) in finding.message) == ("problem", True), finding


async def test_a_port_in_use_is_a_problem(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        finding = (await run_doctor(port=listener.getsockname()[1]))["port"]
    assert (finding.level, finding.fix) == ("problem", "stop the program that listens there, or set another --port")


async def test_the_port_of_a_running_server_is_not_a_problem(tmp_path: Path) -> None:
    async with running_server(tmp_path, "dev") as server:
        port = urlsplit(server.url).port
        finding = (await run_doctor(port=port))["port"]
    assert (finding.level, finding.message) == ("note", f"a running server listens on 127.0.0.1:{port}")


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
async def test_the_public_url_must_be_usable_by_clients(settings: dict[str, str], level: str) -> None:
    assert (await run_doctor(**settings))["public url"].level == level


@pytest.mark.parametrize(
    ("settings", "level", "text"),
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
async def test_activities_require_their_own_domain(settings: dict[str, str], level: str, text: str) -> None:
    activities = ActivitiesConfig(proxy_host=settings.get("proxy_host"))
    finding = (await run_doctor(activities=activities, public_url=settings.get("public_url")))["activities"]
    assert (finding.level, text in finding.message) == (level, True), finding


async def test_unreachable_servers_are_problems_and_secrets_are_not_printed() -> None:
    findings = await run_doctor(
        database_url="postgresql://hubbub:hush-hush@127.0.0.1:1/x", nats_url="nats://hush:hush-hush@127.0.0.1:1"
    )
    assert findings["database"].level == findings["nats"].level == "problem"
    assert not any("hush-hush" in finding.message for finding in findings.values())


async def test_reachable_servers_are_ok(postgres_url: str, nats_url: str) -> None:
    findings = await run_doctor(database_url=postgres_url, nats_url=nats_url)
    assert (findings["database"].level, findings["nats"].level, findings["processes"].level) == ("ok", "ok", "ok")
    assert "PostgreSQL" in findings["database"].message


async def test_nats_requires_postgresql(nats_url: str) -> None:
    assert (await run_doctor(nats_url=nats_url))["processes"].level == "problem"


@pytest.mark.parametrize("roles", ["api", "gateway,voice,worker"])
async def test_roles_that_no_process_runs_are_noted(tmp_path: Path, roles: str) -> None:
    findings = await run_doctor(data=str(tmp_path / "data"), roles=frozenset(roles.split(",")))
    assert findings["processes"].level == "note"
    missing_roles = ",".join(role for role in ("api", "gateway", "worker") if role not in roles.split(","))
    assert findings["processes"].message.startswith(f"no process runs the roles {missing_roles}: ")


async def test_the_file_store_is_tested(tmp_path: Path) -> None:
    assert (await run_doctor(files_url=str(tmp_path)))["files"].level == "ok"
    assert (await run_doctor(files_url="ftp://example"))["files"].level == "problem"


def test_the_exit_code_is_1_if_there_are_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--data", str(tmp_path / "data"), "--port", "0"]
    assert cli.main(["doctor", *settings]) == 0
    assert "No problems found." in capsys.readouterr().out
    assert cli.main(["doctor", *settings, "--host", "0.0.0.0"]) == 1
    assert "1 problem" in capsys.readouterr().out


async def test_the_smtp_server_is_checked(tmp_path: Path) -> None:
    settings = {"host": "127.0.0.1", "security": "none", "sender": "chat@example.org"}
    async with run_smtp_server(requires_login=True) as receiver:
        settings |= {"port": receiver.port, "username": "chat"}
        valid_login = (await run_doctor(mail=MailConfig(**settings, password="secret")))["mail"]
        wrong_password = (await run_doctor(mail=MailConfig(**settings, password="hunter2")))["mail"]
        finding_without_starttls = (
            await run_doctor(mail=MailConfig(**{**settings, "security": "starttls"}, password="secret"))
        )["mail"]
    stopped_finding = (await run_doctor(mail=MailConfig(**settings, password="secret")))["mail"]

    assert (valid_login.level, "logged in as chat" in valid_login.message) == ("ok", True)
    assert (wrong_password.level, wrong_password.fix) == ("problem", "check --mail-username and --mail-password")
    assert "hunter2" not in wrong_password.message
    assert (finding_without_starttls.level, "STARTTLS" in finding_without_starttls.message) == ("problem", True)
    assert (stopped_finding.level, "--mail-host" in stopped_finding.fix) == ("problem", True)
    assert receiver.mails == []
