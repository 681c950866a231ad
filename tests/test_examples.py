"""Tests that run the examples in separate processes, as their README describes, and a test of the game's rules."""

import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import wave
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from tests.pages import Browser
from tests.world import World

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1", "BROWSER": "true"}
TIMEOUT_SECONDS = 60.0


class Program:
    """A Python program that runs in the background, with its input and output lines."""

    def __init__(self, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *(str(argument) for argument in arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=ENVIRONMENT,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.printed: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def expect_all(self, *texts: str) -> None:
        """Read lines until each of these texts was in a line, in any order."""
        missing_texts = set(texts)
        while missing_texts:
            line = self.expect("")
            missing_texts = {text for text in missing_texts if text not in line}

    def expect(self, text: str) -> str:
        """Read lines until one contains this text, and return that line."""
        while True:
            try:
                line = self._lines.get(timeout=TIMEOUT_SECONDS)
            except queue.Empty:
                line = None
            assert line is not None, f"{text!r} was not printed; the program printed:\n" + "\n".join(self.printed)
            self.printed.append(line)
            if text in line:
                return line

    def write_line(self, line: str) -> None:
        """Write a line to the program's input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self._process.send_signal(number)

    def wait_exit(self) -> int:
        """Wait until the program exits and return its status."""
        return self._process.wait(TIMEOUT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.stdout.close()


@pytest.fixture
def ready_file(tmp_path: Path) -> Iterator[Path]:
    """The ready file of a server started like `make run`, on a free port."""
    path = tmp_path / "ready.json"
    with Program("-m", "hubbub.server.cli", "dev", "--port", "0", "--ready-file", path) as platform:
        platform.expect("is ready at")
        yield path


def start_game(ready_file: Path, *arguments: str) -> Program:
    """Start the example game."""
    return Program(EXAMPLES / "game", ready_file, *arguments)


def run_send_message_example(ready_file: Path, user: str, channel: str, text: str) -> str:
    """Send a message with the example and return its output, the newest messages of the channel."""
    return run_example("send_message.py", str(ready_file), user, channel, text, status=0)


def run_example(*arguments: str, status: int) -> str:
    """Run an example to its end, assert its exit status, and return its output."""
    completed = subprocess.run(
        [sys.executable, str(EXAMPLES / arguments[0]), *arguments[1:]], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert completed.returncode == status, completed.stdout + completed.stderr
    assert "Traceback" not in completed.stderr
    return completed.stdout + completed.stderr


def send_request(ready_file: Path, method: str, path: str, user: str, body: Any = None) -> Any:
    """Send an API request as a user of the demo world and return the decoded body."""
    world = json.loads(ready_file.read_text())
    headers = {"Authorization": world["users"][user]["token"], "Content-Type": "application/json"}
    encoded_body = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(
        urllib.request.Request(world["api"] + path, encoded_body, headers, method=method)
    ) as response:
        return json.loads(response.read() or b"null")


# The game


def test_two_users_play_the_game(ready_file: Path) -> None:
    with start_game(ready_file, "--login", "alice") as alice, start_game(ready_file, "--login", "bob") as bob:
        alice.expect("You are Alice.")
        bob.expect("You are Bob.")
        alice.write_line("/friends")
        alice.expect("Bob (bob) is online")

        alice.write_line("/party")
        alice.expect("You are in a party of 1.")
        alice.write_line("/invite bob")
        alice.expect("You invited bob.")
        bob.expect("Alice invited you; type /accept")
        bob.write_line("/friends")
        bob.expect("Alice (alice) is in the game, In a party of 1")
        bob.write_line("/accept")
        bob.expect("You are in a party of 2.")
        alice.expect("Bob joined the party.")

        alice.write_line("hello, bob")
        bob.expect("Alice: hello, bob")
        bob.write_line("/throw paper")
        alice.expect("Bob has thrown.")
        alice.write_line("/throw rock")
        for player in (alice, bob):
            player.expect("  Bob: paper")
            player.expect("Bob wins the round.")
        bob.write_line("/who")
        bob.expect("  Bob: 1")

        bob.write_line("/leave")
        bob.expect("Your party has ended.")
        alice.expect("Bob left the party.")
        bob.write_line("/join alice")
        alice.expect("Bob wants to join you; type /accept")
        alice.write_line("/accept")
        bob.expect("Alice invited you; type /accept")
        bob.write_line("/accept")
        bob.expect("You are in a party of 2.")
        for player in (alice, bob):
            player.write_line("/quit")
            assert player.wait_exit() == 0


def test_the_game_explains_invalid_commands_and_arguments(ready_file: Path) -> None:
    with start_game(ready_file, "--login", "alice") as alice:
        alice.expect("You are Alice.")
        for line, output in (
            ("/dance", "Unknown command /dance; type /help for a list."),
            ("/help", "/throw"),
            ("/accept", "You have no invite."),
            ("hello?", "You are not in a party; create one with /party."),
            ("/who", "You are not in a party"),
            ("/throw well", "Choose one of rock, scissors, paper."),
            ("/invite carol", "carol is not your friend"),
            ("/invite bob", "That did not work: Your rich presence is not joinable"),
            ("/join bob", "That did not work: The user has no joinable activity"),
            ("/party", "You are in a party of 1."),
            ("/party", "You are already in a party"),
            ("/link attic", "Unknown channel attic; choose one of general"),
            ("/link general", "That did not work: "),
        ):
            alice.write_line(line)
            alice.expect(output)

    assert "is not a ready file" in run_example("game", "nowhere.json", status=1)
    assert "cannot be reached" in run_example(
        "game", str(ready_file), "--guest", "Hero", "--backend", "http://127.0.0.1:9", status=1
    )
    assert "game: Login or password is invalid." in run_example(
        "game", str(ready_file), "--login", "alice", "wrong", status=1
    )
    assert "--login also needs the password" in run_example("game", str(ready_file), "--login", "dora", status=1)
    assert "cannot log in" in run_example("game", str(ready_file), "--token", "nonsense", status=1)


def test_players_commit_to_throws_before_revealing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES / "game")
    rules = importlib.import_module("rules")

    def winners(*throws: str) -> list[int]:
        game_round = rules.Round()
        openings = {}
        for player, throw in enumerate(throws):
            assert not game_round.has_all_commitments(range(len(throws)))
            commitment, openings[player] = rules.commit_to(throw)
            assert throw not in commitment
            game_round.record_commitment(player, commitment)
        assert game_round.has_all_commitments(range(len(throws)))
        game_round.record_reveal(0, "paper of another kind")
        for player, opening in openings.items():
            assert not game_round.is_over()
            game_round.record_reveal(player, opening)
        assert game_round.is_over()
        return game_round.winners()

    assert winners("rock", "paper") == [1]
    assert winners("rock", "scissors") == [0]
    assert winners("paper", "paper") == []
    assert winners("rock", "scissors", "rock") == [0, 2]
    assert winners("rock", "paper", "scissors") == []


async def test_a_player_signs_in_with_a_browser(ready_file: Path) -> None:
    world = json.loads(ready_file.read_text())
    browser = Browser(cast(World, SimpleNamespace(url=world["web"])))
    with start_game(ready_file) as bob:
        line = bob.expect("If no browser opens, log in here: ")
        page = await browser.open(line.split(": ", 1)[1].removeprefix(world["web"]))
        page = await browser.submit(page, "Log in", login="bob", password=world["users"]["bob"]["password"])
        redirect = await browser.submit(page, "Authorize", follows_redirects=False)
        assert "return to the game" in (await browser.request("GET", redirect.location)).text
        bob.expect("You are Bob.")


def test_players_in_a_call_see_each_other_speak_and_record_the_audio(ready_file: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording.wav"
    with Program(EXAMPLES / "call.py", ready_file, "--login", "alice") as alice:
        alice.expect("The call is Connected.")
        with Program(EXAMPLES / "call.py", ready_file, "--login", "bob", "--record", recording) as bob:
            bob.expect_all("The call is Connected.", "Alice is speaking.")
            alice.expect_all("Bob joined.", "Bob is speaking.")
            bob.send_signal(signal.SIGINT)
            assert bob.wait_exit() == 0
        alice.expect("Bob left.")
        alice.send_signal(signal.SIGINT)
        assert alice.wait_exit() == 0
    with wave.open(str(recording)) as file:
        assert any(file.readframes(file.getnframes()))
    assert "is not a ready file" in run_example("call.py", "nowhere.json", status=1)


# The game's backend programs


@pytest.mark.clients
def test_the_bridge_relays_messages_between_a_lobby_and_a_channel(ready_file: Path) -> None:
    assert "has carol logged in to the game before?" in run_example("bridge.py", str(ready_file), "carol", status=1)
    with start_game(ready_file, "--login", "alice") as alice, start_game(ready_file, "--login", "bob") as bob:
        alice.expect("You are Alice.")
        bob.expect("You are Bob.")
        with Program(EXAMPLES / "bridge.py", ready_file, "alice") as bridge:
            bridge.expect("demo-bot")
            bridge.expect("alice can now type /link general in the game")
            alice.expect("You are in a party of 1.")
            alice.write_line("/link general")
            alice.expect("Your party is linked to #general.")

            alice.write_line("hello out there")
            bridge.expect("#general Alice: hello out there")
            assert "alice: hello out there" in run_send_message_example(
                ready_file, "carol", "general", "hello in there"
            )
            alice.expect("Carol (from the channel): hello in there")
            alice.write_line("!roll")
            alice.expect("demo-bot (from the channel): Alice rolls ")
            run_send_message_example(ready_file, "carol", "general", "!bring bob")
            alice.expect("demo-bot (from the channel): bob is in the lobby")
            bob.expect("Your party is linked to #general.")
            bob.write_line("!who")
            bob.expect("demo-bot (from the channel): in the lobby: alice, bob")
            assert any("Alice linked this channel to a lobby" in line for line in bridge.printed)
            assert not any(line.endswith(": ") for line in bridge.printed)

            alice.write_line("/leave")
            alice.expect("Only the game's server can remove you")
            bridge.send_signal(signal.SIGTERM)
            bridge.expect("is deleted")
            assert bridge.wait_exit() == 0
            for player in (alice, bob):
                player.expect("Your party has ended.")


@pytest.mark.clients
def test_a_bridge_removes_the_lobby_of_a_killed_bridge(ready_file: Path) -> None:
    with start_game(ready_file, "--login", "alice") as alice:
        alice.expect("You are Alice.")
        with Program(EXAMPLES / "bridge.py", ready_file, "alice") as killed_program:
            killed_program.expect("alice can now type /link general in the game")
            alice.expect("You are in a party of 1.")
            alice.write_line("/link general")
            alice.expect("Your party is linked to #general.")
            killed_program.send_signal(signal.SIGKILL)
            killed_program.wait_exit()

        with Program(EXAMPLES / "bridge.py", ready_file, "alice") as bridge:
            bridge.expect("Deleted the lobby that #general was still linked to")
            bridge.expect("alice can now type /link general in the game")
            for line in ("Your party has ended.", "You are in a party of 1."):
                alice.expect(line)
            alice.write_line("/link general")
            alice.expect("Your party is linked to #general.")
            bridge.send_signal(signal.SIGINT)
            bridge.expect("is deleted")
            assert bridge.wait_exit() == 0


def test_the_webhook_receiver_prints_the_events_of_the_game(ready_file: Path) -> None:
    with Program(EXAMPLES / "webhooks.py", ready_file, "--port", "0") as receiver:
        url = receiver.expect("Receiving demo-game's events at ").split()[-1]
        forged_request = urllib.request.Request(
            url, b'{"type": 0}', {"X-Signature-Ed25519": "00", "X-Signature-Timestamp": "1"}
        )
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(forged_request)

        with start_game(ready_file, "--login", "alice") as alice:
            receiver.expect("APPLICATION_AUTHORIZED Alice")
            alice.expect("You are Alice.")
            alice.write_line("/party")
            alice.expect("You are in a party of 1.")
            alice.write_line("is anyone here?")
            receiver.expect("Alice: is anyone here?")
            assert receiver.printed[-1].startswith("LOBBY_MESSAGE_CREATE in lobby ")
            alice.write_line("/dm bob psst")
            receiver.expect("GAME_DIRECT_MESSAGE_CREATE Alice: psst")

        world = json.loads(ready_file.read_text())
        grants = send_request(ready_file, "GET", "/oauth2/tokens", "alice")
        [grant_id] = [
            grant["id"] for grant in grants if grant["application"]["id"] == world["applications"]["demo-game"]["id"]
        ]
        send_request(ready_file, "DELETE", f"/oauth2/tokens/{grant_id}", "alice")
        receiver.expect("APPLICATION_DEAUTHORIZED Alice")


def test_a_guest_plays_links_an_account_and_unmerges_it(ready_file: Path) -> None:
    with Program(EXAMPLES / "backend.py", ready_file, "--port", "0") as backend:
        url = backend.expect("The game's server is running at ").split()[-1]
        guest = ("--guest", "Hero", "--backend", url)
        with start_game(ready_file, *guest) as hero, start_game(ready_file, "--login", "bob") as bob:
            backend.expect("Hero started to play")
            hero.expect("You are Hero, a guest.")
            bob.expect("You are Bob.")
            hero.write_line("/friend bob")
            hero.expect("You sent bob a friend request.")
            request_line = bob.expect("Hero sent you a friend request; accept it with /friend ")
            bob.write_line(request_line.partition(" with ")[2])
            hero.expect("Bob is now your friend.")
            hero.write_line("/party")
            hero.expect("You are in a party of 1.")
            hero.write_line("/invite bob")
            bob.expect("Hero invited you; type /accept")
            bob.write_line("/accept")
            hero.expect("Bob joined the party.")

        with start_game(ready_file, *guest, "--login", "carol") as carol:
            carol.expect("You are Carol.")
            # Linking the account moves the guest's lobby membership to Carol.
            carol.expect("You are in a party of 2.")
        assert "log in with it" in run_example("game", str(ready_file), *guest, status=1)

        urllib.request.urlopen(urllib.request.Request(f"{url}/players/Hero/unmerge", b"")).close()
        backend.expect("Hero is unmerged")
        with start_game(ready_file, *guest) as hero:
            hero.expect(", a guest.")
        for path, body, status in (
            ("/sessions", b"no", 400),
            ("/sessions", b"{}", 400),
            ("/sessions", b"[]", 400),
            ("/players/Stranger/unmerge", b"", 409),
        ):
            with pytest.raises(urllib.error.HTTPError, match=f"HTTP Error {status}:"):
                urllib.request.urlopen(urllib.request.Request(url + path, body))


# Programs that use the HTTP API and the gateway


@pytest.mark.clients
def test_the_bot_answers_a_message_sent_over_http(ready_file: Path) -> None:
    with Program(EXAMPLES / "bot.py", ready_file) as bot:
        bot.expect("is in Town Square")
        output = run_send_message_example(ready_file, "alice", "general", "!ping")
        assert output.splitlines()[-2:] == ["alice: !ping", "demo-bot: pong"]


def test_the_examples_explain_invalid_arguments(ready_file: Path) -> None:
    ready_path = str(ready_file)
    assert "unknown user dora; choose one of alice, bob, carol" in run_example(
        "send_message.py", ready_path, "dora", "general", "hi", status=1
    )
    assert "unknown channel attic; choose one of general" in run_example(
        "send_message.py", ready_path, "bob", "attic", "hi", status=1
    )
    assert "bob cannot do this in staff: Missing Access" in run_example(
        "send_message.py", ready_path, "bob", "staff", "hi", status=1
    )
    assert "usage: send_message.py" in run_example("send_message.py", ready_path, status=1)
    assert "usage: bot.py READY_FILE" in run_example("bot.py", status=1)
    assert "usage: bridge.py" in run_example("bridge.py", ready_path, status=1)
    assert "unknown user dora" in run_example("bridge.py", ready_path, "dora", status=1)
    for name in (
        "send_message.py nowhere.json a b c",
        "bridge.py nowhere.json a",
        "webhooks.py nowhere.json",
        "backend.py nowhere.json",
    ):
        assert "is not a ready file of the demo world" in run_example(*name.split(), status=1)
