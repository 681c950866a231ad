"""Events as they leave a transaction: the payload, encoded once, and its audience."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.operation import Event

BROADCAST_SUBJECT: Final = "broadcast"
"""The bus subject for events to many users. Every node with sessions subscribes and picks the users connected to it."""
BROADCAST_USERS_MIN: Final = 17
"""Number of users from which an event is published on the shared subject instead of one subject per user.

Below it, nodes that none of the users is connected to receive nothing."""


class Audience(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The recipients of an event.

    In a guild the gateway filters by each session's intents and permissions, and caches the result. Outside a guild the
    users are listed explicitly."""

    guild_id: int | None = None
    channel_id: int | None = None
    """Only members with VIEW_CHANNEL in this channel; for events of a thread, the thread's parent channel."""
    permission: int = 0
    """Only members with any of these permission bits, in the channel if one is given, otherwise in the guild."""
    members: frozenset[int] | None = None
    """The members of a private thread: only they and members with MANAGE_THREADS receive the event."""
    users: frozenset[int] = frozenset()
    """Outside a guild: exactly these users. In a guild, if not empty: only these members."""
    without_view_channel_id: int | None = None
    """Only members without VIEW_CHANNEL in this channel: for them a member who moved to the channel has left voice."""
    excluded_user_id: int | None = None
    """A user who never receives the event (users do not receive their own presence)."""
    intent_exempt_user_id: int | None = None
    """A user who receives the event even without the intent."""
    session_id: str | None = None
    """Only this session of the listed users."""
    voice_session_id: str = ""
    """Only the session of the listed users that voice states show under this ID."""
    shard_guild_id: int | None = None
    """Outside a guild: only sessions of the shard that this guild belongs to, instead of shard 0."""
    application_id: int | None = None
    """Of OAuth2 sessions, only those of this application."""
    family_id: int | None = None
    """Of OAuth2 sessions, only those of this family of applications."""
    without_scope: str = ""
    """Of OAuth2 sessions, only those without this scope; sessions with it receive the event in another form."""
    with_scope: str = ""
    """Of OAuth2 sessions, only those with this scope, in addition to the scope that the event requires."""
    families_by_user: dict[int, frozenset[int]] = {}
    """Of these users' OAuth2 sessions, only those of these families; other families were muted by the user."""
    oauth2_only: bool = False
    """Only OAuth2 sessions: events inside a game are not sent to the chat client."""

    @classmethod
    def guild(
        cls,
        guild_id: int,
        *,
        permission: int = 0,
        users: frozenset[int] = frozenset(),
        excluded_user_id: int | None = None,
        intent_exempt_user_id: int | None = None,
        voice_session_id: str = "",
    ) -> "Audience":
        """Return the audience of every session in the guild that has the intent."""
        return cls(
            guild_id=guild_id,
            permission=permission,
            users=users,
            excluded_user_id=excluded_user_id,
            intent_exempt_user_id=intent_exempt_user_id,
            voice_session_id=voice_session_id,
        )

    @classmethod
    def viewers(
        cls,
        guild_id: int,
        channel_id: int,
        *,
        permission: int = 0,
        members: frozenset[int] | None = None,
        users: frozenset[int] = frozenset(),
        excluded_user_id: int | None = None,
        intent_exempt_user_id: int | None = None,
        without_view_channel_id: int | None = None,
    ) -> "Audience":
        """Return the audience of every member who can view a guild channel."""
        return cls(
            guild_id=guild_id,
            channel_id=channel_id,
            permission=permission,
            members=members,
            users=users,
            excluded_user_id=excluded_user_id,
            intent_exempt_user_id=intent_exempt_user_id,
            without_view_channel_id=without_view_channel_id,
        )

    @classmethod
    def of_users(
        cls,
        *users: int,
        session_id: str | None = None,
        voice_session_id: str = "",
        shard_guild_id: int | None = None,
        application_id: int | None = None,
        family_id: int | None = None,
        families_by_user: dict[int, frozenset[int]] | None = None,
        with_scope: str = "",
        oauth2_only: bool = False,
    ) -> "Audience":
        """Return the audience of all sessions of these users."""
        return cls(
            users=frozenset(users),
            session_id=session_id,
            voice_session_id=voice_session_id,
            shard_guild_id=shard_guild_id,
            application_id=application_id,
            family_id=family_id,
            families_by_user=families_by_user or {},
            with_scope=with_scope,
            oauth2_only=oauth2_only,
        )


class Dispatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An encoded event, from the commit to the sessions; sent over the bus unchanged."""

    event: str
    body: bytes
    """The payload `d` as encoded JSON."""
    audience: Audience
    stamp: int = 0
    """The stamp of the transaction that emitted it; compared with a snapshot to skip events it already covers."""
    intents: int = 0
    """The intents of the event, of which a session needs one; 0 if it needs none."""
    redacted: bytes | None = None
    """The body for sessions without the message content intent, if it differs."""
    unredacted_for: frozenset[int] = frozenset()
    """Users who receive the full body without the intent: the author and mentioned users."""
    partial_bodies: tuple[tuple[frozenset[int], bytes], ...] = ()
    """Bodies for users who, without the intent, may read only a part of the content, each with its users."""
    scope: str = ""
    """The scope that an OAuth2 session needs to receive the event; empty for none."""
    oauth2_bodies: dict[int, bytes] = {}
    """Bodies for OAuth2 sessions, if they differ, by the head of their application's family; key 0 is the default."""
    refresh: str = ""
    """What the gateway must reload before delivery: `guild`, `channels`, `member`, `threads` or an empty string."""
    subject_id: int = 0
    """The ID that `refresh` refers to: the channel, or the member's user."""

    def body_without_intent(self, user_id: int) -> bytes:
        """Return the body for a user without the message content intent."""
        if self.redacted is None or user_id in self.unredacted_for:
            return self.body
        return next((body for users, body in self.partial_bodies if user_id in users), self.redacted)

    @property
    def subjects(self) -> list[str]:
        """The bus subjects to publish on."""
        if self.audience.guild_id is not None and not self.audience.session_id:
            return [f"guild.{self.audience.guild_id}"]
        if len(self.audience.users) >= BROADCAST_USERS_MIN and not self.event.startswith("_"):
            return [BROADCAST_SUBJECT]
        subjects = [f"user.{user}" for user in self.audience.users]
        if self.event.startswith("_"):
            # Internal messages are addressed to every node, whether or not the users are connected to it.
            subjects.append("nodes")
        return subjects


def dispatch(
    event: Event[Any],
    payload: Any,
    audience: Audience,
    *,
    redacted: Any = None,
    unredacted_for: frozenset[int] = frozenset(),
    partial_payloads: Iterable[tuple[frozenset[int], Any]] = (),
    oauth2_payloads: Mapping[int, Any] | None = None,
    refresh: str = "",
    subject_id: int = 0,
    stamp: int = 0,
) -> Dispatch:
    """Encode an event for an audience. A payload of type bytes is encoded JSON already.

    The other arguments are the fields of `Dispatch` before encoding."""
    in_guild = audience.guild_id is not None
    intents = event.intents if in_guild or event.dm_intents is None else event.dm_intents
    return Dispatch(
        event=event.name,
        body=payload if isinstance(payload, bytes) else codec.encode(payload),
        audience=audience,
        stamp=stamp,
        intents=intents,
        redacted=None if redacted is None else codec.encode(redacted),
        unredacted_for=unredacted_for,
        partial_bodies=tuple((users, codec.encode(body)) for users, body in partial_payloads)
        if partial_payloads
        else (),
        scope=event.scope,
        oauth2_bodies={family: codec.encode(body) for family, body in oauth2_payloads.items()}
        if oauth2_payloads
        else {},
        refresh=refresh,
        subject_id=subject_id,
    )
