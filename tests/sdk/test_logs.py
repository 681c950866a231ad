"""Log lines of the SDK: severities, files, voice logs, and the redaction of tokens."""

import asyncio
import logging
import traceback
from pathlib import Path

import aiohttp
import pytest

from hubbub.sdk import (
    Api,
    AuthorizationTokenType,
    ChildToken,
    Client,
    ClientCreateOptions,
    ErrorType,
    LoggingSeverity,
    SdkError,
    TokenExchange,
    logs,
)
from tests.sdk.players import CallbackRecorder, create_game, create_player
from tests.world import World

ALL_SEVERITIES = LoggingSeverity.VERBOSE


@pytest.mark.parametrize("minimum", [severity for severity in LoggingSeverity if severity is not LoggingSeverity.NONE])
def test_callbacks_and_files_receive_lines_from_their_minimum_severity_on(
    minimum: LoggingSeverity, tmp_path: Path
) -> None:
    client, log_lines, voice_log_lines = Client(), [], []
    severities = [severity for severity in LoggingSeverity if severity is not LoggingSeverity.NONE]
    client.add_log_callback(lambda text, _: log_lines.append(text), minimum)
    client.add_voice_log_callback(lambda text, _: voice_log_lines.append(text), minimum)
    client.set_log_dir(str(tmp_path), minimum)
    client.set_voice_log_dir(str(tmp_path), minimum)

    for severity in severities:
        client._core.logs.write(severity.label, severity)
        client._core.logs.write(severity.label, severity, is_voice=True)
    client.run_callbacks()
    client.close()

    expected = [severity.label for severity in severities if severity >= minimum]
    assert log_lines[-len(expected) :] == voice_log_lines == expected
    for name in ("hubbub.log", "hubbub-webrtc_0"):
        lines = (tmp_path / name).read_text().splitlines()
        assert [line.rpartition(": ")[2] for line in lines] == expected


def test_a_released_game_logs_warnings_and_errors_only() -> None:
    client, log_lines = Client(ClientCreateOptions(debug_logging=False)), []
    client.add_log_callback(lambda text, severity: log_lines.append((text, severity)), ALL_SEVERITIES)

    for write_line in (
        client._core.logs.verbose,
        client._core.logs.info,
        client._core.logs.warning,
        client._core.logs.error,
    ):
        write_line("something")
    client.run_callbacks()

    assert log_lines == [("something", LoggingSeverity.WARNING), ("something", LoggingSeverity.ERROR)]
    client.close()


def test_a_debug_client_logs_everything_and_warns_first() -> None:
    client, log_lines = Client(), []
    client.add_log_callback(lambda text, severity: log_lines.append((text, severity)), ALL_SEVERITIES)
    client.add_log_callback(lambda text, severity: log_lines.append(("filtered", severity)), LoggingSeverity.ERROR)

    client._core.logs.verbose("detail")
    client._core.logs.error("fault")
    client.run_callbacks()

    assert log_lines[0][1] is LoggingSeverity.WARNING
    assert "Debug" in log_lines[0][0]
    assert log_lines[1:] == [
        ("detail", LoggingSeverity.VERBOSE),
        ("fault", LoggingSeverity.ERROR),
        ("filtered", LoggingSeverity.ERROR),
    ]
    client.close()


def test_voice_log_callbacks_are_separate() -> None:
    client, log_lines = Client(), []
    client.add_log_callback(lambda text, _: log_lines.append(("log", text)), ALL_SEVERITIES)
    client.add_voice_log_callback(lambda text, _: log_lines.append(("voice", text)), ALL_SEVERITIES)

    client.start_call(5)
    client.run_callbacks()

    # The log callback receives only the warning that debug messages are logged.
    assert {text for source, text in log_lines if source == "log"} == {
        "Debug messages are logged; turn them off in released games"
    }
    assert [text for source, text in log_lines if source == "voice"] == [
        "Call of lobby 5: status Joining",
        "Could not start the call of lobby 5: the current user is not a member of the lobby",
        "Call of lobby 5: status Disconnected, error Forbidden 0",
    ]
    client.close()


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer {token}",
        "bearer {token}",
        'response {{"access_token": "{token}", "expires_in": 5}}',
        "refresh_token={token}&client_id=5",
        "a text that contains {token}",
    ],
)
@pytest.mark.parametrize("severity", [severity for severity in LoggingSeverity if severity is not LoggingSeverity.NONE])
def test_log_lines_of_any_level_redact_tokens(line: str, severity: LoggingSeverity, tmp_path: Path) -> None:
    token = "MTIzNDU2.abc-DEF_ghi.jkl"
    client, log_lines = Client(), []
    client.add_log_callback(lambda text, _: log_lines.append(text), ALL_SEVERITIES)
    assert client.set_log_dir(str(tmp_path), ALL_SEVERITIES)
    client._core.logs.add_secrets(token)

    client._core.logs.write(line.format(token=token), severity)
    client.run_callbacks()
    client.close()

    assert len(log_lines) == 2
    assert token not in "".join(log_lines) + (tmp_path / "hubbub.log").read_text()


