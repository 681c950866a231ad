"""Members over the gateway: Request Guild Members (gateway.md 6.1)."""

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
from hubbub.server.core.slices import obeys
from hubbub.server.resources.members import store, views
from hubbub.server.resources.members.store import Membership


@obeys(REQUEST_GUILD_MEMBERS)
def request_guild_members(call: Call, payload: RequestGuildMembers) -> None:
    """Answer with chunks of members: of all, by the beginning of a name, or by id.

    What makes no sense is left without an answer (gateway.md 6.1, decisions/0014)."""
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
            found, missing = _by_id(call, guild_id, payload.wanted[:REQUESTED_MEMBERS_MAX])
        else:
            chosen = _by_name(call, guild_id, payload.query or "", payload.limit or 0)
            if chosen is None:
                continue
            found, missing = chosen, []
        _reply(call, payload, guild_id, found, missing)


def _by_id(call: Call, guild_id: GuildId, wanted: Sequence[str | int]) -> tuple[list[Membership], list[str | int]]:
    """Who was found, and the ids asked for in vain, as they were sent."""
    asked: dict[str | int, UserId | None] = {}
    for sent in wanted:
        try:
            asked[sent] = parse_wide(UserId, sent)
        except ValueError:
            asked[sent] = None
    found = store.find_many(call.tx, guild_id, [user_id for user_id in asked.values() if user_id is not None])
    return list(found.values()), [sent for sent, user_id in asked.items() if user_id is None or user_id not in found]


def _by_name(call: Call, guild_id: GuildId, beginning: str, limit: int) -> list[Membership] | None:
    """Who was found; None where the request makes no sense."""
    if limit < 0 or (beginning and limit == 0):
        return None
    if beginning:
        return store.search(call.tx, guild_id, beginning, min(limit, REQUESTED_MEMBERS_MAX))
    if limit:
        return store.page(call.tx, guild_id, limit=min(limit, REQUESTED_MEMBERS_MAX))
    if not call.intents & Intents.GUILD_MEMBERS:
        own = store.find(call.tx, guild_id, call.user_id)
        return [own] if own is not None else []
    return list(store.everybody(call.tx, guild_id))


def _reply(
    call: Call,
    payload: RequestGuildMembers,
    guild_id: GuildId,
    found: Sequence[Membership],
    missing: list[str | int],
) -> None:
    nonce = payload.nonce or ""
    shows_presences = bool(payload.presences and call.intents & Intents.GUILD_PRESENCES)
    # At least one chunk, even an empty one: clients wait for the last.
    count = max(1, -(-len(found) // wire.MEMBERS_CHUNK_MAX))
    for index in range(count):
        some = found[index * wire.MEMBERS_CHUNK_MAX : (index + 1) * wire.MEMBERS_CHUNK_MAX]
        chunk = wire.GuildMembersChunk(
            guild_id=guild_id,
            members=[views.member(each) for each in some],
            chunk_index=index,
            chunk_count=count,
            not_found=missing if missing and index == 0 else UNSET,
            presences=views.presences_of(call, (each.user.id for each in some)) if shows_presences else UNSET,
            nonce=nonce if nonce and len(nonce.encode()) <= NONCE_BYTES_MAX else UNSET,
        )
        call.replies.append((wire.GUILD_MEMBERS_CHUNK, chunk))
