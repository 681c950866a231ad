"""Recordings of rehearsals: `hubbub dev --record`, `hubbub replay`, and generated tests."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hubbub.people import ogg
from hubbub.server import ready_document
from hubbub.server.cli import main
from hubbub.server.recordings.differences import HEAR_ROUTE, compare_audio, match_actions
from hubbub.server.recordings.id_maps import IdMapping
from hubbub.server.recordings.recorder import Recorder
from hubbub.server.recordings.recording_file import (
    FORMAT_VERSION,
    RecordedInput,
    Recording,
    RecordingError,
    RecordingHeader,
    read_recording,
)
from hubbub.server.recordings.replayer import split_steps
from tests.rehearsal import Rehearsal, start_rehearsal
from tests.world import NOW_MS, WAIT_TIMEOUT_SECONDS

PACKETS = [bytes((0xFC, number)) for number in range(50)]
"""Opus packets of 20 ms that differ from each other."""

ECHO_BOT_PROGRAM = """
import asyncio, json, os, sys
import aiohttp

async def main():
    with open(os.environ["REHEARSAL_READY_FILE"]) as file:
        ready = json.load(file)
    token = ready["applications"]["demo-bot"]["bot"]["token"]
    headers = {"Authorization": f"Bot {token}"}
    async with aiohttp.ClientSession(headers=headers) as http, http.ws_connect(ready["gateway"] + "?v=10") as socket:
        await socket.receive_json()
        identify = {"token": token, "intents": 33281, "properties": {"os": "", "browser": "", "device": ""}}
        await socket.send_json({"op": 2, "d": identify})
        async for message in socket:
            frame = json.loads(message.data)
            data = frame["d"]
            if frame["t"] == "READY":
                print("ready", flush=True)
            if frame["t"] != "MESSAGE_CREATE" or data["author"].get("bot"):
                continue
            url = f"{ready['api']}/channels/{data['channel_id']}/messages"
            body = {"content": "PREFIX" + data["content"], "message_reference": {"message_id": data["id"]}}
            async with http.post(url, json=body) as response:
                sent = await response.json()
            if ADDS_REACTION:
                async with http.put(f"{url}/{sent['id']}/reactions/x/@me"):
                    pass

asyncio.run(main())
"""

FORM_BOT_PROGRAM = """
import asyncio, json, os, sys
import aiohttp

BUTTON = {"type": 2, "style": 1, "label": "Form", "custom_id": "form"}
INPUT = {"type": 4, "style": 1, "label": "Name", "custom_id": "name"}

def respond(interaction):
    if interaction["type"] == 2:
        return {"type": 4, "data": {"content": "a panel", "components": [{"type": 1, "components": [BUTTON]}]}}
    if interaction["type"] == 3:
        rows = [{"type": 1, "components": [INPUT]}]
        return {"type": 9, "data": {"title": "Survey", "custom_id": "survey", "components": rows}}
    name = interaction["data"]["components"][0]["components"][0]["value"]
    return {"type": 4, "data": {"content": f"THANKS, {name}"}}

async def main():
    with open(os.environ["REHEARSAL_READY_FILE"]) as file:
        ready = json.load(file)
    application = ready["applications"]["demo-bot"]
    token = application["bot"]["token"]
    headers = {"Authorization": f"Bot {token}"}
    async with aiohttp.ClientSession(headers=headers) as http, http.ws_connect(ready["gateway"] + "?v=10") as socket:
        await socket.receive_json()
        identify = {"token": token, "intents": 1, "properties": {"os": "", "browser": "", "device": ""}}
        await socket.send_json({"op": 2, "d": identify})
        async for message in socket:
            frame = json.loads(message.data)
            data = frame["d"]
            if frame["t"] == "READY":
                command = {"name": "panel", "description": "Show a button"}
                async with http.post(f"{ready['api']}/applications/{application['id']}/commands", json=command):
                    print("ready", flush=True)
            if frame["t"] == "INTERACTION_CREATE":
                url = f"{ready['api']}/interactions/{data['id']}/{data['token']}/callback"
                async with http.post(url, json=respond(data)):
                    pass

asyncio.run(main())
"""
"""A bot whose command shows a button, whose button opens a modal, and whose modal is answered."""


ENDPOINT_PROGRAM = """
import asyncio, json, os, sys
import aiohttp
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

