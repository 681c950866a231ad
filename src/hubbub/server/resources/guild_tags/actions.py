"""Choosing, wearing and losing a guild's tag: write, audit, publish."""

from typing import Final

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import guild_tags as wire
from hubbub.protocol.resources.users import PrimaryGuild
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.resources import users
from hubbub.server.resources.guild_tags import store
from hubbub.server.resources.guild_tags.store import GuildTagRow
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.members import MemberRemoved
from hubbub.server.resources.users import UserRow

RETELL: Final = "guild_tags.retell"
WEARERS_AT_ONCE: Final = 100

CLEARED: Final = PrimaryGuild(identity_guild_id=None, identity_enabled=None, tag=None, badge=None)
"""Spec, User.primary_guild: `identity_enabled` is null when the platform took the tag away."""


class Retell(msgspec.Struct):
    """Whose tag changed, and who was told so far."""

    guild_id: GuildId
    after: int = 0


def change(call: Call, before: wire.GuildProfile, after: wire.GuildProfile) -> None:
    """Keep a guild's new tag; those who wear it are told by and by."""
    if before == after:
        return
    store.put(call.tx, GuildTagRow(after.id, after.tag, after.badge) if after.tag is not None else None, after.id)
    audit.record(
        call,
        after.id,
        AuditLogAction.GUILD_PROFILE_UPDATE,
        target_id=after.id,
        changes=audit.differences(before, after, ("tag", "badge")),
    )
    call.tx.enqueue(RETELL, Retell(guild_id=after.id), key=f"guild_tags:{int(after.id)}")


def wear(call: Call, person: UserRow, row: GuildTagRow | None, guild_id: int | None) -> UserRow:
    """Put a tag on, or take it off: with a guild's id that is remembered, without one nothing is."""
    if row is not None:
        return users.wear(call, person, worn(row))
    if guild_id is None:
        return users.wear(call, person, None)
    off = PrimaryGuild(identity_guild_id=GuildId(guild_id), identity_enabled=False, tag=None, badge=None)
    return users.wear(call, person, off)


def worn(row: GuildTagRow) -> PrimaryGuild:
    """The tag as it shows on who wears it."""
    return PrimaryGuild(identity_guild_id=GuildId(row.guild_id), identity_enabled=True, tag=row.tag, badge=row.badge)


def retell(call: Call, asked: Retell) -> None:
    """Show some wearers with what the tag is now, or without one that is gone; the rest has a job of its own."""
    row = store.find(call.tx, asked.guild_id)
    shown = CLEARED if row is None else worn(row)
    some = users.wearers(call.tx, asked.guild_id, after=asked.after, limit=WEARERS_AT_ONCE)
    for person in some:
        users.wear(call, person, shown)
    if len(some) == WEARERS_AT_ONCE:
        call.tx.enqueue(
            RETELL, Retell(guild_id=asked.guild_id, after=int(some[-1].id)), key=f"guild_tags:{int(asked.guild_id)}"
        )


def forget_guild(call: Call, fact: GuildDeleted) -> None:
    """The tag goes with its guild."""
    store.put(call.tx, None, fact.guild_id)
    call.tx.enqueue(RETELL, Retell(guild_id=fact.guild_id), key=f"guild_tags:{int(fact.guild_id)}")


def forget_member(call: Call, fact: MemberRemoved) -> None:
    """Who leaves a guild cannot wear its tag any longer."""
    person = users.find(call.tx, fact.user_id)
    if person is None or person.primary_guild is None:
        return
    if json.decode(person.primary_guild, PrimaryGuild).identity_guild_id == fact.guild_id:
        users.wear(call, person, CLEARED)
