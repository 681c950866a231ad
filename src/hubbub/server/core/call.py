"""What one request carries into an operation: who asks, when, why, and the transaction it runs in."""

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
"""What upper floors do when a lower one tells a fact, by the fact's type."""


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller. It is cached by token, so it holds only what ends with the token."""

    user_id: UserId
    kind: str
    """`bot`, `user` (a person's own token) or `bearer` (OAuth2)."""
    application_id: ApplicationId | None = None
    """The bot's application, or the one a bearer token was given to."""
    family_id: ApplicationId | None = None
    """The head of that application's family: its publisher's application, or itself."""
    application_flags: int = 0
    """The application's flags when the token was looked up: they decide privileged intents."""
    scopes: frozenset[str] = frozenset()
    token_id: int = 0
    obfuscates_channels: bool = False
    """The application's toggle "Private Channel Obfuscation": its bot opts in early (gateway.md 9)."""

    @property
    def is_bot(self) -> bool:
        """Whether this is an application's bot user."""
        return self.kind == "bot"


class Upload(msgspec.Struct, kw_only=True):
    """A file that came with the request. The door has already put it into the file store under `key`."""

    field: str
    """The part's name without its index: `files`, `file`, `target_users_file`."""
    index: int | None
    """The n of `files[n]`."""
    filename: str
    content_type: str
    size: int
    attachment_id: AttachmentId
    key: str
    data: bytes
    """The content, while the request lasts (the door bounds it)."""
    image: ImageData | None = None
    """The picture it is, written anew and kept under its hash, where the operation takes one (`Uploads.image`)."""


class Call:
    """One request inside its transaction. Operations read and write through `tx`, and ask nothing else for time or identity."""

    __slots__ = (
        "_actor",
        "access",
        "api_version",
        "config",
        "files",
        "headers",
        "ids",
        "intents",
        "ip",
        "listeners",
        "now",
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
    ) -> None:
        self.tx = tx
        self._actor = actor
        self.now = now
        """Unix milliseconds by the platform's clock; the same for the whole call."""
        self.ids = ids
        self.config = config
        self.presences = presences
        """Who is online, as this node knows it."""
        self.reason = reason
        """The audit log reason the caller gave."""
        self.files = files
        self.headers: Mapping[str, str] = headers or {}
        """Those headers of the request that the operation declares, where they were sent."""
        self.api_version = api_version
        self.ip = ip
        self.session_id = session_id
        """The gateway session that speaks, when one does."""
        self.intents = intents
        """That session's intents; people's sessions have all bits."""
        self.listeners: Listeners = listeners or {}
        self.access: dict[Any, Any] = {}
        """What `core.access` has already loaded for this call."""
        self.replies: list[tuple[Event[Any], Any]] = []
        """Events for the asking gateway session alone."""

    @property
    def actor(self) -> Actor:
        """The caller; an operation that admits nobody asks `find_actor`."""
        if self._actor is None:
            raise errors.UNAUTHORIZED()
        return self._actor

    @property
    def find_actor(self) -> Actor | None:
        """The caller, or None where the operation may be called without a token."""
        return self._actor

    @property
    def user_id(self) -> UserId:
        """The caller's user."""
        return self.actor.user_id

    def acting_as(self, actor: Actor) -> "Call":
        """The same request on behalf of somebody else: whoever brings a code does what its owner granted."""
        return Call(
            self.tx,
            actor=actor,
            now=self.now,
            ids=self.ids,
            config=self.config,
            presences=self.presences,
            api_version=self.api_version,
            ip=self.ip,
            listeners=self.listeners,
        )

    def tell(self, fact: object) -> None:
        """Say inside the transaction that something happened, so that upper floors can do their part of it (a ban that also
        removes messages)."""
        for listener in self.listeners.get(type(fact), ()):
            listener(self, fact)

    def new_id(self, kind: type[S]) -> S:
        """A fresh id of this moment."""
        return self.ids.new(kind)
