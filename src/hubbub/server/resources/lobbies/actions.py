"""Lobbies come and go, and people in them: write, and tell those who play. `saying` and `linking` do the rest."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import LobbyId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import lobbies as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import applications, channels, game_sessions, identities, users
from hubbub.server.resources.game_sessions import GameSessionBegan, GameSessionEnded
from hubbub.server.resources.lobbies import rules, store, views
from hubbub.server.resources.lobbies.facts import LobbyMembersLeave
from hubbub.server.resources.lobbies.store import LobbyRow, MemberRow, text

EXPIRE: Final = "lobbies.expire"


class Idle(msgspec.Struct):
    """What the job that ends an idle lobby knows."""

    lobby_id: int
    idle_ms: int
    """Since when it was idle: somebody may have come and gone meanwhile."""


# Lobbies


def create(call: Call, application_id: int, lobby_id: LobbyId | None = None, **traits: Any) -> LobbyRow:
    """A new lobby with nobody in it, idle from now on, under an id of the caller's choice if given."""
    row = LobbyRow(id=lobby_id or call.new_id(LobbyId), application_id=application_id, idle_ms=call.now, **traits)
    store.insert(call.tx, row)
    _expire_later(call, row)
    return row


def change(call: Call, before: LobbyRow, after: LobbyRow) -> LobbyRow:
    """Keep a lobby's new traits, and tell who is in it."""
    if after == before:
        return after
    store.update(call.tx, after)
    if after.idle_timeout_seconds != before.idle_timeout_seconds or after.linked_channel_id != before.linked_channel_id:
        _expire_later(call, after)
    tell_updated(call, after)
    return after


def tell_updated(call: Call, row: LobbyRow) -> None:
    """Tell players what a lobby is like now."""
    (shown,) = views.gateway_lobbies(call.tx, (row,))
    tell(call, row, wire.LOBBY_UPDATE, shown, store.member_ids(call.tx, row.id))


def delete(call: Call, row: LobbyRow) -> None:
    """A lobby is no more: its backend removed it, or nobody came back in time."""
    if row.linked_channel_id is not None:
        channels.link_lobby(call, row.linked_channel_id, None)
    inside = store.member_ids(call.tx, row.id)
    call.tell(LobbyMembersLeave(lobby=row, user_ids=tuple(inside), ended=True))
    store.delete(call.tx, row.id)
    jobs.cancel(call.tx, EXPIRE, _key(row.id))
    tell(call, row, wire.LOBBY_DELETE, wire.LobbyDeleted(id=LobbyId(row.id), reason="deleted"), inside)


def tell(call: Call, row: LobbyRow, event: Event[Any], payload: Any, user_ids: Iterable[int]) -> None:
    """Tell some players of the lobby's game."""
    to = frozenset(user_ids)
    if to:
        audience = Audience(users=to, application_id=row.application_id, games_only=True)
        call.tx.emit(event, payload, audience)


# Who is in it


def put(
    call: Call, row: LobbyRow, wanted: Sequence[MemberRow] = (), removed: Iterable[int] = ()
) -> dict[int, MemberRow]:
    """Let these be in a lobby, as they say, and those no longer; who is in it now."""
    before = {each.user_id: each for each in store.members(call.tx, row.id)}
    gone = [before[user_id] for user_id in removed if user_id in before]
    added = [each for each in wanted if each.user_id not in before]
    changed = [each for each in wanted if each.user_id in before and each != before[each.user_id]]
    after = {user_id: each for user_id, each in before.items() if all(user_id != out.user_id for out in gone)}
    after |= {each.user_id: each for each in (*added, *changed)}
    if len(after) > max(wire.LOBBY_MEMBERS_MAX, len(before)):
        raise errors.MAX_LOBBY_MEMBERS()
    if gone:
        call.tell(LobbyMembersLeave(lobby=row, user_ids=tuple(each.user_id for each in gone)))
    farewells = views.member_changes(call.tx, row, gone)
    for each in gone:
        store.delete_member(call.tx, row.id, each.user_id)
    for each in (*added, *changed):
        store.put_member(call.tx, each)
    staying = [user_id for user_id in before if user_id in after]
    for each in gone:
        if each.user_id in farewells:
            tell(call, row, wire.LOBBY_MEMBER_REMOVE, farewells[each.user_id], staying)
    removal = wire.LobbyDeleted(id=LobbyId(row.id), reason="removed")
    tell(call, row, wire.LOBBY_DELETE, removal, (each.user_id for each in gone))
    news = views.member_changes(call.tx, row, (*added, *changed), profiled=bool(added))
    for each in added:
        tell(call, row, wire.LOBBY_MEMBER_ADD, news[each.user_id], staying)
    for each in changed:
        tell(call, row, wire.LOBBY_MEMBER_UPDATE, news[each.user_id], after)
    if added or gone:
        row = _watch(call, row)
    if added:
        (shown,) = views.gateway_lobbies(call.tx, (row,), profiled=True)
        tell(call, row, wire.LOBBY_CREATE, shown, (each.user_id for each in added))
    return after


