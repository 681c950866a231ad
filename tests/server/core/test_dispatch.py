"""Handlers are fitted to operations at startup, and found by path."""

from types import ModuleType
from typing import Any

import pytest
from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, UserId
from hubbub.protocol.operation import Operation
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.core.dispatch import MethodNotAllowed, Table, endpoint
from hubbub.server.core.slices import Slice, handles


class Body(Struct):
    """A body."""


class Other(Struct):
    """Another."""


def fit(operation: Operation[Any, Any], function: Any) -> Any:
    return endpoint(operation, function, name="fitted")


def test_arguments_follow_the_handlers_order() -> None:
    def handler(call: Call, body: Body, message_id: MessageId, channel_id: ChannelId) -> None: ...

    fitted = fit(Operation("PATCH", "/channels/{channel_id}/messages/{message_id}", body=Body), handler)
    body = Body()
    assert fitted.arguments(fitted.read_path(["1", "2"]), body) == [body, 2, 1]
    assert fitted.writes


def test_every_bad_path_parameter_is_named() -> None:
    def handler(call: Call, channel_id: ChannelId, message_id: MessageId) -> None: ...

    fitted = fit(Operation("GET", "/channels/{channel_id}/messages/{message_id}"), handler)
    assert not fitted.writes
    with pytest.raises(errors.ApiError) as caught:
        fitted.read_path(["x", "y"])
    assert set(caught.value.errors or {}) == {"channel_id", "message_id"}


def test_numbers_in_a_path_are_read_too() -> None:
    def handler(call: Call, kind: int) -> None: ...

    fitted = fit(Operation("GET", "/kinds/{kind}"), handler)
    assert fitted.read_path(["5"]) == [5]
    with pytest.raises(errors.ApiError):
        fitted.read_path(["five"])


def lacks_one(call: Call) -> None: ...
def takes_more(call: Call, user_id: UserId, extra: int) -> None: ...
def takes_a_body(call: Call, user_id: UserId, body: Other) -> None: ...
def fits(call: Call, user_id: UserId) -> None: ...


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        (Operation("GET", "/users/{user_id}"), lacks_one),
        (Operation("GET", "/users/{user_id}"), takes_more),
        (Operation("GET", "/users/{user_id}"), takes_a_body),
        (Operation("POST", "/users/{user_id}", body=Body), takes_a_body),
        (Operation("GET", "/users/{user_id}", needs=Permissions.MANAGE_GUILD), fits),
    ],
)
def test_a_handler_that_does_not_fit_is_a_mistake_at_startup(operation: Any, function: Any) -> None:
    with pytest.raises(TypeError):
        fit(operation, function)


def table(*pairs: tuple[Operation[Any, Any], Any]) -> Table:
    module = ModuleType("made_up")
    for operation, function in pairs:
        function.__module__ = "made_up"
        setattr(module, function.__name__, handles(operation)(function))
    return Table([Slice(name="made_up", modules=(module,))])


def test_words_win_over_ids_and_ids_over_text() -> None:
    def me(call: Call) -> None: ...
    def user(call: Call, user_id: UserId) -> None: ...
    def named(call: Call, name: str) -> None: ...
    def guild(call: Call, user_id: UserId, guild_id: GuildId) -> None: ...

    found = table(
        (Operation("GET", "/users/@me"), me),
        (Operation("GET", "/users/{user_id}"), user),
        (Operation("GET", "/users/{name}"), named),
        (Operation("GET", "/users/{user_id}/guilds/{guild_id}"), guild),
    )

    def name(method: str, path: str) -> tuple[str, list[str]]:
        endpoint, values = found.find(method, path.split("/"))
        return endpoint.name, values

    assert name("GET", "users/@me") == ("me", [])
    assert name("GET", "users/5") == ("user", ["5"])
    assert name("GET", "users/somebody") == ("named", ["somebody"])
    assert name("GET", "users/5/guilds/x") == ("guild", ["5", "x"])
    with pytest.raises(errors.ApiError) as caught:
        name("GET", "users/@me/guilds/5")
    assert caught.value.kind is errors.NOT_FOUND
    with pytest.raises(MethodNotAllowed) as refused:
        name("PUT", "users/5")
    assert refused.value.allowed == ["GET"]


def test_two_handlers_in_one_place_are_a_mistake_at_startup() -> None:
    def one(call: Call, user_id: UserId) -> None: ...
    def two(call: Call, other_id: UserId) -> None: ...

    with pytest.raises(TypeError, match="twice"):
        table((Operation("GET", "/users/{user_id}"), one), (Operation("GET", "/users/{other_id}"), two))