async def test_session_logs_do_not_contain_tokens(world: World, tmp_path: Path) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, connect=False)
    lines: list[str] = []
    mary.client.add_log_callback(lambda text, _: lines.append(text), ALL_SEVERITIES)
    mary.client.set_log_dir(str(tmp_path), ALL_SEVERITIES)

    await mary.client.connect()
    renewed_tokens = await mary.client.refresh_token(application.id, mary.tokens["refresh_token"])
    await mary.client.update_token(AuthorizationTokenType.BEARER, renewed_tokens.access_token)
    await mary.client.get_user_guilds()
    await mary.client.close()

    text = "\n".join(lines) + (tmp_path / "hubbub.log").read_text()
    assert "GET /users/@me/guilds" in text
    for secret in (*mary.tokens.values(), renewed_tokens.access_token, renewed_tokens.refresh_token):
        assert not isinstance(secret, str) or len(secret) < 20 or " " in secret or secret not in text


async def test_python_errors_and_logs_do_not_contain_tokens(caplog: pytest.LogCaptureFixture) -> None:
    """Check every level, the loggers of asyncio and aiohttp, and every raised exception."""

    async def send_garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"this is not HTTP\r\n\r\n")
        writer.close()

    caplog.set_level(logging.DEBUG)
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0
    server = await asyncio.start_server(send_garbage, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    token, lines = "MTIzNDU2.abc-DEF_ghi.jkl", CallbackRecorder()
    client = Client(ClientCreateOptions(web_base=base))
    client.add_log_callback(lines, ALL_SEVERITIES)
    client._core.api._http._tries = 1

    with pytest.raises(SdkError) as caught:
        await client.fetch_current_user(AuthorizationTokenType.BEARER, token)
    with pytest.raises(SdkError) as revocation_error:
        await client.revoke_token(1, token)
    async with Api(base, token, "bearer", tries=1) as api:
        with pytest.raises(aiohttp.ClientError) as bare_error:
            await api.request("GET", "/users/@me", authorization=f"Bearer {token}")

    assert caught.value.result.type is revocation_error.value.result.type is ErrorType.NETWORK_ERROR
    texts = [text for text, _ in lines.calls] + [record.getMessage() for record in caplog.records]
    for exception_info in (caught, revocation_error, bare_error):
        texts += [
            repr(exception_info.value),
            repr(vars(exception_info.value)),
            *traceback.format_exception(exception_info.value),
        ]
    assert any("Executing" in text for text in texts), "no log record of asyncio was captured"
    assert [text for text in texts if token in text] == []
    await client.close()
    server.close()
    loop.set_debug(False)


def test_token_reprs_are_redacted() -> None:
    bearer = AuthorizationTokenType.BEARER
    for tokens in (TokenExchange("access", "refresh", bearer, 5, "openid"), ChildToken("access", bearer, 5, "x")):
        assert "access" not in f"{tokens} {tokens!r}"
        assert "refresh" not in f"{tokens} {tokens!r}"


def test_a_missing_log_directory_is_rejected_and_severity_none_writes_no_file(tmp_path: Path) -> None:
    client = Client()

    assert not client.set_log_dir(str(tmp_path / "nowhere"), LoggingSeverity.INFO)
    assert client.set_log_dir(str(tmp_path), LoggingSeverity.NONE)
    assert list(tmp_path.iterdir()) == []
    client.close()


def test_voice_logs_of_the_previous_run_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        client = Client(ClientCreateOptions())
        client.set_voice_log_dir(str(tmp_path), LoggingSeverity.WARNING)
        client.start_call(5)
        client.close()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["hubbub-last-webrtc_0", "hubbub-webrtc_0"]
    assert "Could not start" in (tmp_path / "hubbub-webrtc_0").read_text()


def test_voice_logs_are_rotated_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "VOICE_FILE_BYTES_MAX", 200)
    client = Client()
    client.set_voice_log_dir(str(tmp_path), ALL_SEVERITIES)

    for number in range(100):
        client._core.logs.write(f"line {number} {'x' * 60}", LoggingSeverity.INFO, is_voice=True)
    client.close()

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"hubbub-webrtc_{number}" for number in range(logs.VOICE_FILES_MAX)]
    assert all(file.stat().st_size < 400 for file in files)
    numbers = [
        int(line.split("line ")[1].split()[0]) for file in reversed(files) for line in file.read_text().splitlines()
    ]
    assert numbers == list(range(numbers[0], 100))
