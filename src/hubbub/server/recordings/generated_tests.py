"""A pytest file that repeats what people did in a recorded session, and expects what the program did."""

import json
import pprint
import re
import tomllib
from datetime import UTC, datetime
from typing import Any, Final

from hubbub.server.recordings.id_maps import decode_json
from hubbub.server.recordings.recording_file import RecordedInput, Recording
from hubbub.server.recordings.replayer import Step, split_steps

_API_PREFIX: Final = re.compile(r"^/api(?:/v\d+)?")
_ID: Final = re.compile(r"\b\d{15,20}\b")
_PERSON_ROUTE: Final = re.compile(r"/control/people/([^/]+)/(\w+)")
_MESSAGE_ROUTE: Final = "/channels/{channel_id}/messages"
_FIXTURE: Final = '''\
@pytest.fixture
def program(hubbub):
    """Start the program that is tested here; `hubbub.bots` has the tokens of its bots."""
    yield
'''


class GeneratedTestWriter:
    """Writes the test of one recording. Results of requests become variables that later requests use."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._steps = split_steps(recording)
        self._variables: dict[str, str] = {}
        """Expressions by the recorded ID that they stand for."""
        self._people: dict[str, str] = {}
        """Variables of people by name."""

    def render(self) -> str:
        """Return the text of the file."""
        body: list[str] = []
        for step in self._steps:
            body += self._step_lines(step)
        people = [f"    {variable} = hubbub.users[{_quote(name)}]" for name, variable in self._people.items()]
        connect = [f"    {variable}.connect()" for variable in self._people.values()]
        header = self._recording.header
        lines = [
            '"""A rehearsal that was generated from a recording. Edit it like any other test."""',
            "",
            "import pytest",
            "",
            f"SEED = {header.seed}",
            '"""The seed of the recorded world; the IDs in this file belong to it."""',
            f"NOW = {_quote(_iso_time(header.now_ms))}",
            *([] if header.world is None else [f"WORLD = {self._python(tomllib.loads(header.world))}"]),
            "",
            "",
            _FIXTURE,
            "",
            f"@pytest.mark.hubbub(seed=SEED, now=NOW{'' if header.world is None else ', world=WORLD'})",
            "def test_the_recorded_session(hubbub, program):",
            *people,
            *connect,
            *(body or ["    pass"]),
        ]
        return "\n".join(lines) + "\n"

    def _step_lines(self, step: Step) -> list[str]:
        if step.cause is None:
            return []
        lines = ["", *self._cause_lines(step)]
        observer = next(iter(self._people.values()), None)
        for action in step.actions:
            content = _message_content(action)
            if content is not None and observer is not None:
                lines.append(f'    {observer}.expect("MESSAGE_CREATE", content={_quote(content)})')
            elif action.is_write and action.kind == "http":
                lines.append(f"    # The program sent {action.method} {action.route}.")
        return lines

    def _cause_lines(self, step: Step) -> list[str]:
        recorded = step.cause
        assert recorded is not None
        if recorded.kind == "frame":
            return [f"    # {recorded.actor or 'A client'} sent {recorded.frame} over the gateway."]
        if recorded.kind == "control":
            return self._control_lines(recorded, step.number)
        if not recorded.actor:
            return [f"    # A client without a token sent {recorded.method} {recorded.route}."]
        person, body = self._person(recorded.actor), decode_json(recorded.body)
        argument = "" if body is None else f", json={self._python(body)}"
        path = self._text(_API_PREFIX.sub("", recorded.path))
        call = f"{person}.request({_quote(recorded.method)}, {path}{argument})"
        return [f"    {self._assign(recorded, step.number)}{call}"]

    def _control_lines(self, recorded: RecordedInput, number: int) -> list[str]:
        body = decode_json(recorded.body) or {}
        if recorded.path.startswith("/control/clock/"):
            name = recorded.path.rpartition("/")[2]
            argument = {"set": _quote(str(body.get("now"))), "advance": f"milliseconds={body.get('ms')}"}.get(name, "")
            return [f"    hubbub.clock.{name}({argument})"]
        match = _PERSON_ROUTE.match(recorded.path)
        if match is not None and match[2] in ("say", "run"):
            person, channel = self._person(match[1]), self._text(body["channel"])
            assign = self._assign(recorded, number)
            if match[2] == "say":
                return [f"    {assign}{person}.send_message({channel}, {self._text(body.get('content', ''))})"]
            options = self._python(body.get("options") or {})
            return [f"    {assign}{person}.run({channel}, {_quote(body['command'])}, {options})"]
        return [f"    # {recorded.method} {recorded.path} {recorded.body}"]

    def _person(self, name: str) -> str:
        return self._people.setdefault(name, re.sub(r"\W", "_", name) or "person")

    def _assign(self, recorded: RecordedInput, number: int) -> str:
        """Return the assignment of a result whose ID a later input uses, or an empty string."""
        response = decode_json(recorded.response)
        object_id = response.get("id") if isinstance(response, dict) else None
        later = [step.cause for step in self._steps[number + 1 :] if step.cause is not None]
        if not isinstance(object_id, str) or not any(object_id in other.path + other.body for other in later):
            return ""
        self._variables[object_id] = f'result_{number}["id"]'
        return f"result_{number} = "

    def _text(self, text: str) -> str:
        """Return the literal of a text, in which IDs of results are expressions."""
        if not any(object_id in self._variables for object_id in _ID.findall(text)):
            return _quote(text)
        escaped = text.replace("{", "{{").replace("}", "}}")
        replaced = _ID.sub(
            lambda match: f"{{{self._variables[match[0]]}}}" if match[0] in self._variables else match[0], escaped
        )
        return "f'" + replaced.replace("'", "\\'") + "'"

    def _python(self, value: Any) -> str:
        text = pprint.pformat(value, width=100, sort_dicts=False).replace("\n", "\n        ")
        for object_id, expression in self._variables.items():
            text = text.replace(f"'{object_id}'", expression)
        return text


def _message_content(action: RecordedInput) -> str | None:
    """Return the content of a message that the program sent, or None."""
    if action.method != "POST" or action.route != _MESSAGE_ROUTE or action.status != 200:
        return None
    body = decode_json(action.body)
    content = body.get("content") if isinstance(body, dict) else None
    return content if isinstance(content, str) and content else None


def _iso_time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
