"""Copies of entries of the traffic: a curl command, and tests in Python and JavaScript."""

import json
import pprint
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.traffic import TrafficContent, TrafficEntry

_API_PREFIX: Final = re.compile(r"^/api(?:/v\d+)?")
_NAME_PARTS: Final = re.compile(r"[^a-z0-9]+")
_TEXT_WIDTH: Final = 100
_EXPECTED_FIELDS: Final = ("id", "name", "content", "channel_id", "guild_id", "user_id", "custom_id", "type")
"""Fields of an event that are useful in a test, most useful first.

`_expected_fields` skips `id`, because it differs in each run."""
_EXPECTED_FIELDS_MAX: Final = 2


class Sender(msgspec.Struct, frozen=True):
    """The sender of a request, or the recipient of an event, by its name in the world."""

    name: str
    is_bot: bool

    @property
    def python(self) -> str:
        """The expression that returns the actor from the pytest fixture."""
        return f"hubbub.{'bots' if self.is_bot else 'users'}[{self.name!r}]".replace("'", '"')


def curl_command(content: TrafficContent, url: str, headers: Mapping[str, str], body: str) -> str:
    """Return a request as a curl command. Masked credentials become the variable TOKEN."""
    parts = ["curl", "-X", content.method]
    for name, value in headers.items():
        if name == "User-Agent":
            continue
        if name == "Authorization" and not value.isascii():
            scheme = value.rpartition(" ")[0]
            parts += ["-H", f'"Authorization: {scheme + " " if scheme else ""}$TOKEN"']
        else:
            parts += ["-H", shlex.quote(f"{name}: {value}")]
    if body:
        parts += ["--data-raw", shlex.quote(body)]
    return " ".join([*parts, shlex.quote(url)])


def python_test(entry: TrafficEntry, content: TrafficContent, path: str, body: str, actor: Sender | None) -> str:
    """Return a request or event as a test with the pytest fixture."""
    name = _test_name(entry)
    subject = 'hubbub.users["alice"]' if actor is None else actor.python
    if content.dispatch is not None:
        arguments = "".join(f", {key}={value!r}" for key, value in _expected_fields(content).items())
        return (
            f"def test_{name}(hubbub):\n"
            f"    recipient = {subject}\n"
            "    recipient.connect()\n\n"
            "    # Perform the action that causes the event here.\n\n"
            f'    recipient.expect("{entry.summary}"{arguments})\n'
        )
    value = _decode(body)
    call = f'caller.request("{content.method}", {_quote(_API_PREFIX.sub("", path))}'
    call += ")" if value is None else f", json={_python_value(value)})"
    if (entry.status or 0) < 400:
        return f"def test_{name}(hubbub):\n    caller = {subject}\n\n    {call}\n"
    return (
        "import pytest\n"
        "from hubbub.testing import RequestRejected\n\n\n"
        f"def test_{name}_is_rejected(hubbub):\n"
        f"    caller = {subject}\n\n"
        "    with pytest.raises(RequestRejected) as rejection:\n"
        f"        {call}\n\n"
        f"    assert rejection.value.status == {entry.status}\n"
    )


def javascript_test(entry: TrafficEntry, content: TrafficContent, path: str, body: str, actor: Sender | None) -> str:
    """Return a request or event as a test with the package hubbub-rehearsal."""
    name = "alice" if actor is None or actor.is_bot else actor.name
    lines = [
        'import { test } from "node:test";',
        'import { startPlatform } from "hubbub-rehearsal";',
        "",
        f"test({json.dumps(entry.summary)}, async () => {{",
        "  const platform = await startPlatform();",
        f"  const person = platform.person({json.dumps(name)});",
    ]
    if content.dispatch is not None:
        fields = json.dumps(_expected_fields(content))
        lines += [
            "  await person.connect();",
            "  // Perform the action that causes the event here.",
            f"  await person.expect({json.dumps(entry.summary)}, {fields});",
        ]
    else:
        value = _decode(body)
        argument = "" if value is None else f", {json.dumps(value, ensure_ascii=False)}"
        path = json.dumps(_API_PREFIX.sub("", path))
        lines.append(f'  await person.request("{content.method}", {path}{argument});')
    return "\n".join([*lines, "  await platform.close();", "});", ""])


def _test_name(entry: TrafficEntry) -> str:
    return _NAME_PARTS.sub("_", entry.summary.lower()).strip("_") or "entry"


def _expected_fields(content: TrafficContent) -> dict[str, Any]:
    """Return at most `_EXPECTED_FIELDS_MAX` fields of an event that a test can compare."""
    data = _decode(content.body.decode("utf-8", "replace"))
    if not isinstance(data, dict):
        return {}
    fields = {key: data[key] for key in _EXPECTED_FIELDS if key in data and key != "id" and data[key]}
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


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