async def main():
    with open(os.environ["REHEARSAL_READY_FILE"]) as file:
        ready = json.load(file)
    application = ready["applications"]["demo-bot"]
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(application["public_key"]))

    async def respond(request):
        body = await request.read()
        try:
            signature = bytes.fromhex(request.headers["X-Signature-Ed25519"])
            key.verify(signature, request.headers["X-Signature-Timestamp"].encode() + body)
        except InvalidSignature:
            return web.Response(status=401)
        interaction = json.loads(body)
        if interaction["type"] == 1:
            return web.json_response({"type": 1})
        return web.json_response({"type": 4, "data": {"content": "GREETING, " + interaction["member"]["user"]["username"]}})

    server = web.Application()
    server.router.add_post("/", respond)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", PORT).start()
    headers = {"Authorization": "Bot " + application["bot"]["token"]}
    async with aiohttp.ClientSession(headers=headers) as http:
        settings = {"interactions_endpoint_url": "http://127.0.0.1:PORT/"}
        async with http.patch(ready["api"] + "/applications/@me", json=settings) as response:
            assert response.status == 200, await response.text()
        command = {"name": "greet", "description": "Greet"}
        async with http.post(f"{ready['api']}/applications/{application['id']}/commands", json=command):
            print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
"""A program without a gateway connection: its HTTP server responds to interactions."""


VOICE_BOT_PROGRAM = """
import asyncio, json, os
import aiohttp

async def receive(socket, op):
    async for message in socket:
        frame = json.loads(message.data) if message.type == aiohttp.WSMsgType.TEXT else {"op": None}
        if frame["op"] == op:
            return frame["d"]

async def join_call(http, ready, session_id, server, channel_id):
    async with http.ws_connect(ready["web"].replace("http", "ws", 1) + "/voice?v=8") as socket:
        identify = {"server_id": server["guild_id"], "user_id": ready["applications"]["demo-bot"]["bot"]["id"]}
        identify |= {"session_id": session_id, "token": server["token"], "max_dave_protocol_version": 1}
        await socket.send_json({"op": 0, "d": identify})
        call = await receive(socket, 2)
        data = {"address": "127.0.0.1", "port": 9, "mode": "MODE"}
        await socket.send_json({"op": 1, "d": {"protocol": "udp", "data": data}})
        await receive(socket, 4)
        await socket.send_json({"op": 5, "d": {"speaking": 1, "delay": 0, "ssrc": call["ssrc"]}})
        async with http.post(f"{ready['api']}/channels/{channel_id}/messages", json={"content": "in the call"}):
            pass
        await asyncio.Event().wait()

async def main():
    with open(os.environ["REHEARSAL_READY_FILE"]) as file:
        ready = json.load(file)
    application, guild = ready["applications"]["demo-bot"], ready["guilds"]["Town Square"]
    token, session_id, tasks = application["bot"]["token"], None, []
    headers = {"Authorization": f"Bot {token}"}
    async with aiohttp.ClientSession(headers=headers) as http, http.ws_connect(ready["gateway"] + "?v=10") as socket:
        identify = {"token": token, "intents": 33409, "properties": {"os": "", "browser": "", "device": ""}}
        await socket.send_json({"op": 2, "d": identify})
        async for message in socket:
            frame = json.loads(message.data)
            data = frame["d"]
            if frame["t"] == "READY":
                print("ready", flush=True)
            elif frame["t"] == "MESSAGE_CREATE" and data["content"] == "join":
                channel_id = data["channel_id"]
                state = {"guild_id": guild["id"], "channel_id": guild["channels"]["Lounge"]}
                await socket.send_json({"op": 4, "d": state | {"self_mute": False, "self_deaf": False}})
            elif frame["t"] == "VOICE_STATE_UPDATE" and data["user_id"] == application["bot"]["id"]:
                session_id = data["session_id"]
            elif frame["t"] == "VOICE_SERVER_UPDATE":
                tasks.append(asyncio.create_task(join_call(http, ready, session_id, data, channel_id)))

asyncio.run(main())
"""
"""A bot that joins a call and sends a message from it."""