def member_row(
    call: Call,
    row: LobbyRow,
    user_id: int,
    known: MemberRow | None,
    *,
    metadata: dict[str, str] | None | UnsetType = UNSET,
    flags: int | None | UnsetType = UNSET,
    additional_name: str | None | UnsetType = UNSET,
) -> MemberRow:
    """A membership after what a body says of it; absent keeps what was."""
    made = known or MemberRow(row.id, user_id, row.application_id)
    if metadata is not UNSET:
        made = made._replace(metadata=text(metadata))
    if isinstance(flags, int):
        made = made._replace(flags=flags)
    if additional_name is not UNSET:
        made = made._replace(additional_name=additional_name)
    return made


def admissible(call: Call, row: LobbyRow, user_ids: Sequence[int]) -> tuple[set[int], set[int]]:
    """Which of these users may be put into a lobby, and which of them have no room for another; unknown ones raise."""
    people = users.find_many(call.tx, user_ids)
    if len(people) < len(set(user_ids)):
        raise errors.UNKNOWN_USER()
    allowed = rules.players_among(call.tx, row.application_id, people.values())
    counted = store.count_lobbies(call.tx, row.application_id, allowed)
    return allowed, {user_id for user_id, count in counted.items() if count >= wire.LOBBIES_PER_USER_MAX}


# Idle lobbies end by themselves


def _watch(call: Call, row: LobbyRow) -> LobbyRow:
    """Note whether anybody is connected after members came or went."""
    present = game_sessions.connected(call.tx, row.application_id, store.member_ids(call.tx, row.id))
    if present and row.idle_ms is not None:
        return _wake(call, (row,))[0]
    if not present and row.idle_ms is None:
        return _rest(call, (row,))[0]
    return row


def _wake(call: Call, rows: Sequence[LobbyRow]) -> list[LobbyRow]:
    store.set_idle(call.tx, [row.id for row in rows], None)
    for row in rows:
        jobs.cancel(call.tx, EXPIRE, _key(row.id))
    return [row._replace(idle_ms=None) for row in rows]


def _rest(call: Call, rows: Sequence[LobbyRow]) -> list[LobbyRow]:
    store.set_idle(call.tx, [row.id for row in rows], call.now)
    resting = [row._replace(idle_ms=call.now) for row in rows]
    for row in resting:
        _expire_later(call, row)
    return resting


def _expire_later(call: Call, row: LobbyRow) -> None:
    """Have a lobby ended when it will have been idle for long enough; a linked one never is (sdk.md 12.4)."""
    jobs.cancel(call.tx, EXPIRE, _key(row.id))
    if row.idle_ms is not None and row.linked_channel_id is None:
        due_ms = row.idle_ms + row.idle_timeout_seconds * 1000
        call.tx.enqueue(EXPIRE, Idle(int(row.id), row.idle_ms), due_ms=due_ms, key=_key(row.id))


def expire(call: Call, idle: Idle) -> None:
    """End a lobby that is idle since then, unless somebody came or a channel was linked."""
    row = store.find(call.tx, idle.lobby_id)
    if row is not None and row.idle_ms == idle.idle_ms and row.linked_channel_id is None:
        delete(call, row)


def _key(lobby_id: int) -> str:
    return f"{EXPIRE}:{int(lobby_id)}"


