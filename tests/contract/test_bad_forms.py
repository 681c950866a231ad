"""What does not fit is named: for every operation, every field of its body, every parameter of its query and every id in its path
is said wrongly, and the answer is 50035 with the path of each."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from hubbub.protocol import wire
from hubbub.protocol.operation import Auth
from hubbub.server.app import SLICES
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.dispatch import Endpoint, Table
from tests.world import Actor, Answer, World

BAD = ({"no": [7.5]}, 7.5, [[7.5]], "no!")
"""Hardly anything takes all of these."""

FORMS = "exchange_oauth2_token", "revoke_oauth2_token", "create_rpc_token", "authorize_oauth2_device"
"""OAuth's own forms refuse in OAuth's own words (tests/server/resources/test_oauth2.py)."""


def wrong(kind: Any) -> tuple[Any, list[str]] | None:
    """A value that a type does not take, with the paths that are wrong in it; None where it takes anything."""
    origin = get_origin(kind)
    if origin is Annotated:
        return wrong(get_args(kind)[0])
    if origin is list:
        return _within(wrong(get_args(kind)[0]), lambda value: [value], "0")
    if origin is dict:
        return _within(_bad(get_args(kind)[1]), lambda value: {"key": value}, "key")
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        config = kind.__struct_config__
        value = {} if config.tag_field is None else {config.tag_field: config.tag}
        bad = {field.encode_name: _bad(field.type) for field in msgspec.structs.fields(kind)}
        found = {name: each[0] for name, each in bad.items() if each is not None}
        return (value | found, list(found)) if found else None
    return _bad(kind)


def _within(found: tuple[Any, list[str]] | None, wrap: Any, step: str) -> tuple[Any, list[str]] | None:
    return None if found is None else (wrap(found[0]), [f"{step}.{path}".rstrip(".") for path in found[1]])


def _bad(kind: Any) -> tuple[Any, list[str]] | None:
    for value in BAD:
        try:
            wire.convert(value, kind)
        except msgspec.ValidationError:
            return value, [""]
    return None


def unnamed(answer: Answer, paths: list[str]) -> list[str]:
    """What of these an answer says nothing about."""
    if answer.status != 400 or answer.json.get("code") != 50035:
        return [f"{answer.status} {answer.body[:200]!r}"]
    return [path for path in paths if not _named(answer.json["errors"], path.split("."))]


def _named(node: Any, steps: list[str]) -> bool:
    for step in steps:
        if step not in node:
            return False
        node = node[step]
    return "_errors" in node or any(isinstance(below, dict) and _named(below, []) for below in node.values())


class Callers:
    """One of each kind, for the operations that admit it."""

    def __init__(self, person: Actor, bot: Actor) -> None:
        self.person, self.bot, self.world = person, bot, person.world
        self._players: dict[tuple[str, ...], Actor] = {}

    async def send(self, endpoint: Endpoint, path: str, **options: Any) -> Answer:
        """Ask as somebody who is admitted."""
        operation = endpoint.operation
        if Auth.USER in operation.auth:
            return await self.person.request(operation.method, path, **options)
        if Auth.BOT in operation.auth:
            return await self.bot.request(operation.method, path, **options)
        if Auth.BEARER in operation.auth:
            return await (await self._player(operation.scopes)).request(operation.method, path, **options)
        return await self.world.request(operation.method, path, **options)

    async def _player(self, scopes: tuple[str, ...]) -> Actor:
        if scopes not in self._players:
            application_id = self.bot.application_id

            def issue(call: Call) -> str:
                person, now = self.person.id, call.now
                return auth.issue(
                    call.tx,
                    kind="bearer",
                    user_id=person,
                    application_id=application_id,
                    scopes=scopes,
                    now=now,
                    ids=call.ids,
                )

            token = await self.world.write(issue)
            self._players[scopes] = Actor(self.world, self.person.id, token, "", player=True)
        return self._players[scopes]


@pytest.fixture
async def callers(small_world: World) -> Callers:
    return Callers(await small_world.user(), await small_world.bot())


def described() -> Iterator[tuple[Endpoint, Any]]:
    """Every operation with a body, and each of the forms that it may have."""
    for endpoint in Table(SLICES):
        body = endpoint.operation.body
        forms = get_args(body) if get_origin(body) in (Union, UnionType) else (body,)
        if endpoint.name not in FORMS:
            yield from ((endpoint, form) for form in forms if form is not NoneType)


def somewhere(endpoint: Endpoint, **values: str) -> str:
    """A path of an operation with the least query; what it names need not be there, for a form is read first."""
    path = endpoint.operation.url(**(dict.fromkeys(endpoint.operation.parameters, "1") | values))
    query = endpoint.operation.query
    fields = () if query is NoneType else msgspec.structs.fields(query)
    return f"{path}?{'&'.join(f'{field.encode_name}=1' for field in fields if field.required)}"


async def test_every_field_of_every_body_is_named_where_it_is_wrong(callers: Callers) -> None:
    missing: list[str] = []
    seen: set[str] = set()
    for endpoint, form in described():
        found = wrong(form)
        if found is not None:
            seen.add(endpoint.name)
            answer = await callers.send(endpoint, somewhere(endpoint), json=found[0])
            missing += [f"{endpoint.name}: {path}" for path in unnamed(answer, found[1])]

    assert not missing, "\n".join(missing)
    assert {endpoint.name for endpoint, _ in described()} == seen


async def test_a_body_that_is_no_object_is_refused(callers: Callers) -> None:
    missing: list[str] = []
    for endpoint, form in described():
        bare = get_args(form)[0] if get_origin(form) is Annotated else form
        value: Any = {"0": 1} if get_origin(bare) is list else ["no"]
        answer = await callers.send(endpoint, somewhere(endpoint), json=value)
        missing += [f"{endpoint.name}: {path}" for path in unnamed(answer, [])]

    assert not missing, "\n".join(missing)


async def test_every_parameter_of_every_query_is_named_where_it_is_wrong(callers: Callers) -> None:
    missing: list[str] = []
    for endpoint in Table(SLICES):
        if endpoint.operation.query is NoneType:
            continue
        bad = [
            field.encode_name
            for field in msgspec.structs.fields(endpoint.operation.query)
            if not _takes_text(field.type)
        ]
        if bad:
            body = None if endpoint.operation.body is NoneType else {}
            path = f"{somewhere(endpoint)}&{'&'.join(f'{name}=no!' for name in bad)}"
            answer = await callers.send(endpoint, path, json=body)
            missing += [f"{endpoint.name}: {name}" for name in unnamed(answer, bad)]

    assert not missing, "\n".join(missing)


def _takes_text(kind: Any) -> bool:
    for value in ("no!", ["no!"]):
        try:
            wire.convert(value, kind)
        except msgspec.ValidationError:
            continue
        return True
    return False


async def test_every_id_in_every_path_is_named_where_it_is_wrong(callers: Callers) -> None:
    missing: list[str] = []
    for endpoint in Table(SLICES):
        for name, is_id in zip(endpoint.operation.parameters, endpoint.snowflakes, strict=True):
            if is_id:
                body = None if endpoint.operation.body is NoneType else {}
                answer = await callers.send(endpoint, somewhere(endpoint, **{name: "no!"}), json=body)
                missing += [f"{endpoint.name}: {path}" for path in unnamed(answer, [name])]

    assert not missing, "\n".join(missing)
