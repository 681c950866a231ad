"""Handler of the gateway command Request Guild Members (spec/gateway.md#6.1)."""

from array import array
from collections.abc import Sequence
from functools import partial

from msgspec import UNSET

from hubbub.protocol.ids import GuildId, UserId, parse_wide
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources.gateway import (
    NONCE_BYTES_MAX,
    REQUEST_GUILD_MEMBERS,
    REQUESTED_MEMBERS_MAX,
    RequestGuildMembers,
)
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles_command
from hubbub.server.places.members import store, views
from hubbub.server.places.members.store import Membership


@handles_command(REQUEST_GUILD_MEMBERS)
def request_guild_members(call: Call, payload: RequestGuildMembers) -> None:
    """Reply with chunks of members: all members, members with a name prefix, or members with the given IDs.

    Invalid requests get no reply (spec/gateway.md#6.1, decisions/0014)."""
    try:
        guild_ids = payload.guild_ids
    except ValueError:
        return
    is_by_id = payload.user_ids is not UNSET and payload.user_ids is not None
    is_by_name = payload.query is not UNSET and payload.query is not None
    if is_by_id == is_by_name or (call.actor.is_bot and len(guild_ids) > 1):
        return
    for guild_id in dict.fromkeys(guild_ids):
        if store.find_row(call.tx, guild_id, call.user_id) is None:
            continue
        if is_by_id:
            memberships, missing_ids = _find_by_id(call, guild_id, payload.requested_user_ids[:REQUESTED_MEMBERS_MAX])
        else:
            if _requests_all(call, payload):
                call.further_reads.append(partial(_reply_with_all, payload=payload, guild_id=guild_id))
                continue
            matching_memberships = _find_by_name(call, guild_id, payload.query or "", payload.limit or 0)
            if matching_memberships is None:
                continue
            memberships, missing_ids = matching_memberships, []
        _reply_with_chunks(call, payload, guild_id, memberships, missing_ids)


def _find_by_id(
    call: Call, guild_id: GuildId, sent_ids: Sequence[str | int]
) -> tuple[list[Membership], list[str | int]]:
    """Return the members with the given IDs, and the IDs that are invalid or not of a member, as the client sent them."""
    user_ids_by_sent_id: dict[str | int, UserId | None] = {}
    for sent_id in sent_ids:
        try:
            user_ids_by_sent_id[sent_id] = parse_wide(UserId, sent_id)
        except ValueError:
            user_ids_by_sent_id[sent_id] = None
    memberships_by_id = store.find_many(
        call.tx, guild_id, [user_id for user_id in user_ids_by_sent_id.values() if user_id is not None]
    )
    return list(memberships_by_id.values()), [
        sent_id
        for sent_id, user_id in user_ids_by_sent_id.items()
        if user_id is None or user_id not in memberships_by_id
    ]


def _find_by_name(call: Call, guild_id: GuildId, prefix: str, limit: int) -> list[Membership] | None:
    """Return at most `limit` members whose name begins with `prefix`, or None if the request is invalid.

    Without a prefix and a limit, return only the caller."""
    if limit < 0 or (prefix and limit == 0):
        return None
    if prefix:
        return store.search(call.tx, guild_id, prefix, min(limit, REQUESTED_MEMBERS_MAX))
    if limit:
        return store.list_page(call.tx, guild_id, limit=min(limit, REQUESTED_MEMBERS_MAX))
    own_membership = store.find(call.tx, guild_id, call.user_id)
    return [own_membership] if own_membership is not None else []


def _requests_all(call: Call, payload: RequestGuildMembers) -> bool:
    """Return whether a request by name is for all members, and the session may receive them."""
    return not payload.query and not payload.limit and bool(call.intents & Intents.GUILD_MEMBERS)


def _reply_with_all(call: Call, *, payload: RequestGuildMembers, guild_id: GuildId) -> None:
    """Reply with all members; each chunk is read after the previous one was sent, because there may be many.

    Members who leave meanwhile are missing in their chunk. Members who join are announced by their event."""
    user_ids = array("q", store.list_user_ids(call.tx, guild_id))
    chunk_count = max(1, -(-len(user_ids) // wire.MEMBERS_CHUNK_MAX))

    def reply_with_chunk(call: Call, index: int) -> None:
        if store.find_row(call.tx, guild_id, call.user_id) is None:
            return
        batch = user_ids[index * wire.MEMBERS_CHUNK_MAX : (index + 1) * wire.MEMBERS_CHUNK_MAX]
        memberships_by_id = store.find_many(call.tx, guild_id, batch)
        memberships = [memberships_by_id[user_id] for user_id in batch if user_id in memberships_by_id]
        _reply_with_chunk(call, payload, guild_id, memberships, index, chunk_count)
        if index + 1 < chunk_count:
            call.further_reads.append(partial(reply_with_chunk, index=index + 1))

    reply_with_chunk(call, 0)


def _reply_with_chunks(
    call: Call,
    payload: RequestGuildMembers,
    guild_id: GuildId,
    memberships: Sequence[Membership],
    missing_ids: list[str | int],
) -> None:
    """Reply with the members in chunks; the first chunk contains the IDs that were not found."""
    # Send at least one chunk, even if empty, because clients wait for the last chunk.
    chunk_count = max(1, -(-len(memberships) // wire.MEMBERS_CHUNK_MAX))
    for index in range(chunk_count):
        batch = memberships[index * wire.MEMBERS_CHUNK_MAX : (index + 1) * wire.MEMBERS_CHUNK_MAX]
        _reply_with_chunk(call, payload, guild_id, batch, index, chunk_count, missing_ids if index == 0 else ())


def _reply_with_chunk(
    call: Call,
    payload: RequestGuildMembers,
    guild_id: GuildId,
    memberships: Sequence[Membership],
    index: int,
    chunk_count: int,
    missing_ids: Sequence[str | int] = (),
) -> None:
    """Reply with one of `chunk_count` chunks of members."""
    nonce = payload.nonce or ""
    includes_presences = bool(payload.presences and call.intents & Intents.GUILD_PRESENCES)
    chunk = wire.GuildMembersChunk(
        guild_id=guild_id,
        members=[views.member(membership) for membership in memberships],
        chunk_index=index,
        chunk_count=chunk_count,
        not_found=list(missing_ids) or UNSET,
        presences=views.find_presences(call, (membership.user.id for membership in memberships))
        if includes_presences
        else UNSET,
        nonce=nonce if nonce and len(nonce.encode()) <= NONCE_BYTES_MAX else UNSET,
    )
    call.replies.append((wire.GUILD_MEMBERS_CHUNK, chunk))