AUDIO_BOT_PROGRAM = """
import asyncio, os
from pathlib import Path
import aiohttp
from hubbub.people import ogg
from hubbub.people.context import PlatformContext
from hubbub.people.users import UserClient
from hubbub.protocol import codec
from hubbub.protocol.control.ready import ReadyDocument

class Bot(UserClient):
    token_prefix = "Bot "

    async def _requested_intents(self):
        return 33409

async def main():
    ready = codec.decode(Path(os.environ["REHEARSAL_READY_FILE"]).read_bytes(), ReadyDocument)
    account = ready.applications["demo-bot"].bot
    async with aiohttp.ClientSession() as http:
        bot = Bot(PlatformContext(http, ready, 60), "demo-bot", account.id, account.token)
        await bot.connect()
        print("ready", flush=True)
        await bot.expect("MESSAGE_CREATE", None, 60, {"content": "sing"})
        await bot.join_voice("Lounge", {}, with_audio=True)
        packets = [bytes((0xfc, number)) + b"SONG" * 20 for number in range(15)]
        await bot.play(ogg.encode_file(packets), 60)
        await bot.send_message("general", {"content": "the end"}, {})
        await asyncio.Event().wait()

asyncio.run(main())
"""
"""A bot that joins a call and plays audio, then sends a message."""


def write_audio_program(folder: Path, song: str) -> str:
    """Write a bot that plays a song in a call; return the command that starts it."""
    path = folder / f"audio_program_{song}.py"
    path.write_text(AUDIO_BOT_PROGRAM.replace("SONG", song))
    return f"{sys.executable} {path}"


def write_voice_program(folder: Path, mode: str) -> str:
    """Write a bot that joins a call with an encryption mode; return the command that starts it."""
    path = folder / f"voice_program_{mode}.py"
    path.write_text(VOICE_BOT_PROGRAM.replace("MODE", mode))
    return f"{sys.executable} {path}"


def write_endpoint_program(folder: Path, port: int, greeting: str) -> str:
    """Write a program with an interactions endpoint; return the command that starts it."""
    path = folder / f"endpoint_program_{greeting}.py"
    path.write_text(ENDPOINT_PROGRAM.replace("PORT", str(port)).replace("GREETING", greeting))
    return f"{sys.executable} {path}"


def write_form_program(folder: Path, thanks: str = "thanks") -> str:
    """Write a bot with a command, a button and a modal; return the command that starts it."""
    path = folder / f"form_program_{thanks}.py"
    path.write_text(FORM_BOT_PROGRAM.replace("THANKS", thanks))
    return f"{sys.executable} {path}"


def write_program(folder: Path, prefix: str = "echo: ", *, adds_reaction: bool = False) -> str:
    """Write a bot that echoes messages and, with `adds_reaction`, reacts to its own; return the command that starts it."""
    path = folder / f"program_{len(list(folder.iterdir()))}.py"
    path.write_text(ECHO_BOT_PROGRAM.replace("PREFIX", prefix).replace("ADDS_REACTION", str(adds_reaction)))
    return f"{sys.executable} {path}"


@asynccontextmanager
async def record_rehearsal(rehearsal: Rehearsal, path: Path) -> AsyncIterator[None]:
    """Record the inputs of a rehearsal."""
    header = RecordingHeader(version=FORMAT_VERSION, seed=0, now_ms=NOW_MS, world=None)
    recorder = Recorder(str(path), header, lambda: rehearsal.control.built_world)
    rehearsal.app.trace.traffic.listeners.append(recorder.record)
    rehearsal.control.traffic_api.keep_on()
    yield
    recorder.close()


