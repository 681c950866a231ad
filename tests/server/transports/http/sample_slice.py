"""A small slice with operations of many kinds, for tests of the HTTP server."""

from datetime import datetime
from enum import IntEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, RoleId, Snowflake, UserId, WebhookId
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.server.core import auth
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.core.rejections import RejectedWithSideEffects
from hubbub.server.core.slices import Response, handles

HIGH_LIMIT = RateLimit(1000, 1.0)


class Color(IntEnum):
    """An integer enum as a field type."""

    RED = 1
    BLUE = 2


class Field(Struct, kw_only=True):
    """A struct two levels below a toy."""

    name: Annotated[str, Meta(min_length=1, max_length=8)]
    value: Annotated[str, Meta(max_length=8)] = ""


class Embed(Struct, kw_only=True):
    """A struct inside a toy; `timestamp` accepts null."""

    title: Annotated[str, Meta(max_length=8)] | UnsetType = UNSET
    fields: Annotated[list[Field], Meta(max_length=2)] = []
    timestamp: datetime | None = None


class Button(Struct, tag_field="type", tag=2, kw_only=True):
    """A component of a tagged union."""

    label: str


class Row(Struct, tag_field="type", tag=1, kw_only=True):
    """A component of a tagged union that contains other components."""

    components: "list[Row | Button]"


class Toy(Struct, kw_only=True):
    """A body with many types of fields; fields that can be None accept null."""

    content: Annotated[str, Meta(max_length=10)]
    tts: bool = False
    color: Color | None = None
    ratio: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    position: Annotated[int, Meta(ge=0, le=100)] | UnsetType = UNSET
    size: int = 0
    channel_id: ChannelId | None = None
    allow: Permissions | UnsetType = UNSET
    roles: list[RoleId] = []
    embeds: list[Embed] = []
    components: list[Row | Button] = []
    labels: dict[str, int] = {}
    code: Annotated[str, Meta(pattern="^[a-z]+$")] | UnsetType = UNSET
    anything: Any = None
    until: datetime | None = None