def player_came(call: Call, fact: GameSessionBegan) -> None:
    """A player connects: every lobby of theirs in this game has them, and is not idle."""
    rows = store.list_of_user(call.tx, fact.application_id, fact.user_id)
    if idle := [row for row in rows if row.idle_ms is not None]:
        _wake(call, idle)
    if fact.first:
        _tell_connection(call, rows, fact.user_id, wire.LOBBY_MEMBER_CONNECT)


def player_went(call: Call, fact: GameSessionEnded) -> None:
    """A player's last session in a game is over: they stay members, and a lobby with nobody left rests."""
    if not fact.last:
        return
    rows = store.list_of_user(call.tx, fact.application_id, fact.user_id)
    if not rows:
        return
    inside = _tell_connection(call, rows, fact.user_id, wire.LOBBY_MEMBER_DISCONNECT)
    present = game_sessions.connected(
        call.tx, fact.application_id, {each.user_id for members in inside.values() for each in members}
    )
    empty = [row for row in rows if not any(each.user_id in present for each in inside[row.id])]
    if empty:
        _rest(call, empty)


def _tell_connection(
    call: Call, rows: Sequence[LobbyRow], user_id: int, event: Event[Any]
) -> dict[int, list[MemberRow]]:
    inside = store.members_of(call.tx, [row.id for row in rows])
    mine = [each for row in rows for each in inside[row.id] if each.user_id == user_id]
    news = {int(each.lobby_id): each for each in views.connections(call.tx, mine)}
    for row in rows:
        others = [each.user_id for each in inside[row.id] if each.user_id != user_id]
        if others and row.id in news:
            tell(call, row, event, news[row.id], others)
    return inside


# Accounts change hands


def merged(call: Call, fact: identities.AccountsMerged) -> None:
    """What a provisional account was in, the full one is in now (sdk.md 8.5)."""
    _replace(call, fact.family_id, fact.source_id, fact.user_id)
    store.move_messages(call.tx, fact.source_id, fact.user_id)


def unmerged(call: Call, fact: identities.AccountUnmerged) -> None:
    """The new provisional account is in the lobbies that the full one was in (sdk.md 8.6)."""
    _replace(call, fact.family_id, fact.user_id, fact.provisional_id)


def _replace(call: Call, family_id: int, old_id: int, new_id: int) -> None:
    for each in store.memberships(call.tx, old_id, applications.family(call.tx, family_id)):
        row = store.find(call.tx, each.lobby_id)
        if row is not None:
            known = store.find_member(call.tx, row.id, new_id)
            put(call, row, [known or each._replace(user_id=new_id)], [old_id])


def user_changed(call: Call, fact: users.UserChanged) -> None:
    """Somebody has another name or picture: who is in a lobby with them sees it."""
    if fact.tag_only or fact.row.bot:
        return
    for application_id in sorted({each.application_id for each in store.memberships(call.tx, fact.row.id)}):
        rows = store.list_of_user(call.tx, application_id, fact.row.id)
        _tell_connection(call, rows, fact.row.id, wire.LOBBY_MEMBER_UPDATE)


def profile_changed(call: Call, fact: identities.ProfileChanged) -> None:
    """A game knows somebody otherwise: who is in a lobby with them sees that."""
    user_id, family_id = fact.told.user_id, fact.told.application_id
    mine = store.memberships(call.tx, user_id, applications.family(call.tx, family_id))
    inside = store.members_of(call.tx, [each.lobby_id for each in mine])
    fellows = {each.user_id for members in inside.values() for each in members} - {int(user_id)}
    identities.show_profile(call, fact.told, fellows)


def user_deleted(call: Call, fact: users.UserDeleted) -> None:
    """An account is gone, and leaves every lobby."""
    for each in store.memberships(call.tx, fact.user_id):
        if (row := store.find(call.tx, each.lobby_id)) is not None:
            put(call, row, removed=[fact.user_id])


def family_joined(call: Call, fact: identities.FamilyJoined) -> None:
    """An application joins a publisher's family: its lobbies end (sdk.md 8.7)."""
    for row in store.list_of_application(call.tx, fact.application_id):
        delete(call, row)
