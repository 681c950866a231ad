"""Events as they leave a transaction: the payload, encoded once, and its audience."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.operation import Event

NODES_SUBJECT: Final = "nodes"
"""The bus subject for internal messages; every node subscribes to it."""
BROADCAST_SUBJECT: Final = "broadcast"
"""The bus subject for events to many users. Every node with sessions subscribes and picks the users connected to it."""
BROADCAST_USERS_MIN: Final = 17
"""Minimum number of users for which an event is published on the shared subject instead of one subject per user.

An event for fewer users is not sent to nodes without a session of these users."""


class GameFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions on the OAuth2 sessions of an audience, each of which belongs to a game or another application."""

    application_id: int | None = None
    """ID of the application whose sessions receive the event; None for all applications."""
    family_id: int | None = None
    """ID of the family of applications whose sessions receive the event; None for all families."""
    with_scope: str = ""
    """Scope that a session needs in addition to the scope that the event requires; empty for none."""
    without_scope: str = ""
    """Scope that a session must not have, because sessions with it receive the event in another form; empty for none."""
    families_by_user: dict[int, frozenset[int]] = {}
    """IDs of the families whose sessions receive the event, by ID of a user who muted the other families."""
    oauth2_only: bool = False
    """Whether only OAuth2 sessions receive the event: events inside a game are not sent to the chat client."""
    own_client_capability: int = 0
    """Capability without which a session of a user's own client does not receive the event; 0 for none."""


NO_FILTER: Final = GameFilter()
"""The filter that every OAuth2 session passes."""


class GuildAudience(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="g"):
    """The members of a guild who receive an event.

    The gateway filters them by each session's intents and permissions, and caches the result. OAuth2 sessions receive
    no events of guilds."""

    guild_id: int
    channel_id: int | None = None
    """ID of the channel in which a member needs VIEW_CHANNEL; for events of a thread, the ID of its parent channel.

    None for an event that does not depend on a channel."""
    permission: int = 0
    """Permission bits of which a member needs one, in the channel if it is given, otherwise in the guild; 0 for none."""
    members: frozenset[int] | None = None
    """IDs of the members of a private thread, who receive the event together with members with MANAGE_THREADS.

    None for an event that is not about a private thread."""
    users: frozenset[int] = frozenset()
    """IDs of the only members who receive the event; empty for all members."""
    voice_session_id: str = ""
    """ID, as voice states show it, of the only session of the members `users` that receives the event; empty for all."""
    hidden_channel_id: int | None = None
    """ID of a channel that recipients cannot view, such as the one that a user moved to: for them, the user has left voice."""
    excluded_user_id: int | None = None
    """ID of a user who never receives the event, such as the user whose presence it contains; None for no user."""
    intent_exempt_user_id: int | None = None
    """ID of a user who receives the event even without the intent; None for no user."""


class UserAudience(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="u"):
    """The users who receive an event outside a guild, in all their sessions unless a field restricts them."""

    users: frozenset[int] = frozenset()
    session_id: str | None = None
    """ID of the only session that receives the event; None for all sessions."""
    voice_session_id: str = ""
    """ID, as voice states show it, of the only session that receives the event; empty for all sessions."""
    shard_guild_id: int | None = None
    """ID of the guild whose shard receives the event; None for shard 0."""
    game_filter: GameFilter = NO_FILTER
    """Conditions on the OAuth2 sessions of the users."""

    @classmethod
    def of(
        cls,
        *users: int,
        session_id: str | None = None,
        voice_session_id: str = "",
        shard_guild_id: int | None = None,
        game_filter: GameFilter = NO_FILTER,
    ) -> "UserAudience":
        """Return the audience of these users; the other arguments are the fields that restrict it."""
        return cls(frozenset(users), session_id, voice_session_id, shard_guild_id, game_filter)


Audience: TypeAlias = GuildAudience | UserAudience
"""The recipients of an event."""
NO_SESSIONS: Final = UserAudience()
"""The audience of internal messages, which nodes receive and sessions do not."""


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
    """Users who receive the full body without the intent: the author, the bot of its application, and mentioned users."""
    partial_bodies: tuple[tuple[frozenset[int], bytes], ...] = ()
    """Bodies for users who, without the intent, may read only a part of the content, each with its users."""
    scope: str = ""
    """The scope that an OAuth2 session needs to receive the event; empty for none."""
    oauth2_bodies: dict[int, bytes] = {}
    """Bodies for OAuth2 sessions, if they differ, by the head of their application's family; key 0 is the default."""
    refresh: str = ""
    """The state that the gateway must reload before delivery: `guild`, `channels` or `member`; empty for none."""
    subject_id: int = 0
    """The ID of the channel, or of the member's user, that `refresh` refers to; 0 for none. It is not related to bus subjects."""
    origin: tuple[int, int] | None = None
    """The publisher and the number of the message that contained the event; None unless the bus received it from another process.

    Messages of a publisher arrive in the order of their numbers."""
    traceparent: str = ""
    """The W3C traceparent of the span that the next span of the event's trace follows; empty without a trace."""

    def body_without_intent(self, user_id: int) -> bytes:
        """Return the body for a user without the message content intent."""
        if self.redacted is None or user_id in self.unredacted_for:
            return self.body
        return next((body for users, body in self.partial_bodies if user_id in users), self.redacted)

    @property
    def subjects(self) -> list[str]:
        """The bus subjects to publish on."""
        audience = self.audience
        if isinstance(audience, GuildAudience):
            return [f"guild.{audience.guild_id}"]
        is_internal = self.event.startswith("_")
        if len(audience.users) >= BROADCAST_USERS_MIN and not is_internal:
            return [BROADCAST_SUBJECT]
        subjects = [f"user.{user}" for user in audience.users]
        if is_internal:
            # Internal messages are addressed to every node, whether or not the users are connected to it.
            subjects.append(NODES_SUBJECT)
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
    traceparent: str = "",
) -> Dispatch:
    """Encode an event for an audience. A payload of type bytes is encoded JSON already.

    The other arguments are the fields of `Dispatch` before encoding."""
    is_in_guild = isinstance(audience, GuildAudience)
    intents = event.intents if is_in_guild or event.dm_intents is None else event.dm_intents
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
        traceparent=traceparent,
    )
