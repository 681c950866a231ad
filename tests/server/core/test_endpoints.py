"""The endpoint table: matching handlers to operations at startup, finding endpoints by path, and tags."""

from types import ModuleType
from typing import Any

import pytest
from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, UserId
from hubbub.protocol.operation import Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.endpoints import EndpointTable, MethodNotAllowed, build_endpoint, run, run_async
from hubbub.server.core.slices import Slice, handles


class Body(Struct):
    """The declared body type."""


class OtherBody(Struct):
    """A different body type."""


def make_endpoint(operation: Operation[Any, Any], function: Any) -> Any:
    return build_endpoint(operation, function, name="sample_endpoint")


def test_arguments_follow_the_order_of_the_handler() -> None:
    def handler(call: Call, body: Body, message_id: MessageId, channel_id: ChannelId) -> None: ...

    endpoint = make_endpoint(Operation("PATCH", "/channels/{channel_id}/messages/{message_id}", body=Body), handler)
    body = Body()
    assert endpoint.arguments(endpoint.read_path(["1", "2"]), body) == [body, 2, 1]
    assert endpoint.writes


def test_every_invalid_path_parameter_is_reported() -> None:
    def handler(call: Call, channel_id: ChannelId, message_id: MessageId) -> None: ...

    endpoint = make_endpoint(Operation("GET", "/channels/{channel_id}/messages/{message_id}"), handler)
    assert not endpoint.writes
    with pytest.raises(errors.ApiError) as caught:
        endpoint.read_path(["x", "y"])
    assert set(caught.value.errors or {}) == {"channel_id", "message_id"}


def test_integers_in_a_path_are_parsed() -> None:
    def handler(call: Call, kind: int) -> None: ...

    endpoint = make_endpoint(Operation("GET", "/kinds/{kind}"), handler)
    assert endpoint.read_path(["5"]) == [5]
    with pytest.raises(errors.ApiError):
        endpoint.read_path(["five"])


def lacks_parameter(call: Call) -> None: ...
def takes_extra_parameter(call: Call, user_id: UserId, extra: int) -> None: ...
def takes_other_body(call: Call, user_id: UserId, body: OtherBody) -> None: ...
def matching_handler(call: Call, user_id: UserId) -> None: ...


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        (Operation("GET", "/users/{user_id}"), lacks_parameter),
        (Operation("GET", "/users/{user_id}"), takes_extra_parameter),
        (Operation("GET", "/users/{user_id}"), takes_other_body),
        (Operation("POST", "/users/{user_id}", body=Body), takes_other_body),
        (Operation("GET", "/users/{user_id}", needs=Permissions.MANAGE_GUILD), matching_handler),
    ],
)
def test_a_mismatched_handler_raises_at_startup(operation: Any, function: Any) -> None:
    with pytest.raises(TypeError):
        make_endpoint(operation, function)


def test_an_operation_that_needs_permissions_requires_a_guard() -> None:
    def handler(call: Call, guild_id: GuildId) -> None: ...

    operation = Operation("GET", "/guilds/{guild_id}", needs=Permissions.MANAGE_GUILD)
    with pytest.raises(TypeError, match="sample_endpoint needs permissions"):
        make_endpoint(operation, handler)

    def guard(call: Call, object_id: int, permissions: int) -> None: ...

    endpoint = build_endpoint(operation, handler, name="guarded", guards=(("channel_id", guard), ("guild_id", guard)))
    assert (endpoint.guard, endpoint.guarded_parameter) == (guard, "guild_id")


async def test_an_operator_role_is_checked_before_plain_and_coroutine_handlers() -> None:
    checked_roles: list[OperatorRole] = []

    def handler(call: Call) -> str:
        return f"after {checked_roles}"

    async def coroutine_handler(operation: AsyncOperation) -> str:
        return f"after {checked_roles}"

    class Reader:
        async def read(self, work: Any) -> Any:
            return work(None)

    operation = Operation("GET", "/admin/samples", result=str, operator=OperatorRole.MODERATOR)
    with pytest.raises(TypeError, match="sample_endpoint requires an operator role"):
        make_endpoint(operation, handler)

    def guard(call: Call, role: OperatorRole) -> None:
        checked_roles.append(role)

    expected_result = f"after {[OperatorRole.MODERATOR]}"
    call: Any = None
    assert run(call, build_endpoint(operation, handler, name="plain", operator_guard=guard), []) == expected_result
    checked_roles.clear()
    reader: Any = Reader()
    endpoint = build_endpoint(operation, coroutine_handler, name="coroutine", operator_guard=guard)
    assert await run_async(reader, endpoint, []) == expected_result


def test_only_one_slice_checks_operator_roles() -> None:
    def guard(call: Call, role: OperatorRole) -> None: ...

    with pytest.raises(TypeError, match="several slices"):
        EndpointTable([Slice(name=name, modules=(), operator_guard=guard) for name in ("one", "two")])


def make_table(*operations_and_handlers: tuple[Operation[Any, Any], Any]) -> EndpointTable:
    """Return the table of a slice with these operations and their handlers."""
    module = ModuleType("sample")
    for operation, function in operations_and_handlers:
        function.__module__ = "sample"
        setattr(module, function.__name__, handles(operation)(function))
    return EndpointTable([Slice(name="sample", modules=(module,))])


def test_paths_match_literals_before_ids_and_ids_before_text() -> None:
    def me(call: Call) -> None: ...
    def user(call: Call, user_id: UserId) -> None: ...
    def named(call: Call, name: str) -> None: ...
    def guild(call: Call, user_id: UserId, guild_id: GuildId) -> None: ...

    routes = make_table(
        (Operation("GET", "/users/@me"), me),
        (Operation("GET", "/users/{user_id}"), user),
        (Operation("GET", "/users/{name}"), named),
        (Operation("GET", "/users/{user_id}/guilds/{guild_id}"), guild),
    )

    def find(method: str, path: str) -> tuple[str, list[str]]:
        endpoint, path_values = routes.resolve(method, path.split("/"))
        return endpoint.name, path_values

    assert find("GET", "users/@me") == ("me", [])
    assert find("GET", "users/5") == ("user", ["5"])
    assert find("GET", "users/alice") == ("named", ["alice"])
    assert find("GET", "users/5/guilds/x") == ("guild", ["5", "x"])
    with pytest.raises(errors.ApiError) as caught:
        find("GET", "users/@me/guilds/5")
    assert caught.value.kind is errors.NOT_FOUND
    with pytest.raises(MethodNotAllowed) as not_allowed:
        find("PUT", "users/5")
    assert not_allowed.value.allowed == ["GET"]


def test_two_handlers_for_one_path_raise_at_startup() -> None:
    def first_handler(call: Call, user_id: UserId) -> None: ...
    def second_handler(call: Call, other_id: UserId) -> None: ...

    with pytest.raises(TypeError, match="twice"):
        make_table(
            (Operation("GET", "/users/{user_id}"), first_handler),
            (Operation("GET", "/users/{other_id}"), second_handler),
        )


def test_a_module_of_a_slice_can_have_its_own_tag() -> None:
    def list_toys(call: Call) -> None: ...
    def list_games(call: Call) -> None: ...

    toys, games = ModuleType("toys"), ModuleType("games")
    for module, path, function in ((toys, "/toys", list_toys), (games, "/games", list_games)):
        function.__module__ = module.__name__
        setattr(module, function.__name__, handles(Operation("GET", path))(function))
    table = EndpointTable([Slice(name="toys", modules=(toys, games), tags={games: "games"})])

    assert [endpoint.tag for endpoint in table] == ["toys", "games"]
