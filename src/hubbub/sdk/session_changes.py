"""Comparison of the cache before and after a new session, to emit the changes that the client missed.

The platform does not send events for changes between two sessions. The READY handler emits added and removed
lobbies itself.
"""

from collections.abc import Iterator
from typing import Any

from hubbub.sdk.cache import OFFLINE_STATUS, Cache, CachedLobby, CachedMember, CachedPresence, CachedRelationship
from hubbub.sdk.event_table import EmittedEvents


class CacheSnapshot:
    """Snapshot of the cache at the end of a session."""

    def __init__(self, cache: Cache) -> None:
        self.current_user_id = cache.current_user_id
        self._users = dict(cache.users)
        self._profiles = dict(cache.profiles)
        self._presences = dict(cache.presences)
        self._relationships = dict(cache.relationships)
        self._lobbies = dict(cache.lobbies)

    def changes(self, cache: Cache) -> EmittedEvents:
        """Yield the events for the differences between the snapshot and the cache of the new session.

        Friends who went offline are added to the cache as offline presences."""
        for user_id in self._presences.keys() - cache.presences.keys():
            if user_id != self.current_user_id and cache.is_friend(user_id):
                # READY contains only the presences of online users, so a friend without one is now offline.
                cache.presences[user_id] = CachedPresence()
        regrouped_user_ids = set(self._changed_relationships(cache))
        for user_id in self._changed_users(cache):
            yield "user_updated", user_id
            if cache.is_friend(user_id):
                regrouped_user_ids.add(user_id)
        yield from self._relationship_changes(cache)
        for user_id in sorted(regrouped_user_ids):
            yield "relationship_groups_updated", user_id
        for lobby_id, previous_lobby in self._lobbies.items():
            if (current_lobby := cache.lobbies.get(lobby_id)) is not None:
                yield from self._lobby_changes(previous_lobby, current_lobby)

    def _changed_users(self, cache: Cache) -> list[int]:
        """Return the IDs of the users whose fields, profiles or presence changed, except the presence of the current user."""
        changed_ids = {
            user_id for user_id, previous in self._users.items() if cache.users.get(user_id, previous) != previous
        }
        for user_id in self._profiles.keys() | cache.profiles.keys():
            if self._profiles.get(user_id, []) != cache.profiles.get(user_id, []):
                changed_ids.add(user_id)
        for user_id in self._presences.keys() | cache.presences.keys():
            if user_id != self.current_user_id and _visible_presence(self._presences.get(user_id)) != _visible_presence(
                cache.presences.get(user_id)
            ):
                changed_ids.add(user_id)
        return sorted(changed_ids)

    def _relationship_pairs(self, cache: Cache) -> Iterator[tuple[int, CachedRelationship, CachedRelationship]]:
        """Yield user IDs with the previous and the new relationship, which is empty if there is none."""
        no_relationship = CachedRelationship()
        for user_id in sorted(self._relationships.keys() | cache.relationships.keys()):
            yield (
                user_id,
                self._relationships.get(user_id, no_relationship),
                cache.relationships.get(user_id, no_relationship),
            )

    def _changed_relationships(self, cache: Cache) -> Iterator[int]:
        return (user_id for user_id, previous, current in self._relationship_pairs(cache) if previous != current)

    def _relationship_changes(self, cache: Cache) -> EmittedEvents:
        for user_id, previous, current in self._relationship_pairs(cache):
            for is_platform, previous_type, current_type in (
                (True, previous.platform, current.platform),
                (False, previous.game, current.game),
            ):
                if previous_type != current_type:
                    yield "relationship_created" if current_type else "relationship_deleted", user_id, is_platform

    def _lobby_changes(self, previous: CachedLobby, current: CachedLobby) -> EmittedEvents:
        if (previous.metadata, previous.flags, previous.linked_channel) != (
            current.metadata,
            current.flags,
            current.linked_channel,
        ):
            yield "lobby_updated", current.id
        for user_id in sorted((previous.members.keys() | current.members.keys()) - {self.current_user_id}):
            previous_member, current_member = previous.members.get(user_id), current.members.get(user_id)
            if current_member is None:
                yield "lobby_member_removed", current.id, user_id
            elif previous_member is None:
                yield "lobby_member_added", current.id, user_id
            elif _visible_member(previous_member) != _visible_member(current_member):
                yield "lobby_member_updated", current.id, user_id
        own_before, own_after = previous.members.get(self.current_user_id), current.members.get(self.current_user_id)
        # The connection state of the current user is ignored.
        if (
            own_before is not None
            and own_after is not None
            and (own_before.metadata, own_before.flags) != (own_after.metadata, own_after.flags)
        ):
            yield "lobby_member_updated", current.id, self.current_user_id


def _visible_presence(presence: CachedPresence | None) -> tuple[str, list[Any]]:
    """Return the fields of a presence that a game can read; a missing presence is offline."""
    return (OFFLINE_STATUS, []) if presence is None else (presence.status, presence.activities)


def _visible_member(member: CachedMember) -> tuple[Any, ...]:
    """Return the fields of a lobby member that a game can read."""
    return member.metadata, member.flags, bool(member.is_connected), member.additional_name
