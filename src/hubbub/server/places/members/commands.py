"""Gateway command Request Guild Members (spec/gateway.md#6.1)."""

from collections.abc import Sequence

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
    """Reply with chunks of members: all members, those with a name prefix, or those with the given IDs.

    Invalid requests get no reply (spec/gateway.md#6.1, decisions/0014)."""
    try:
        guild_ids = payload.guild_ids
    except ValueError:
        return
    by_id = payload.user_ids is not UNSET and payload.user_ids is not None
    by_name = payload.query is not UNSET and payload.query is not None
    if by_id == by_name or (call.actor.is_bot and len(guild_ids) > 1):
        return
    for guild_id in dict.fromkeys(guild_ids):
        if store.find_row(call.tx, guild_id, call.user_id) is None:
            continue
        if by_id:
            found, missing = _by_id(call, guild_id, payload.requested_user_ids[:REQUESTED_MEMBERS_MAX])
        else:
            matches = _by_name(call, guild_id, payload.query or "", payload.limit or 0)
            if matches is None:
                continue
            found, missing = matches, []
        _reply(call, payload, guild_id, found, missing)


def _by_id(call: Call, guild_id: GuildId, sent_ids: Sequence[str | int]) -> tuple[list[Membership], list[str | int]]:
    """Return the members found, and the IDs not found, as they were sent."""
    parsed_ids: dict[str | int, UserId | None] = {}
    for sent in sent_ids:
        try:
            parsed_ids[sent] = parse_wide(UserId, sent)
        except ValueError:
            parsed_ids[sent] = None
    found = store.find_many(call.tx, guild_id, [user_id for user_id in parsed_ids.values() if user_id is not None])
    return list(found.values()), [
        sent for sent, user_id in parsed_ids.items() if user_id is None or user_id not in found
    ]


def _by_name(call: Call, guild_id: GuildId, prefix: str, limit: int) -> list[Membership] | None:
    """Return the members found, or None if the request is invalid."""
    if limit < 0 or (prefix and limit == 0):
        return None
    if prefix:
        return store.search(call.tx, guild_id, prefix, min(limit, REQUESTED_MEMBERS_MAX))
    if limit:
        return store.list_page(call.tx, guild_id, limit=min(limit, REQUESTED_MEMBERS_MAX))
    if not call.intents & Intents.GUILD_MEMBERS:
        own = store.find(call.tx, guild_id, call.user_id)
        return [own] if own is not None else []
    return list(store.iterate_all(call.tx, guild_id))


def _reply(
    call: Call,
    payload: RequestGuildMembers,
    guild_id: GuildId,
    found: Sequence[Membership],
    missing: list[str | int],
) -> None:
    nonce = payload.nonce or ""
    with_presences = bool(payload.presences and call.intents & Intents.GUILD_PRESENCES)
    # Send at least one chunk, even if empty, because clients wait for the last one.
    count = max(1, -(-len(found) // wire.MEMBERS_CHUNK_MAX))
    for index in range(count):
        batch = found[index * wire.MEMBERS_CHUNK_MAX : (index + 1) * wire.MEMBERS_CHUNK_MAX]
        chunk = wire.GuildMembersChunk(
            guild_id=guild_id,
            members=[views.member(each) for each in batch],
            chunk_index=index,
            chunk_count=count,
            not_found=missing if missing and index == 0 else UNSET,
            presences=views.presences_of(call, (each.user.id for each in batch)) if with_presences else UNSET,
            nonce=nonce if nonce and len(nonce.encode()) <= NONCE_BYTES_MAX else UNSET,
        )
        call.replies.append((wire.GUILD_MEMBERS_CHUNK, chunk))
