"""Comparison of the cache before and after a new session, to emit the changes that the client missed.

The platform does not send events for what happened between two sessions. The READY handler emits added and removed
lobbies itself.
"""

from collections.abc import Iterator
from typing import Any

from hubbub.sdk.cache import Cache, Lobby, Relation
from hubbub.sdk.payloads import MemberPayload, PresencePayload

Emits = Iterator[tuple[Any, ...]]


class Known:
    """Snapshot of the cache at the end of a session."""

    def __init__(self, cache: Cache) -> None:
        self.me = cache.me
        self._users = dict(cache.users)
        self._profiles = dict(cache.profiles)
        self._presences = dict(cache.presences)
        self._relations = dict(cache.relations)
        self._lobbies = dict(cache.lobbies)

    def news(self, cache: Cache) -> Emits:
        """Yield the events for the differences between the snapshot and the cache of the new session."""
        for who in self._presences.keys() - cache.presences.keys():
            if who != self.me and cache.is_friend(who):
                # READY contains only the presences of online users, so a friend without one is now offline.
                cache.presences[who] = PresencePayload(user_id=who)
        moved = set(self._regrouped(cache))
        for who in self._changed(cache):
            yield "user_updated", who
            if cache.is_friend(who):
                moved.add(who)
        yield from self._relationships(cache)
        for who in sorted(moved):
            yield "relationship_groups_updated", who
        for lobby_id, was in self._lobbies.items():
            if (now := cache.lobbies.get(lobby_id)) is not None:
                yield from self._lobby(was, now)

    def _changed(self, cache: Cache) -> list[int]:
        """Return the users whose data, profiles or presence changed; the current user's own presence is ignored."""
        changed = {who for who, was in self._users.items() if cache.users.get(who, was) != was}
        for who in self._profiles.keys() | cache.profiles.keys():
            if self._profiles.get(who, []) != cache.profiles.get(who, []):
                changed.add(who)
        for who in self._presences.keys() | cache.presences.keys():
            if who != self.me and _seen(self._presences.get(who)) != _seen(cache.presences.get(who)):
                changed.add(who)
        return sorted(changed)

    def _pairs(self, cache: Cache) -> Iterator[tuple[int, Relation, Relation]]:
        none = Relation()
        for who in sorted(self._relations.keys() | cache.relations.keys()):
            yield who, self._relations.get(who, none), cache.relations.get(who, none)

    def _regrouped(self, cache: Cache) -> Iterator[int]:
        return (who for who, was, now in self._pairs(cache) if was != now)

    def _relationships(self, cache: Cache) -> Emits:
        for who, was, now in self._pairs(cache):
            for platform, before, after in ((True, was.platform, now.platform), (False, was.game, now.game)):
                if before != after:
                    yield "relationship_created" if after else "relationship_deleted", who, platform

    def _lobby(self, was: Lobby, now: Lobby) -> Emits:
        if (was.metadata, was.flags, was.linked_channel) != (now.metadata, now.flags, now.linked_channel):
            yield "lobby_updated", now.id
        for who in sorted((was.members.keys() | now.members.keys()) - {self.me}):
            before, after = was.members.get(who), now.members.get(who)
            if after is None:
                yield "lobby_member_removed", now.id, who
            elif before is None:
                yield "lobby_member_added", now.id, who
            elif _shown(before) != _shown(after):
                yield "lobby_member_updated", now.id, who
        mine, still = was.members.get(self.me), now.members.get(self.me)
        # The connection state of the current user is ignored.
        if (
            mine is not None
            and still is not None
            and (mine.metadata or {}, mine.flags) != (still.metadata or {}, still.flags)
        ):
            yield "lobby_member_updated", now.id, self.me


def _seen(presence: PresencePayload | None) -> tuple[str, list[Any]]:
    return ("offline", []) if presence is None else (presence.status, presence.activities)


def _shown(member: MemberPayload) -> tuple[Any, ...]:
    return member.metadata or {}, member.flags, bool(member.connected), member.additional_name
