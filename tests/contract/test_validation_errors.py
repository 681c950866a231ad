"""Validation errors of every operation.

An invalid value in any body field, query parameter or path ID is rejected with 50035 and the path of the value."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from hubbub.protocol import codec
from hubbub.protocol.operation import Auth
from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import Endpoint, EndpointTable
from tests.world import Actor, ApiResponse, World

INVALID_VALUES = ({"no": [7.5]}, 7.5, [[7.5]], "no!")
"""Candidate invalid values. Nearly every type rejects at least one of them."""

OAUTH2_FORMS = "exchange_oauth2_token", "revoke_oauth2_token", "create_rpc_token", "authorize_oauth2_device"
"""Operations with the error format of OAuth2 (tests/server/identity/test_oauth2.py)."""


def invalid_value(kind: Any) -> tuple[Any, list[str]] | None:
    """Return a value that a type rejects and its invalid paths, or None if the type accepts every value."""
    origin = get_origin(kind)
    if origin is Annotated:
        return invalid_value(get_args(kind)[0])
    if origin is list:
        return _nest(invalid_value(get_args(kind)[0]), lambda value: [value], "0")
    if origin is dict:
        return _nest(_rejected_value(get_args(kind)[1]), lambda value: {"key": value}, "key")
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        config = kind.__struct_config__
        tag = {} if config.tag_field is None else {config.tag_field: config.tag}
        rejections = {field.encode_name: _rejected_value(field.type) for field in msgspec.structs.fields(kind)}
        values = {name: rejection[0] for name, rejection in rejections.items() if rejection is not None}
        return (tag | values, list(values)) if values else None
    return _rejected_value(kind)


def _nest(rejection: tuple[Any, list[str]] | None, wrap: Any, step: str) -> tuple[Any, list[str]] | None:
    return None if rejection is None else (wrap(rejection[0]), [f"{step}.{path}".rstrip(".") for path in rejection[1]])


def _rejected_value(kind: Any) -> tuple[Any, list[str]] | None:
    for value in INVALID_VALUES:
        try:
            codec.convert(value, kind)
        except msgspec.ValidationError:
            return value, [""]
    return None


def find_unmentioned(response: ApiResponse, paths: list[str]) -> list[str]:
    """Return the paths that the validation error does not mention, or a description of any other response."""
    if response.status != 400 or response.json.get("code") != 50035:
        return [f"{response.status} {response.body[:200]!r}"]
    return [path for path in paths if not _is_mentioned(response.json["errors"], path.split("."))]


def _is_mentioned(node: Any, steps: list[str]) -> bool:
    for step in steps:
        if step not in node:
            return False
        node = node[step]
    return "_errors" in node or any(isinstance(below, dict) and _is_mentioned(below, []) for below in node.values())


class Callers:
    """One caller of each authentication kind."""

    def __init__(self, user: Actor, bot: Actor) -> None:
        self.user, self.bot, self.world = user, bot, user.world
        self._tokens: dict[tuple[str, ...], Actor] = {}

    async def send(self, endpoint: Endpoint, path: str, **options: Any) -> ApiResponse:
        """Send a request as a caller that the operation accepts."""
        operation = endpoint.operation
        if Auth.USER in operation.auth:
            return await self.user.request(operation.method, path, **options)
        if Auth.BOT in operation.auth:
            return await self.bot.request(operation.method, path, **options)
        if Auth.BEARER in operation.auth:
            return await (await self._bearer(operation.scopes)).request(operation.method, path, **options)
        return await self.world.request(operation.method, path, **options)

    async def _bearer(self, scopes: tuple[str, ...]) -> Actor:
        if scopes not in self._tokens:
            token = await self.world.access_token(self.user, self.bot.application_id, *scopes)
            self._tokens[scopes] = Actor(self.world, self.user.id, token, "", uses_bearer_token=True)
        return self._tokens[scopes]


@pytest.fixture
async def callers(small_world: World) -> Callers:
    return Callers(await small_world.user(), await small_world.bot())


def endpoints_with_body() -> Iterator[tuple[Endpoint, Any]]:
    """Yield every operation with a body, once for each of its body types."""
    for endpoint in EndpointTable(SLICES):
        body = endpoint.operation.body
        forms = get_args(body) if get_origin(body) in (Union, UnionType) else (body,)
        if endpoint.name not in OAUTH2_FORMS:
            yield from ((endpoint, form) for form in forms if form is not NoneType)


def example_url(endpoint: Endpoint, **values: str) -> str:
    """Return a URL of an operation with only the required query. Its IDs need not exist: validation comes first."""
    path = endpoint.operation.url(**(dict.fromkeys(endpoint.operation.parameters, "1") | values))
    query = endpoint.operation.query
    fields = () if query is NoneType else msgspec.structs.fields(query)
    return f"{path}?{'&'.join(f'{field.encode_name}=1' for field in fields if field.required)}"


async def test_every_invalid_body_field_is_reported(callers: Callers) -> None:
    unreported_paths: list[str] = []
    checked_names: set[str] = set()
    for endpoint, form in endpoints_with_body():
        rejection = invalid_value(form)
        if rejection is not None:
            checked_names.add(endpoint.name)
            value, invalid_paths = rejection
            response = await callers.send(endpoint, example_url(endpoint), json=value)
            unreported_paths += [f"{endpoint.name}: {path}" for path in find_unmentioned(response, invalid_paths)]

    assert not unreported_paths, "\n".join(unreported_paths)
    assert {endpoint.name for endpoint, _ in endpoints_with_body()} == checked_names


async def test_a_body_of_the_wrong_json_type_is_rejected(callers: Callers) -> None:
    unreported_paths: list[str] = []
    for endpoint, form in endpoints_with_body():
        body_type = get_args(form)[0] if get_origin(form) is Annotated else form
        value: Any = {"0": 1} if get_origin(body_type) is list else ["no"]
        response = await callers.send(endpoint, example_url(endpoint), json=value)
        unreported_paths += [f"{endpoint.name}: {path}" for path in find_unmentioned(response, [])]

    assert not unreported_paths, "\n".join(unreported_paths)


async def test_every_invalid_query_parameter_is_reported(callers: Callers) -> None:
    unreported_paths: list[str] = []
    for endpoint in EndpointTable(SLICES):
        if endpoint.operation.query is NoneType:
            continue
        names = [
            field.encode_name
            for field in msgspec.structs.fields(endpoint.operation.query)
            if not _accepts_text(field.type)
        ]
        if names:
            body = None if endpoint.operation.body is NoneType else {}
            path = f"{example_url(endpoint)}&{'&'.join(f'{name}=no!' for name in names)}"
            response = await callers.send(endpoint, path, json=body)
            unreported_paths += [f"{endpoint.name}: {name}" for name in find_unmentioned(response, names)]

    assert not unreported_paths, "\n".join(unreported_paths)


def _accepts_text(kind: Any) -> bool:
    for value in ("no!", ["no!"]):
        try:
            codec.convert(value, kind)
        except msgspec.ValidationError:
            continue
        return True
    return False


async def test_every_invalid_path_id_is_reported(callers: Callers) -> None:
    unreported_paths: list[str] = []
    for endpoint in EndpointTable(SLICES):
        for name, is_id in zip(endpoint.operation.parameters, endpoint.snowflake_parameters, strict=True):
            if is_id:
                body = None if endpoint.operation.body is NoneType else {}
                response = await callers.send(endpoint, example_url(endpoint, **{name: "no!"}), json=body)
                unreported_paths += [f"{endpoint.name}: {path}" for path in find_unmentioned(response, [name])]

    assert not unreported_paths, "\n".join(unreported_paths)
