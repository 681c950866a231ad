"""A pytest file that repeats the actions of users in a recorded session, and expects the recorded actions of the program."""

import json
import pprint
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from hubbub.people import forms
from hubbub.protocol.enums import ComponentType
from hubbub.server.recordings.differences import DURATION_TOLERANCE_MS
from hubbub.server.recordings.id_maps import decode_json
from hubbub.server.recordings.recording_file import RecordedInput, Recording
from hubbub.server.recordings.replayer import Step, split_steps

_API_PREFIX_PATTERN: Final = re.compile(r"^/api(?:/v\d+)?")
_ID_PATTERN: Final = re.compile(r"\b\d{15,20}\b")
_PERSON_ROUTE_PATTERN: Final = re.compile(r"/control/people/([^/]+)/(\w+(?:/\w+)?)")
_MESSAGE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "reply": ("content",),
    "edit": ("content",),
    "delete": (),
    "react": ("emoji",),
}
"""Actions of people on a message, with the fields that follow the message."""
_MESSAGE_ROUTE: Final = "/channels/{channel_id}/messages"
_FILE_CHARACTERS_MAX: Final = 64 * 1024
"""Maximum number of base64 characters of a played file that a test contains."""
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
        self._results: dict[str, tuple[str, dict[str, Any]]] = {}
        """Messages and modals that interactions use, with the variables that hold them, by recorded ID."""

    def render(self) -> str:
        """Return the text of the file."""
        step_lines: list[str] = []
        for step in self._steps:
            step_lines += self._step_lines(step)
        people_lines = [f"    {variable} = hubbub.users[{_quote(name)}]" for name, variable in self._people.items()]
        connect_lines = [f"    {variable}.connect()" for variable in self._people.values()]
        header = self._recording.header
        lines = [
            '"""A rehearsal that was generated from a recording. Edit it like any other test."""',
            "",
            *(["import base64", ""] if any("base64." in line for line in step_lines) else []),
            "import pytest",
            "",
            f"SEED = {header.seed}",
            '"""The seed of the recorded world; the IDs in this file belong to it."""',
            f"NOW = {_quote(_iso_time(header.now_ms))}",
            *([] if header.world is None else [f"WORLD = {self._python_literal(tomllib.loads(header.world))}"]),
            "",
            "",
            _FIXTURE,
            "",
            f"@pytest.mark.hubbub(seed=SEED, now=NOW{'' if header.world is None else ', world=WORLD'})",
            "def test_the_recorded_session(hubbub, program):",
            *people_lines,
            *connect_lines,
            *step_lines,
            *(
                []
                if any(line and not line.lstrip().startswith("#") for line in (*people_lines, *step_lines))
                else ["    pass"]
            ),
        ]
        return "\n".join(lines) + "\n"

    def _step_lines(self, step: Step) -> list[str]:
        if step.cause is None:
            return []
        cause_lines = self._cause_lines(step)
        lines = ["", *cause_lines] if cause_lines else []
        observer = next(iter(self._people.values()), None)
        for action in step.actions:
            message = _sent_message(action)
            if message is not None and observer is not None:
                is_used = bool(message.get("components")) or self._is_used_after(message["id"], step.number)
                assignment = self._keep_result(f"message_{action.id}", message) if is_used else ""
                expected_event = f'"MESSAGE_CREATE", content={_quote(message["content"])}'
                lines.append(f"    {assignment}{observer}.expect({expected_event})")
            elif action.kind == "response":
                lines.append(f"    # The interactions endpoint of {action.actor} responded with {action.status}.")
            elif action.is_write and action.kind == "http":
                lines.append(f"    # The program sent {action.method} {action.route}.")
        return lines

    def _cause_lines(self, step: Step) -> list[str]:
        recorded_input = step.cause
        assert recorded_input is not None
        if recorded_input.kind == "frame":
            return [f"    # {recorded_input.actor or 'A client'} sent {recorded_input.opcode_name} over the gateway."]
        if recorded_input.status >= HTTPStatus.BAD_REQUEST:
            return [f"    # {_describe_request(recorded_input)} was rejected with {recorded_input.status}."]
        if recorded_input.kind == "control":
            return self._control_lines(recorded_input, step.number)
        if not recorded_input.actor:
            return [f"    # A client without a token sent {recorded_input.method} {recorded_input.route}."]
        person, body = self._person_variable(recorded_input.actor), decode_json(recorded_input.body)
        argument = "" if body is None else f", json={self._python_literal(body)}"
        path = self._text_literal(_API_PREFIX_PATTERN.sub("", recorded_input.path))
        call_text = f"{person}.request({_quote(recorded_input.method)}, {path}{argument})"
        return [f"    {self._assign(recorded_input, step.number)}{call_text}"]

    def _control_lines(self, recorded_input: RecordedInput, step_number: int) -> list[str]:
        body = decode_json(recorded_input.body) or {}
        if recorded_input.path.startswith("/control/clock/"):
            name = recorded_input.path.rpartition("/")[2]
            argument = {"set": _quote(str(body.get("now"))), "advance": f"milliseconds={body.get('ms')}"}.get(name, "")
            return [f"    hubbub.clock.{name}({argument})"]
        match = _PERSON_ROUTE_PATTERN.match(recorded_input.path)
        if match is not None and match[2] == "say":
            person, channel = self._person_variable(match[1]), self._text_literal(body["channel"])
            assignment = self._assign(recorded_input, step_number)
            return [f"    {assignment}{person}.send_message({channel}, {self._text_literal(body.get('content', ''))})"]
        if match is not None and match[2] in _MESSAGE_FIELDS:
            return self._message_lines(match[1], match[2], body, recorded_input, step_number)
        if match is not None and match[2] in ("connect", "disconnect"):
            # All people are connected when the test starts.
            is_connected = match[2] == "connect" and match[1] not in self._people
            person = self._person_variable(match[1])
            return [] if is_connected else [f"    {person}.{match[2]}()"]
        if match is not None and match[2].startswith("voice/"):
            return self._voice_lines(match[1], match[2].removeprefix("voice/"), body, recorded_input, step_number)
        arguments = None if match is None else self._interaction_arguments(match[2], body)
        if match is None or arguments is None:
            return [f"    # {_describe_request(recorded_input)}"]
        return self._interaction_lines(
            f"{self._person_variable(match[1])}.{match[2]}({arguments})", recorded_input, step_number
        )

    def _message_lines(
        self, name: str, action: str, body: dict[str, Any], recorded_input: RecordedInput, step_number: int
    ) -> list[str]:
        """Return the line of an action on a message, or a comment if no earlier line has the message."""
        if body["message"] not in self._variables:
            return [f"    # {_describe_request(recorded_input)}"]
        fields = [_quote(body[field]) for field in _MESSAGE_FIELDS[action]]
        assignment = self._assign(recorded_input, step_number) if action == "reply" else ""
        arguments = ", ".join([self._variables[body["message"]], *fields])
        return [f"    {assignment}{self._person_variable(name)}.{action}({arguments})"]

    def _voice_lines(
        self, name: str, action: str, body: dict[str, Any], recorded_input: RecordedInput, step_number: int
    ) -> list[str]:
        """Return the lines that join or leave a call, play a file, or expect audio of the recorded duration."""
        person = self._person_variable(name)
        if action == "join":
            return [f"    {person}.join_voice({self._text_literal(body['channel'])}, audio=True)"]
        if action == "leave":
            return [f"    {person}.leave_voice()"]
        if action == "play" and len(body["file"]) <= _FILE_CHARACTERS_MAX:
            return [f"    {person}.play(base64.b64decode({_quote(body['file'])}))"]
        audio = decode_json(recorded_input.response)
        if action != "hear" or not isinstance(audio, dict):
            return [f"    # {person} played a file that is too large for this test."]
        speaker = audio["user"]
        bot_names = {action.actor for action in self._recording.inputs if action.is_program}
        group = "bots" if speaker in bot_names else "users"
        result, duration_ms = f"audio_{step_number}", audio["duration_ms"]
        return [
            f"    {result} = {person}.hear(hubbub.{group}[{_quote(speaker)}])",
            "    # Packets can be lost.",
            f'    assert abs({result}["duration_ms"] - {duration_ms}) <= {DURATION_TOLERANCE_MS}',
        ]

    def _interaction_arguments(self, action: str, body: dict[str, Any]) -> str | None:
        """Return the arguments of a call that uses an application; None if the test cannot repeat the action."""
        values = body.get("options" if action == "run" else "fields") or {}
        if any(isinstance(value, dict) for value in values.values()):
            return None  # The value is a file.
        if action == "run":
            arguments = [self._text_literal(body["channel"]), _quote(body["command"]), self._python_literal(values)]
            if (target := body.get("target")) is not None:
                is_id = target.isdigit()
                arguments.append(f"target={self._text_literal(target) if is_id else f'hubbub.users[{_quote(target)}]'}")
            if (application := body.get("application")) is not None:
                arguments.append(f"application={_quote(application)}")
        elif action in ("click", "choose"):
            identifier = body["button" if action == "click" else "select"]
            component_types = (ComponentType.BUTTON,) if action == "click" else forms.SELECT_TYPES
            message = self._find_result(
                body.get("message"), lambda candidate: forms.has_component(candidate, identifier, component_types)
            )
            if message is None:
                return None
            arguments = [message, _quote(identifier), *map(self._text_literal, body.get("values") or [])]
        elif action == "submit":
            modal = self._find_result(body.get("modal"), lambda candidate: "title" in candidate)
            if modal is None:
                return None
            arguments = [modal, self._python_literal(values)]
        else:
            return None
        return ", ".join([*arguments, *([] if body.get("wait_for_answer", True) else ["wait_for_answer=False"])])

    def _interaction_lines(self, call_text: str, recorded_input: RecordedInput, step_number: int) -> list[str]:
        """Return a call that uses an application, and the expected text of the response."""
        response = decode_json(recorded_input.response) or {}
        result = response.get("message") or response.get("modal")
        if result is None:
            return [f"    {call_text}"]
        lines = [f"    {self._keep_result(f'result_{step_number}', result)}{call_text}"]
        field = "title" if response.get("modal") else "content"
        if result.get(field):
            lines.append(f'    assert result_{step_number}["{field}"] == {self._text_literal(result[field])}')
        return lines

    def _keep_result(self, variable: str, result: dict[str, Any]) -> str:
        """Return the assignment of a message or modal to a variable, which later lines use."""
        self._variables[result["id"]] = f'{variable}["id"]'
        self._results.pop(result["id"], None)
        self._results[result["id"]] = (variable, result)
        return f"{variable} = "

    def _find_result(self, object_id: str | None, is_match: Callable[[dict[str, Any]], bool]) -> str | None:
        """Return the variable of the message or modal with an ID, or of the latest one that matches if the ID is None; or None."""
        for variable, result in reversed(self._results.values()):
            if result["id"] == object_id if object_id is not None else is_match(result):
                return variable
        return None

    def _person_variable(self, name: str) -> str:
        return self._people.setdefault(name, re.sub(r"\W", "_", name) or "person")

    def _assign(self, recorded_input: RecordedInput, step_number: int) -> str:
        """Return the assignment of a result whose ID a later input uses, or an empty string."""
        response = decode_json(recorded_input.response)
        object_id = response.get("id") if isinstance(response, dict) else None
        if not isinstance(object_id, str) or not self._is_used_after(object_id, step_number):
            return ""
        self._variables[object_id] = f'result_{step_number}["id"]'
        return f"result_{step_number} = "

    def _is_used_after(self, object_id: str, step_number: int) -> bool:
        """Return whether an input of people after a step names an object by its ID."""
        later_inputs = [step.cause for step in self._steps[step_number + 1 :] if step.cause is not None]
        return any(object_id in later_input.path + later_input.body for later_input in later_inputs)

    def _text_literal(self, text: str) -> str:
        """Return the literal of a text, in which IDs of results are expressions."""
        if not any(object_id in self._variables for object_id in _ID_PATTERN.findall(text)):
            return _quote(text)
        escaped_text = text.replace("{", "{{").replace("}", "}}")
        replaced_text = _ID_PATTERN.sub(
            lambda match: f"{{{self._variables[match[0]]}}}" if match[0] in self._variables else match[0], escaped_text
        )
        return "f'" + replaced_text.replace("'", "\\'") + "'"

    def _python_literal(self, value: Any) -> str:
        text = pprint.pformat(value, width=100, sort_dicts=False).replace("\n", "\n        ")
        for object_id, expression in self._variables.items():
            text = text.replace(f"'{object_id}'", expression)
        return text


def _sent_message(action: RecordedInput) -> dict[str, Any] | None:
    """Return a message with content that the program sent, or None."""
    if action.method != "POST" or action.route != _MESSAGE_ROUTE or action.status != HTTPStatus.OK:
        return None
    message = decode_json(action.response)
    return message if isinstance(message, dict) and message.get("content") else None


def _describe_request(recorded_input: RecordedInput) -> str:
    """Return a request in one line."""
    return " ".join([recorded_input.method, recorded_input.path, *recorded_input.body.split()])


def _iso_time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
