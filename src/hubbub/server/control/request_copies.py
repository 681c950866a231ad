"""Copies of entries of the traffic: a curl command, and tests in Python and JavaScript."""

import json
import pprint
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.control.traffic import TrafficEntry
from hubbub.server.core.traffic import TrafficContent

_API_PREFIX_PATTERN: Final = re.compile(r"^/api(?:/v\d+)?")
_NAME_SEPARATOR_PATTERN: Final = re.compile(r"[^a-z0-9]+")
_TEXT_WIDTH: Final = 100
_COMPARABLE_FIELDS: Final = ("name", "content", "channel_id", "guild_id", "user_id", "custom_id", "type")
"""Fields of an event that are useful in a test, most useful first. The ID of its object differs in each run."""
_EXPECTED_FIELDS_MAX: Final = 2


class WorldActor(msgspec.Struct, frozen=True):
    """A user or bot of the world that sent a request or received an event."""

    name: str
    is_bot: bool

    @property
    def python(self) -> str:
        """The expression that returns the actor from the pytest fixture."""
        return f"hubbub.{'bots' if self.is_bot else 'users'}[{self.name!r}]".replace("'", '"')


def curl_command(content: TrafficContent, url: str, headers: Mapping[str, str], body: str) -> str:
    """Return a request as a curl command. Masked credentials become the variable TOKEN."""
    arguments = ["curl", "-X", content.method]
    for name, value in headers.items():
        if name == "User-Agent":
            continue
        if name == "Authorization" and not value.isascii():
            scheme = value.rpartition(" ")[0]
            arguments += ["-H", f'"Authorization: {scheme + " " if scheme else ""}$TOKEN"']
        else:
            arguments += ["-H", shlex.quote(f"{name}: {value}")]
    if body:
        arguments += ["--data-raw", shlex.quote(body)]
    return " ".join([*arguments, shlex.quote(url)])


def python_test(entry: TrafficEntry, content: TrafficContent, path: str, body: str, actor: WorldActor | None) -> str:
    """Return a request or event as a test with the pytest fixture."""
    name = _test_name(entry)
    actor_expression = 'hubbub.users["alice"]' if actor is None else actor.python
    if content.dispatch is not None:
        arguments = "".join(f", {key}={body_value!r}" for key, body_value in _expected_fields(content).items())
        return (
            f"def test_{name}(hubbub):\n"
            f"    recipient = {actor_expression}\n"
            "    recipient.connect()\n\n"
            "    # Perform the action that causes the event here.\n\n"
            f'    recipient.expect("{entry.summary}"{arguments})\n'
        )
    body_value = _decode(body)
    call = f'caller.request("{content.method}", {_quote_json(_API_PREFIX_PATTERN.sub("", path))}'
    call += ")" if body_value is None else f", json={_python_value(body_value)})"
    if (entry.status or 0) < 400:
        return f"def test_{name}(hubbub):\n    caller = {actor_expression}\n\n    {call}\n"
    return (
        "import pytest\n"
        "from hubbub.testing import RequestRejected\n\n\n"
        f"def test_{name}_is_rejected(hubbub):\n"
        f"    caller = {actor_expression}\n\n"
        "    with pytest.raises(RequestRejected) as rejection:\n"
        f"        {call}\n\n"
        f"    assert rejection.value.status == {entry.status}\n"
    )


def javascript_test(
    entry: TrafficEntry, content: TrafficContent, path: str, body: str, actor: WorldActor | None
) -> str:
    """Return a request or event as a test with the package hubbub-rehearsal.

    The package has people but no bots, so a request of a bot is sent with its token, and a person expects an event."""
    name = _quote_json("alice" if actor is None or actor.is_bot else actor.name)
    body_value = _decode(body)
    body_text = None if body_value is None else _quote_json(body_value)
    path_text = _quote_json(_API_PREFIX_PATTERN.sub("", path))
    is_rejected = (entry.status or 0) >= 400
    uses_assertion = False
    if content.dispatch is not None:
        steps = [
            f"const person = platform.person({name});",
            "await person.connect();",
            "// Perform the action that causes the event here.",
            f"await person.expect({_quote_json(entry.summary)}, {_quote_json(_expected_fields(content))});",
        ]
    elif actor is not None and actor.is_bot:
        uses_assertion = True
        steps = [
            f"const token = platform.botToken({_quote_json(actor.name)});",
            f"const response = await fetch(platform.api + {path_text}, {{",
            f'  method: "{content.method}",',
            *_fetch_options(body_text),
            "});",
            f"assert.equal(response.status, {entry.status});",
        ]
    else:
        uses_assertion = is_rejected
        call = f'person.request("{content.method}", {path_text}{"" if body_text is None else f", {body_text}"})'
        steps = [
            f"const person = platform.person({name});",
            f"await assert.rejects({call}, {{ status: {entry.status} }});" if is_rejected else f"await {call};",
        ]
    title = f"{entry.summary} is rejected" if is_rejected else entry.summary
    lines = [
        *(['import assert from "node:assert/strict";'] if uses_assertion else []),
        'import { test } from "node:test";',
        'import { startPlatform } from "hubbub-rehearsal";',
        "",
        f"test({_quote_json(title)}, async () => {{",
        "  const platform = await startPlatform();",
        *(f"  {step}" for step in steps),
        "  await platform.close();",
        "});",
        "",
    ]
    return "\n".join(lines)


def _fetch_options(body_text: str | None) -> list[str]:
    """Return the lines of the headers and the body of a call of fetch by a bot."""
    if body_text is None:
        return ["  headers: { Authorization: `Bot ${token}` },"]
    return [
        '  headers: { Authorization: `Bot ${token}`, "Content-Type": "application/json" },',
        f"  body: JSON.stringify({body_text}),",
    ]


def _test_name(entry: TrafficEntry) -> str:
    return _NAME_SEPARATOR_PATTERN.sub("_", entry.summary.lower()).strip("_") or "entry"


def _expected_fields(content: TrafficContent) -> dict[str, Any]:
    """Return at most `_EXPECTED_FIELDS_MAX` fields of an event that a test can compare."""
    event_payload = _decode(content.body.decode("utf-8", "replace"))
    if not isinstance(event_payload, dict):
        return {}
    fields = {key: event_payload[key] for key in _COMPARABLE_FIELDS if event_payload.get(key)}
    return dict(list(fields.items())[:_EXPECTED_FIELDS_MAX])


def _decode(body: str) -> Any:
    """Return the value of a JSON body, or None if it is empty or not JSON."""
    try:
        return codec.decode_any(body.encode()) if body else None
    except (msgspec.MsgspecError, ValueError):
        return None


def _python_value(value: Any) -> str:
    text = pprint.pformat(value, width=_TEXT_WIDTH, sort_dicts=False)
    return text.replace("\n", "\n        ")


def _quote_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