class Search(Struct, kw_only=True):
    """Query parameters of many types."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    before: MessageId | UnsetType = UNSET
    exact: bool = False
    color: Color | UnsetType = UNSET
    author: list[UserId] = []
    roles: Annotated[list[RoleId], Meta(extra={"comma": True})] = []
    since: datetime | UnsetType = UNSET
    text: str = ""


class Grant(Struct, kw_only=True):
    """A form body."""

    grant_type: str
    code: str | UnsetType = UNSET


class Echo(Struct, kw_only=True):
    """The request as the handler received it."""

    received: Any = None
    reason: str | None = None
    """Audit log reason; None without the header."""
    files: list[dict[str, Any]] = []
    user_id: UserId | None = None
    """ID of the caller; None without a token."""
    version: int = 10


EMPTY = Operation("GET", "/empty", result=Echo, auth=Auth.ANONYMOUS, limit=None)
CREATE_TOY = Operation(
    "POST", "/channels/{channel_id}/toys", body=Toy, result=Echo, limit=HIGH_LIMIT, uploads=Uploads(files_max=2)
)
CREATE_TOYS = Operation("PUT", "/toys", body=list[Toy], result=Echo, limit=HIGH_LIMIT)
SEARCH_TOYS = Operation("GET", "/channels/{channel_id}/toys", query=Search, result=Echo, limit=HIGH_LIMIT)
GET_ME = Operation("GET", "/users/@me", result=Echo, limit=HIGH_LIMIT)
GET_USER = Operation("GET", "/users/{user_id}", result=Echo, limit=HIGH_LIMIT)
DELETE_USER = Operation("DELETE", "/users/{user_id}", limit=HIGH_LIMIT)
LIMITED = Operation("GET", "/guilds/{guild_id}/limited", result=Echo, limit=RateLimit(2, 5.0))
LIMITED_WITH_CODE = Operation(
    "GET", "/guilds/{guild_id}/coded", result=Echo, limit=RateLimit(0, 5.0, code=errors.CHANNEL_WRITE_RATE_LIMIT)
)
GUARDED = Operation("PATCH", "/guilds/{guild_id}/guarded", needs=Permissions.MANAGE_GUILD, limit=HIGH_LIMIT)
EXCHANGE_CODE = Operation("POST", "/token", body=Grant, result=Echo, is_form=True, auth=Auth.NONE, limit=None)
EXECUTE = Operation(
    "POST", "/webhooks/{webhook_id}/{webhook_token}", result=Echo, auth=Auth.NONE, limit=RateLimit(2, 5.0)
)
BOTS_ONLY = Operation("GET", "/bots-only", result=Echo, auth=Auth.BOT, limit=HIGH_LIMIT)
USERS_ONLY = Operation("GET", "/users-only", result=Echo, auth=Auth.USER, limit=HIGH_LIMIT)
SCOPED = Operation(
    "GET", "/scoped", result=Echo, auth=Auth.BOT | Auth.BEARER, scopes=("identify", "email"), limit=HIGH_LIMIT
)
REACT = Operation("PUT", "/messages/{message_id}/reactions/{emoji}", result=Echo, limit=HIGH_LIMIT)
INTERNAL_ERROR = Operation("GET", "/internal-error", result=Echo, limit=HIGH_LIMIT)
STATUS = Operation("POST", "/created", result=Echo, limit=HIGH_LIMIT)
NO_RESULT = Operation("POST", "/no-result", limit=HIGH_LIMIT)
PICTURE = Operation("GET", "/picture.png", result=bytes, media_type="image/png", auth=Auth.ANONYMOUS, limit=None)
ASYNC = Operation("POST", "/async", result=Echo, limit=HIGH_LIMIT)
OPTIONAL = Operation("POST", "/optional", body=Search, optional_body=True, result=Echo, limit=HIGH_LIMIT)
FAIL_UPLOAD = Operation("POST", "/upload-and-fail", body=Toy, uploads=Uploads(), limit=HIGH_LIMIT)
READ_UPLOAD = Operation(
    "POST",
    "/read-upload",
    uploads=Uploads(field="table", files_max=1, stores_files=False),
    result=Echo,
    limit=HIGH_LIMIT,
)
SLOW = Operation("GET", "/slow", result=Echo, limit=HIGH_LIMIT)
REJECT = Operation("POST", "/reject", auth=Auth.ANONYMOUS, limit=HIGH_LIMIT)
REJECT_ASYNC = Operation("POST", "/reject-async", auth=Auth.ANONYMOUS, limit=HIGH_LIMIT)
WRITING_GET = Operation("GET", "/writing", result=Echo, limit=HIGH_LIMIT)
REFRESH = Operation("POST", "/refresh", limit=HIGH_LIMIT)
REVOKE = Operation("POST", "/revoke", limit=HIGH_LIMIT)
PUBLISH = Operation("POST", "/publish", limit=HIGH_LIMIT)


def _echo(call: Call, received: Any = None) -> Echo:
    """Return the request of a call, with the value that the handler received."""
    return Echo(
        received=received,
        reason=call.reason,
        files=[
            {
                "field": file.field,
                "index": file.index,
                "filename": file.filename,
                "type": file.content_type,
                "size": file.size,
                "key": file.key,
            }
            for file in call.files
        ],
        user_id=None if call.actor_or_none is None else call.actor_or_none.user_id,
        version=call.api_version,
    )


@handles(EMPTY)
def empty(call: Call) -> Echo:
    return Echo()


@handles(CREATE_TOY)
def create_toy(call: Call, channel_id: ChannelId, body: Toy) -> Echo:
    return _echo(call, body)


@handles(CREATE_TOYS)
def create_toys(call: Call, body: list[Toy]) -> Echo:
    return _echo(call, len(body))


@handles(SEARCH_TOYS)
def search_toys(call: Call, query: Search, channel_id: ChannelId) -> Echo:
    return _echo(call, query)


@handles(GET_ME)
def get_me(call: Call) -> Echo:
    return _echo(call, "me")


@handles(GET_USER)
def get_user(call: Call, user_id: UserId) -> Echo:
    return _echo(call, user_id)


@handles(DELETE_USER)
def delete_user(call: Call, user_id: UserId) -> None:
    return None


@handles(LIMITED)
def limited(call: Call, guild_id: GuildId) -> Echo:
    return _echo(call)


@handles(LIMITED_WITH_CODE)
def limited_with_code(call: Call, guild_id: GuildId) -> Echo:
    return _echo(call)


@handles(GUARDED)
def guarded(call: Call, guild_id: GuildId) -> None:
    return None


@handles(EXCHANGE_CODE)
def exchange_code(call: Call, body: Grant) -> Echo:
    return _echo(call, body)


@handles(EXECUTE)
def execute(call: Call, webhook_id: WebhookId, webhook_token: str) -> Echo:
    return _echo(call, webhook_token)


@handles(BOTS_ONLY)
def bots_only(call: Call) -> Echo:
    return _echo(call)


@handles(USERS_ONLY)
def users_only(call: Call) -> Echo:
    return _echo(call)


@handles(SCOPED)
def scoped(call: Call) -> Echo:
    return _echo(call)


@handles(REACT)
def react(call: Call, message_id: Snowflake, emoji: str) -> Echo:
    return _echo(call, emoji)


@handles(INTERNAL_ERROR)
def internal_error(call: Call) -> Echo:
    raise KeyError("an internal error")


@handles(STATUS)
def created(call: Call) -> Response:
    return Response(201, _echo(call), {"X-Toy": "yes"})


@handles(NO_RESULT)
def no_result(call: Call) -> None:
    return None


@handles(PICTURE)
def picture(call: Call) -> bytes:
    return b"\x89PNG"


@handles(ASYNC)
async def run_async(operation: AsyncOperation) -> Echo:
    total = await operation.run_in_thread(sum, [1, 2, 3])
    return await operation.read(lambda call: _echo(call, total))


@handles(OPTIONAL)
def optional(call: Call, body: Search) -> Echo:
    return _echo(call, body.limit)


@handles(FAIL_UPLOAD)
def fail_upload(call: Call, body: Toy) -> None:
    raise errors.INVALID_FILE()


@handles(READ_UPLOAD)
def read_upload(call: Call) -> Echo:
    return _echo(call, [file.data.decode() for file in call.files])


@handles(SLOW)
def slow(call: Call) -> Echo:
    raise errors.SLOWMODE_RATE_LIMIT(retry_after=1.2)


@handles(WRITING_GET, writes=True)
def writing_get(call: Call) -> Echo:
    call.tx.run("CREATE TABLE IF NOT EXISTS toys (id BIGINT)")
    return _echo(call, call.tx.run("INSERT INTO toys (id) VALUES (1)"))


@handles(REFRESH)
def refresh(call: Call) -> None:
    call.tx.emit(Event("TOY_UPDATE", dict), {}, GuildAudience(1), refresh="guild")


@handles(REVOKE)
def revoke(call: Call) -> None:
    auth.publish_actor_changed(call.tx, 1)


@handles(PUBLISH)
def publish(call: Call) -> None:
    call.tx.emit(Event("TOY_CREATE", dict), {}, GuildAudience(1))


def _reject_with_side_effect(call: Call) -> None:
    """Write a row, then reject the call with a side effect that writes another row."""

    def write_side_effect(later_call: Call) -> None:
        later_call.tx.run("INSERT INTO meta (name, value) VALUES ('side effect', ?)", str(later_call.now_ms))

    call.tx.run("INSERT INTO meta (name, value) VALUES ('rolled back', 'x')")
    raise RejectedWithSideEffects(errors.AUTO_MODERATION_BLOCKED_MESSAGE, write_side_effect, message="No.")


@handles(REJECT)
def reject(call: Call) -> None:
    _reject_with_side_effect(call)


@handles(REJECT_ASYNC)
async def reject_async(operation: AsyncOperation) -> None:
    await operation.write(_reject_with_side_effect)
