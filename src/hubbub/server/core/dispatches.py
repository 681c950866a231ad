"""What leaves a transaction: an event, encoded once, and who may hear it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from hubbub.protocol import wire
from hubbub.protocol.operation import Event

CROWD: Final = "crowd"
"""The bus subject of what is told to many users at once; every node with sessions listens, and finds those who are there."""
CROWD_LEAST: Final = 17
"""So many users are told at once. Fewer are told one by one, so that nodes where none of them is hear nothing of it."""


class Audience(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who hears an event. In a guild the gateway checks intents and permissions of each session once and remembers the answer;
    outside a guild the users are named."""

    guild_id: int | None = None
    channel_id: int | None = None
    """Only those who hold VIEW_CHANNEL here. For a thread this is its parent."""
    permission: int = 0
    """Only those who hold any of these bits, in the channel if one is named, else in the guild."""
    members: frozenset[int] | None = None
    """A private thread's members: only they, and holders of MANAGE_THREADS, hear it."""
    users: frozenset[int] = frozenset()
    """Outside a guild: exactly these. In a guild, when not empty: only these of its members."""
    blind_to: int | None = None
    """Only those who do not hold VIEW_CHANNEL here: somebody who moves on leaves, for those who cannot see where to."""
    excluded: int | None = None
    """Never this user (a presence is not told to its owner)."""
    always: int | None = None
    """This user hears it even without the intent."""
    session_id: str | None = None
    """Only this session of the users named."""
    voice_session: str = ""
    """Of the users named only the session that voice states show by this id."""
    shard_of: int | None = None
    """Outside a guild: by the sessions of the shard that this guild belongs to, rather than of shard 0."""
    application_id: int | None = None
    """Of OAuth2 sessions only those of this application."""
    family_id: int | None = None
    """Of OAuth2 sessions only those of this family of applications."""
    lacking: str = ""
    """Of OAuth2 sessions only those that were not granted this scope: they hear the same in another form."""
    granted: str = ""
    """Of OAuth2 sessions only those that were granted this scope, besides what the event itself needs."""
    games_of: dict[int, frozenset[int]] = {}
    """Of these users' OAuth2 sessions only those of these families: they want to hear less in games."""
    games_only: bool = False
    """Only OAuth2 sessions: what happens inside a game is not shown in the chat client."""

    @classmethod
    def guild(cls, guild_id: int, **more: Any) -> "Audience":
        """Every session in the guild that has the intent."""
        return cls(guild_id=guild_id, **more)

    @classmethod
    def viewers(cls, guild_id: int, channel_id: int, **more: Any) -> "Audience":
        """Those who can see a guild channel."""
        return cls(guild_id=guild_id, channel_id=channel_id, **more)

    @classmethod
    def of_users(cls, *users: int, **more: Any) -> "Audience":
        """These users, wherever they are connected."""
        return cls(users=frozenset(users), **more)


class Dispatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An encoded event on its way from a commit to the sessions. It crosses the bus as it is."""

    event: str
    body: bytes
    """The payload `d`, JSON, encoded where it was made."""
    audience: Audience
    stamp: int = 0
    """The transaction it came from; a snapshot can tell whether it already covers it."""
    intents: int = 0
    redacted: bytes | None = None
    """The body for sessions without the message content intent, where it differs."""
    unredacted_for: frozenset[int] = frozenset()
    """Users who get the full body anyway: the author, and those the message mentions."""
    partly: tuple[tuple[frozenset[int], bytes], ...] = ()
    """Users without the intent who may read one part and not another, and the body for them."""
    scope: str = ""
    """What an OAuth2 session must have been granted to hear it."""
    games: dict[int, bytes] = {}
    """The body for OAuth2 sessions, where it differs: by the head of their family, or under 0 for all others."""
    refresh: str = ""
    """What the gateway must read again before it delivers this: `guild`, `channels`, `member`, `threads` or nothing."""
    subject_id: int = 0
    """The id of what `refresh` is about: the channel, or the member's user."""

    def body_without_intent(self, user_id: int) -> bytes:
        """What a user hears who may not read whatever is said."""
        if self.redacted is None or user_id in self.unredacted_for:
            return self.body
        return next((body for users, body in self.partly if user_id in users), self.redacted)

    @property
    def subjects(self) -> list[str]:
        """The bus subjects this travels on."""
        if self.audience.guild_id is not None and not self.audience.session_id:
            return [f"guild.{self.audience.guild_id}"]
        if len(self.audience.users) >= CROWD_LEAST and not self.event.startswith("_"):
            return [CROWD]
        subjects = [f"user.{user}" for user in self.audience.users]
        if self.event.startswith("_"):
            # Internal words concern every node, connected or not.
            subjects.append("nodes")
        return subjects


def dispatch(
    event: Event[Any],
    payload: Any,
    audience: Audience,
    *,
    redacted: Any = None,
    unredacted_for: frozenset[int] = frozenset(),
    partly: Iterable[tuple[frozenset[int], Any]] = (),
    games: Mapping[int, Any] | None = None,
    refresh: str = "",
    subject_id: int = 0,
    stamp: int = 0,
) -> Dispatch:
    """Encode an event for its audience."""
    in_guild = audience.guild_id is not None
    intents = event.intents if in_guild or event.dm_intents is None else event.dm_intents
    return Dispatch(
        event=event.name,
        body=payload if isinstance(payload, bytes) else wire.encode(payload),
        audience=audience,
        stamp=stamp,
        intents=intents,
        redacted=None if redacted is None else wire.encode(redacted),
        unredacted_for=unredacted_for,
        partly=tuple((users, wire.encode(body)) for users, body in partly) if partly else (),
        scope=event.scope,
        games={family: wire.encode(body) for family, body in games.items()} if games else {},
        refresh=refresh,
        subject_id=subject_id,
    )