@asynccontextmanager
async def run_bot_program(rehearsal: Rehearsal, command: str, folder: Path) -> AsyncIterator[None]:
    """Start a program, wait until it is connected, and kill it on exit."""
    ready_file = folder / "ready.json"
    ready_document.write(str(ready_file), await rehearsal.control.get_ready_document())
    process = await asyncio.create_subprocess_exec(
        *command.split(),
        env={**os.environ, "REHEARSAL_READY_FILE": str(ready_file)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        assert await asyncio.wait_for(process.stdout.readline(), 60) == b"ready\n"
        yield
    finally:
        process.kill()
        await process.wait()


async def wait_for_message(rehearsal: Rehearsal, content: str) -> None:
    """Wait until the bot has sent a message, and the traffic contains the request."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        async for records in rehearsal.app.trace.traffic.follow(0):
            for record in records:
                if record.entry.direction == "in" and content.encode() in record.content.response_body:
                    if record.entry.user_id == rehearsal.actor("demo-bot").id:
                        return


@pytest.fixture
async def recording(rehearsal: Rehearsal, tmp_path: Path) -> Path:
    """A recorded session: a person writes, the bot answers, the person edits the message, and the clock moves."""
    path = tmp_path / "session.jsonl"
    alice = rehearsal.actor("alice")
    general_channel_id = rehearsal.control.built_world.guilds["Town Square"].channels["general"]
    async with record_rehearsal(rehearsal, path), run_bot_program(rehearsal, write_program(tmp_path), tmp_path):
        sent_message = (await alice.post(f"/channels/{general_channel_id}/messages", json={"content": "hello"})).ok()
        await wait_for_message(rehearsal, "echo: hello")
        (
            await alice.patch(
                f"/channels/{general_channel_id}/messages/{sent_message['id']}", json={"content": "edited"}
            )
        ).ok()
        (await rehearsal.control_request("POST", "/clock/advance", json={"ms": 60_000})).ok()
        (await rehearsal.act("bob", "say", channel="general", content="second")).ok()
        await wait_for_message(rehearsal, "echo: second")
    return path


async def run_replay(path: Path, *arguments: str) -> int:
    """Run `hubbub replay` and return its exit code."""
    return await asyncio.to_thread(main, ["replay", str(path), *arguments])


async def test_a_recording_contains_inputs_without_world_tokens(rehearsal: Rehearsal, recording: Path) -> None:
    text = recording.read_text()
    assert oct(recording.stat().st_mode & 0o777) == "0o600"
    assert rehearsal.actor("alice").token not in text
    assert rehearsal.actor("demo-bot").token not in text

    steps = split_steps(read_recording(recording))

    causes = [None if step.cause is None else (step.cause.kind, step.cause.actor) for step in steps]
    # The request that bob sends for the control API is not an input of its own.
    assert causes == [None, ("http", "alice"), ("http", "alice"), ("control", ""), ("control", "")]
    assert [[action.opcode_name or action.route for action in step.actions] for step in steps] == [
        ["IDENTIFY"],
        ["/channels/{channel_id}/messages"],
        [],
        [],
        ["/channels/{channel_id}/messages"],
    ]


async def test_the_same_program_has_no_differences(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run_replay(recording, "--port", "0", "--program", write_program(tmp_path), "--wait", "20") == 0
    assert "4 steps, 3 actions of the program, no differences." in capsys.readouterr().out


async def test_an_action_that_arrived_after_the_next_input_is_not_a_difference(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *lines = recording.read_text().splitlines()
    inputs = [json.loads(line) for line in lines]
    first_answer, last_answer = [
        entry for entry in inputs if entry.get("is_program") and entry.get("path", "").endswith("/messages")
    ]
    # In the replay the program acts before the second input of people, because the replay waits for it.
    first_answer["after"] = last_answer["after"]
    recording.write_text("\n".join([header, *map(json.dumps, inputs), ""]))
    assert [len(step.actions) for step in split_steps(read_recording(recording))] == [1, 0, 0, 0, 2]

    assert await run_replay(recording, "--port", "0", "--program", write_program(tmp_path), "--wait", "20") == 0

    assert "4 steps, 3 actions of the program, no differences." in capsys.readouterr().out


def test_actions_that_arrive_while_people_wait_belong_to_the_input_before() -> None:
    say, wait = (
        bot_request({}, route=f"/control/people/{{name}}/{name}", kind="control", is_program=False, actor="")
        for name in ("say", "expect-message")
    )
    answer = bot_request({})
    header = RecordingHeader(version=FORMAT_VERSION, seed=0, now_ms=NOW_MS, world=None)

    steps = split_steps(Recording(header, [say, wait, answer]))

    assert [(step.cause, step.actions) for step in steps] == [(None, []), (say, [answer]), (wait, [])]


async def test_a_changed_program_is_reported(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = write_program(tmp_path, "ECHO: ", adds_reaction=True)

    assert await run_replay(recording, "--port", "0", "--program", program, "--wait", "20") == 1

    output = capsys.readouterr().out
    assert "Step 1: alice POST /channels/{channel_id}/messages" in output
    assert 'content: "echo: hello" -> "ECHO: hello"' in output
    assert "added    demo-bot PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me" in output
    # The bot refers to the message of this session, not to the recorded one.
    assert "message_reference" not in output


async def test_commands_buttons_and_modals_are_replayed(
    rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, program = tmp_path / "session.jsonl", write_form_program(tmp_path)
    async with record_rehearsal(rehearsal, path), run_bot_program(rehearsal, program, tmp_path):
        (await rehearsal.act("alice", "run", channel="general", command="panel")).ok()
        (await rehearsal.act("alice", "click", button="Form")).ok()
        answer = (await rehearsal.act("alice", "submit", fields={"Name": "Ann"})).ok()
        assert answer["message"]["content"] == "thanks, Ann"

    assert await run_replay(path, "--port", "0", "--program", program, "--wait", "20") == 0
    assert "3 steps, 5 actions of the program, no differences." in capsys.readouterr().out
    changed_program = write_form_program(tmp_path, "cheers")
    assert await run_replay(path, "--port", "0", "--program", changed_program, "--wait", "20") == 1

    output = capsys.readouterr().out
    assert 'content: "thanks, Ann" -> "cheers, Ann"' in output
    assert output.count(" -> ") == 1


async def test_frames_of_a_bot_to_the_voice_server_are_replayed(
    rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, program = tmp_path / "session.jsonl", write_voice_program(tmp_path, "aead_aes256_gcm_rtpsize")
    async with record_rehearsal(rehearsal, path), run_bot_program(rehearsal, program, tmp_path):
        (await rehearsal.act("alice", "voice/join", channel="Lounge")).ok()
        (await rehearsal.act("alice", "say", channel="general", content="join")).ok()
        await wait_for_message(rehearsal, "in the call")

    voice_frames = [action for action in read_recording(path).inputs if action.is_voice]
    assert [(action.actor, action.opcode_name) for action in voice_frames] == [
        ("demo-bot", "VOICE IDENTIFY"),
        ("demo-bot", "VOICE SELECT_PROTOCOL"),
        ("demo-bot", "VOICE SPEAKING"),
    ]
    assert json.loads(voice_frames[1].body) == {"protocol": "udp", "mode": "aead_aes256_gcm_rtpsize"}
    assert await run_replay(path, "--port", "0", "--program", program, "--wait", "20") == 0
    assert "no differences." in capsys.readouterr().out
    changed_program = write_voice_program(tmp_path, "aead_xchacha20_poly1305_rtpsize")
    assert await run_replay(path, "--port", "0", "--program", changed_program, "--wait", "20") == 1

    output = capsys.readouterr().out
    assert "changed  demo-bot VOICE SELECT_PROTOCOL" in output
    assert 'mode: "aead_aes256_gcm_rtpsize" -> "aead_xchacha20_poly1305_rtpsize"' in output
    assert output.count(" -> ") == 1


async def test_the_audio_that_a_person_hears_is_compared(
    rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, program = tmp_path / "session.jsonl", write_audio_program(tmp_path, "first")
    async with record_rehearsal(rehearsal, path), run_bot_program(rehearsal, program, tmp_path):
        (await rehearsal.act("alice", "voice/join", channel="Lounge")).ok()
        (await rehearsal.act("alice", "say", channel="general", content="sing")).ok()
        await wait_for_message(rehearsal, "the end")
        assert (await rehearsal.act("alice", "voice/hear", user="demo-bot")).ok()["frames"] == 15

    assert await run_replay(path, "--port", "0", "--program", program, "--wait", "20") == 0
    assert "no differences." in capsys.readouterr().out
    changed_program = write_audio_program(tmp_path, "other")
    assert await run_replay(path, "--port", "0", "--program", changed_program, "--wait", "20") == 1
    output = capsys.readouterr().out
    assert "changed  audio of demo-bot" in output
    assert "file: 0 of 15 Opus packets are the same" in output
    assert output.count("changed ") == 1
    assert await run_replay(path, "--as-test", str(tmp_path / "test_session.py")) == 0
    test_text = (tmp_path / "test_session.py").read_text()
    compile(test_text, "test_session.py", "exec")
    assert 'alice.join_voice("Lounge", audio=True)' in test_text
    assert 'audio_3 = alice.hear(hubbub.bots["demo-bot"])' in test_text
    assert 'assert abs(audio_3["duration_ms"] - 300) <= 200' in test_text


def heard_audio(packets: list[bytes], user: str = "demo-bot") -> str:
    """Return the response of the control API with audio that a person received."""
    file = base64.b64encode(ogg.encode_file(packets)).decode()
    return json.dumps({"user": user, "duration_ms": ogg.compute_duration_ms(packets), "file": file})


@pytest.mark.parametrize(
    ("packets", "user", "details"),
    [
        (PACKETS, "demo-bot", None),
        (PACKETS[:48], "demo-bot", None),
        (PACKETS[:20], "demo-bot", ["duration_ms: 1000 -> 400"]),
        (PACKETS[:30] + PACKETS[:20], "demo-bot", ["file: 30 of 50 Opus packets are the same"]),
        (PACKETS, "carol", ["user: demo-bot -> carol"]),
    ],
)
def test_audio_is_compared_with_tolerance_for_lost_packets(
    packets: list[bytes], user: str, details: list[str] | None
) -> None:
    recorded_input = RecordedInput(
        id=1, newest_entry_id=0, now_ms=0, kind="control", route=HEAR_ROUTE, response=heard_audio(PACKETS)
    )
    differences = compare_audio(recorded_input, heard_audio(packets, user))
    assert [difference.details for difference in differences] == ([] if details is None else [details])


async def test_responses_of_an_interactions_endpoint_are_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unused_tcp_port: int
) -> None:
    path = tmp_path / "session.jsonl"
    program = write_endpoint_program(tmp_path, unused_tcp_port, "hello")
    async with (
        start_rehearsal(allow_private_targets=True) as rehearsal,
        record_rehearsal(rehearsal, path),
        run_bot_program(rehearsal, program, tmp_path),
    ):
        answer = (await rehearsal.act("alice", "run", channel="general", command="greet")).ok()
        assert answer["message"]["content"] == "hello, alice"

    [step] = split_steps(read_recording(path))[1:]
    [response] = step.actions
    assert (response.kind, response.actor, response.status) == ("response", "demo-bot", 200)
    assert await run_replay(path, "--port", "0", "--program", program, "--wait", "20") == 0
    assert "1 steps, 3 actions of the program, no differences." in capsys.readouterr().out
    changed_program = write_endpoint_program(tmp_path, unused_tcp_port, "goodbye")
    assert await run_replay(path, "--port", "0", "--program", changed_program, "--wait", "20") == 1

    output = capsys.readouterr().out
    assert "changed  demo-bot response of the interactions endpoint" in output
    assert 'data.content: "hello, alice" -> "goodbye, alice"' in output
    assert output.count(" -> ") == 1
    test_file = tmp_path / "test_session.py"
    assert await run_replay(path, "--as-test", str(test_file)) == 0
    assert "# The interactions endpoint of demo-bot responded with 200." in test_file.read_text()


async def test_a_program_that_does_not_start_is_an_error(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run_replay(recording, "--port", "0", "--program", "/nowhere/program") == 1
    assert "cannot start the program" in capsys.readouterr().err


async def test_a_recording_becomes_a_test_file(recording: Path, tmp_path: Path) -> None:
    test_file = tmp_path / "test_session.py"

    assert await run_replay(recording, "--as-test", str(test_file)) == 0

    text = test_file.read_text()
    compile(text, str(test_file), "exec")
    assert 'alice.expect("MESSAGE_CREATE", content="echo: hello")' in text
    assert '{result_1["id"]}' in text
    assert "hubbub.clock.advance(milliseconds=60000)" in text
    assert 'bob.send_message("general", "second")' in text


async def test_actions_on_messages_become_lines_of_a_test_file(rehearsal: Rehearsal, tmp_path: Path) -> None:
    path, test_file = tmp_path / "session.jsonl", tmp_path / "test_session.py"
    async with record_rehearsal(rehearsal, path), run_bot_program(rehearsal, write_program(tmp_path), tmp_path):
        (await rehearsal.act("bob", "connect")).ok()
        message = (await rehearsal.act("alice", "say", channel="general", content="hello")).ok()
        answer = (await rehearsal.act("bob", "expect-message", content="echo: hello")).ok()
        (await rehearsal.act("bob", "react", message=answer["id"], emoji="👍")).ok()
        (await rehearsal.act("alice", "edit", message=message["id"], content="changed")).ok()
        (await rehearsal.act("alice", "delete", message=message["id"])).ok()
        (await rehearsal.act("bob", "disconnect")).ok()

    assert await run_replay(path, "--as-test", str(test_file)) == 0

    lines = [line.strip() for line in test_file.read_text().splitlines()]
    answer_line = next(line for line in lines if 'expect("MESSAGE_CREATE", content="echo: hello")' in line)
    variable = answer_line.partition(" = ")[0]
    actions = [line for line in lines if line.startswith(("bob.", "alice.")) and "connect()" not in line]
    assert actions == [
        f'bob.react({variable}["id"], "👍")',
        'alice.edit(result_2["id"], "changed")',
        'alice.delete(result_2["id"])',
    ]
    assert "bob.disconnect()" in lines


async def test_rejected_inputs_become_comments_of_a_test_file(rehearsal: Rehearsal, tmp_path: Path) -> None:
    path, test_file = tmp_path / "session.jsonl", tmp_path / "test_session.py"
    async with record_rehearsal(rehearsal, path):
        bodies = (
            '{"chanel": "general",\n "command": "broken"}',
            '{"channel": "general"}',
            '{"channel": 1, "command": 2}',
            "[]",
            "{",
        )
        for body in bodies:
            for action in ("run", "say", "click", "choose", "submit"):
                options = {"data": body, "headers": {"Content-Type": "application/json"}}
                await rehearsal.control_request("POST", f"/people/alice/{action}", **options)
        assert (await rehearsal.control_request("POST", "/clock/advance", json=["x"])).status == 400
        assert (await rehearsal.actor("alice").post("/channels/1/messages", json={"content": "x"})).status == 404

    assert await run_replay(path, "--as-test", str(test_file)) == 0

    text = test_file.read_text()
    compile(text, str(test_file), "exec")
    rejection_comment = (
        '# POST /control/people/alice/run {"chanel": "general", "command": "broken"} was rejected with 400.'
    )
    assert rejection_comment in text
    assert "# POST /api/v10/channels/1/messages" in text


def test_invalid_recordings_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with pytest.raises(RecordingError, match="cannot read"):
        read_recording(path)
    path.write_text("")
    with pytest.raises(RecordingError, match="is empty"):
        read_recording(path)
    path.write_text("{}\n")
    with pytest.raises(RecordingError, match="is not a recording"):
        read_recording(path)
    header = {"version": 99, "seed": 0, "now_ms": 0, "world": None}
    path.write_text(json.dumps(header) + "\n")
    with pytest.raises(RecordingError, match="format version 99"):
        read_recording(path)


def bot_request(body: Any, **fields: Any) -> RecordedInput:
    defaults: dict[str, Any] = {
        "id": 1,
        "newest_entry_id": 0,
        "now_ms": 0,
        "kind": "http",
        "actor": "bot",
        "is_program": True,
        "method": "POST",
        "path": "/api/v10/channels/1/messages",
        "route": "/channels/{channel_id}/messages",
        "status": 200,
        "body": json.dumps(body),
    }
    return RecordedInput(**defaults | fields)


def test_changed_missing_and_added_actions_are_found() -> None:
    recorded_inputs = [bot_request({"content": "a", "nonce": "1"}), bot_request({}, method="DELETE")]
    replayed_inputs = [bot_request({"content": "b", "nonce": "2"}, status=403), bot_request({}, method="GET")]

    differences, missing_actions, added_actions = match_actions(recorded_inputs, replayed_inputs, IdMapping())

    assert [(difference.kind, difference.details) for difference in differences] == [
        ("changed", ["status: 200 -> 403", 'content: "a" -> "b"'])
    ]
    assert missing_actions == recorded_inputs[1:]
    # Reads are not compared.
    assert added_actions == []
    assert match_actions([], replayed_inputs, IdMapping()).added_actions == replayed_inputs[:1]


def test_ids_of_new_objects_correspond_by_their_place_in_responses() -> None:
    mapping = IdMapping()
    mapping.add_responses(
        '{"id": "111111111111111111", "token": "abc"}', '{"id": "222222222222222222", "token": "xyz"}'
    )
    assert mapping.translate("/webhooks/111111111111111111/abc") == "/webhooks/222222222222222222/xyz"


def test_generated_custom_ids_correspond_by_their_place() -> None:
    def modal(custom_id: str) -> Any:
        return {"type": 9, "data": {"custom_id": custom_id, "title": "Form"}}

    mapping = IdMapping()
    assert match_actions([bot_request(modal("ab" * 16))], [bot_request(modal("cd" * 16))], mapping).differences == []
    assert mapping.translate(f'{{"button": "{"ab" * 16}"}}') == f'{{"button": "{"cd" * 16}"}}'
    [changed_difference] = match_actions(
        [bot_request(modal("form"))], [bot_request(modal("survey"))], mapping
    ).differences
    assert changed_difference.details == ['data.custom_id: "form" -> "survey"']
