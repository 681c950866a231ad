"""What the SDK says of itself, and what it never says."""

from pathlib import Path

import pytest

from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions, LoggingSeverity
from tests.sdk.players import game, player
from tests.world import World

EVERYTHING = LoggingSeverity.VERBOSE


def test_a_released_game_logs_warnings_and_errors_only() -> None:
    client, heard = Client(), []
    client.add_log_callback(lambda text, severity: heard.append((text, severity)), EVERYTHING)

    for say in (client._core.logs.verbose, client._core.logs.info, client._core.logs.warning, client._core.logs.error):
        say("something")
    client.run_callbacks()

    assert heard == [("something", LoggingSeverity.WARNING), ("something", LoggingSeverity.ERROR)]
    client.close()


def test_a_debug_client_says_all_and_warns_of_it_first() -> None:
    client, heard = Client(debug=True), []
    client.add_log_callback(lambda text, severity: heard.append((text, severity)), EVERYTHING)
    client.add_log_callback(lambda text, severity: heard.append(("filtered", severity)), LoggingSeverity.ERROR)

    client._core.logs.verbose("detail")
    client._core.logs.error("fault")
    client.run_callbacks()

    assert heard[0][1] is LoggingSeverity.WARNING
    assert "debug" in heard[0][0]
    assert heard[1:] == [
        ("detail", LoggingSeverity.VERBOSE),
        ("fault", LoggingSeverity.ERROR),
        ("filtered", LoggingSeverity.ERROR),
    ]
    client.close()


def test_voice_has_readers_of_its_own() -> None:
    client, heard = Client(), []
    client.add_log_callback(lambda text, _: heard.append(("log", text)), EVERYTHING)
    client.add_voice_log_callback(lambda text, _: heard.append(("voice", text)), EVERYTHING)

    client.start_call(5)
    client.run_callbacks()

    assert [who for who, _ in heard] == ["voice"]
    client.close()


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer {token}",
        "bearer {token}",
        'answer {{"access_token": "{token}", "expires_in": 5}}',
        "refresh_token={token}&client_id=5",
        "a word that happens to be {token}",
    ],
)
@pytest.mark.parametrize("severity", [each for each in LoggingSeverity if each is not LoggingSeverity.NONE])
def test_no_line_of_any_level_holds_a_token(line: str, severity: LoggingSeverity, tmp_path: Path) -> None:
    token = "MTIzNDU2.abc-DEF_ghi.jkl"
    client, heard = Client(debug=True), []
    client.add_log_callback(lambda text, _: heard.append(text), EVERYTHING)
    assert client.set_log_dir(str(tmp_path), EVERYTHING)
    client._core.logs.hide(token)

    client._core.logs.write(line.format(token=token), severity)
    client.run_callbacks()
    client.close()

    assert len(heard) == 2
    assert token not in "".join(heard) + (tmp_path / "hubbub.log").read_text()


async def test_nothing_that_a_session_says_holds_its_tokens(world: World, tmp_path: Path) -> None:
    application = await game(world)
    mary = await player(world, application, connect=False, debug=True)
    lines: list[str] = []
    mary.client.add_log_callback(lambda text, _: lines.append(text), EVERYTHING)
    mary.client.set_log_dir(str(tmp_path), EVERYTHING)

    await mary.client.connect()
    renewed = await mary.client.refresh_token(application.id, mary.tokens["refresh_token"])
    await mary.client.update_token(AuthorizationTokenType.BEARER, renewed.access_token)
    await mary.client.get_user_guilds()
    await mary.client.close()

    text = "\n".join(lines) + (tmp_path / "hubbub.log").read_text()
    assert "GET /users/@me/guilds" in text
    for secret in (*mary.tokens.values(), renewed.access_token, renewed.refresh_token):
        assert not isinstance(secret, str) or len(secret) < 20 or " " in secret or secret not in text


def test_the_log_directory_may_be_missing(tmp_path: Path) -> None:
    client = Client()

    assert not client.set_log_dir(str(tmp_path / "nowhere"), LoggingSeverity.INFO)
    assert client.set_log_dir(str(tmp_path), LoggingSeverity.NONE)
    assert list(tmp_path.iterdir()) == []
    client.close()


def test_voice_logs_of_the_last_run_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        client = Client(ClientCreateOptions())
        client.set_voice_log_dir(str(tmp_path), LoggingSeverity.WARNING)
        client.start_call(5)
        client.close()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["hubbub-last-webrtc_0", "hubbub-webrtc_0"]
    assert "voice is not connected" in (tmp_path / "hubbub-webrtc_0").read_text()
