"""The context of one request: the caller, uploaded files, the time, the request's metadata and the transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, AttachmentId, Snowflake, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Event
from hubbub.server.core.config import Config
from hubbub.server.core.presences import Presences
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Tx

S = TypeVar("S", bound=Snowflake)

Listeners = Mapping[type, Sequence[Callable[["Call", Any], None]]]
"""Signal listeners of all slices, by signal type."""

Ports = Mapping[object, Sequence[Callable[..., Any]]]
"""Implementations by port (`core.ports`)."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller. Actors are cached by token; a change of a field must be published as ACTOR_CHANGED."""

    user_id: UserId
    kind: str
    """`bot`, `user` (the user's own token) or `bearer` (OAuth2)."""
    application_id: ApplicationId | None = None
    """The bot's application, or the application that the bearer token was issued to; None for a user's own token."""
    family_id: ApplicationId | None = None
    """The head of the application's family: its publisher's application, or the application itself; or None."""
    application_flags: int = 0
    """The application's flags when the token was looked up; they decide which privileged intents are allowed."""
    scopes: frozenset[str] = frozenset()
    token_id: int = 0
    obfuscates_channels: bool = False
    """Whether the application opted in early to "Private Channel Obfuscation" (spec/gateway.md#9)."""

    @property
    def is_bot(self) -> bool:
        """Whether the caller is an application's bot user."""
        return self.kind == "bot"


class Upload(msgspec.Struct, kw_only=True):
    """An uploaded file. If `key` is not empty, the HTTP server has stored it in the file store; `size` is in bytes."""

    field: str
    """The form field's name without its index, such as `files` or `target_users_file`."""
    index: int | None
    """The n of `files[n]`, or None for a field without an index."""
    filename: str
    content_type: str
    size: int
    attachment_id: AttachmentId
    key: str
    """The key in the file store; empty if the operation does not store files (`operation.Uploads.stores_files`)."""
    data: bytes
    """The content; the HTTP server limits its size."""
    image: ImageData | None = None
    """The re-encoded image, stored under its hash, for operations that accept an image (`operation.Uploads.image`).

    None for other operations, and for a file that is not such an image."""


class Call:
    """One request inside its transaction. Handlers take the time and the caller's identity only from the call."""

    __slots__ = (
        "_actor",
        "standing_cache",
        "api_version",
        "config",
        "files",
        "further_reads",
        "headers",
        "ids",
        "intents",
        "ip",
        "listeners",
        "now_ms",
        "ports",
        "presences",
        "reason",
        "replies",
        "session_id",
        "tx",
    )

    def __init__(
        self,
        tx: Tx,
        *,
        actor: Actor | None,
        now: int,
        ids: SnowflakeFactory,
        config: Config,
        presences: Presences,
        reason: str | None = None,
        files: Sequence[Upload] = (),
        headers: Mapping[str, str] | None = None,
        api_version: int = 10,
        ip: str = "",
        session_id: str = "",
        intents: int = 0,
        listeners: Listeners | None = None,
        ports: Ports | None = None,
    ) -> None:
        self.tx = tx
        self._actor = actor
        self.now_ms = now
        """The time of the platform clock in Unix milliseconds; constant during the call."""
        self.ids = ids
        self.config = config
        self.presences = presences
        """The users' online status, as known by this node."""
        self.reason = reason
        """The audit log reason from the request, or None."""
        self.files = files
        """The uploaded files of a multipart request."""
        self.headers: Mapping[str, str] = headers or {}
        """The request headers that the operation declares, if they were sent."""
        self.api_version = api_version
        self.ip = ip
        """The client's IP address; empty for gateway commands and jobs."""
        self.session_id = session_id
        """The gateway session that sent the command; empty for other requests."""
        self.intents = intents
        """The intents of the gateway session that sent the command; users' own sessions have all bits set."""
        self.listeners: Listeners = listeners or {}
        """Signal listeners, which `notify` calls."""
        self.ports: Ports = ports or {}
        """Implementations of the ports, which `core.ports.Port` calls."""
        self.standing_cache: dict[Any, Any] = {}
        """Cache of the standings that permission checks loaded during this call."""
        self.replies: list[tuple[Event[Any], Any]] = []
        """Events to send only to the gateway session that sent the command."""
        self.further_reads: list[Callable[[Call], None]] = []
        """Functions that read more replies of a gateway command, each in a transaction of its own after these were sent."""

    @property
    def actor(self) -> Actor:
        """Return the caller, or raise UNAUTHORIZED; operations that work without a token use `actor_or_none`."""
        if self._actor is None:
            raise errors.UNAUTHORIZED()
        return self._actor

    @property
    def actor_or_none(self) -> Actor | None:
        """The caller; None for a request without a token, a job and the command line."""
        return self._actor

    @property
    def user_id(self) -> UserId:
        """The caller's user ID. Raise UNAUTHORIZED for a request without a token."""
        if self._actor is None:
            raise errors.UNAUTHORIZED()
        return self._actor.user_id

    @property
    def user_id_or_none(self) -> UserId | None:
        """The caller's user ID; None for a request without a token, a job and the command line."""
        return None if self._actor is None else self._actor.user_id

    def acting_as(self, actor: Actor) -> "Call":
        """Return a call in the same transaction with another caller, for example the owner of an authorization code.

        The new call has no reason, files, headers or gateway session."""
        return Call(
            self.tx,
            actor=actor,
            now=self.now_ms,
            ids=self.ids,
            config=self.config,
            presences=self.presences,
            api_version=self.api_version,
            ip=self.ip,
            listeners=self.listeners,
            ports=self.ports,
        )

    def notify(self, signal: object) -> None:
        """Run the listeners of a signal in this transaction; higher tiers can react (a ban also deletes messages).

        A signal is a fact and has no result. To get a result or a decision from a higher tier, call a port."""
        for listener in self.listeners.get(type(signal), ()):
            listener(self, signal)

    def new_id(self, class_: type[S]) -> S:
        """Return a new ID with the current timestamp."""
        return self.ids.new(class_)
