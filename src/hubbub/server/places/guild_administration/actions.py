"""Suspend, unsuspend, delete, restore and transfer guilds, and record each action in the audit log of operators."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.resources import administration as wire
from hubbub.server.core import jobs as job_queue
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.administration import audit
from hubbub.server.places import guilds
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.guilds.interface.administration import SuspensionRow

DELETE_GUILD_JOB: Final = "administration.delete_guild"
"""Kind of the job that deletes a guild at the end of its grace period."""
DAY_MS: Final = 24 * 3_600_000


def suspend(call: Call, guild: GuildRow, *, reason: str) -> None:
    """Suspend a guild, or change the reason of its suspension."""
    suspension = guilds.administration.find_suspension(call.tx, guild.id)
    if suspension is None:
        suspension = SuspensionRow(guild.id, call.user_id_or_none, call.now_ms)
    # A restoration of a guild that an operator suspended during its grace period must not lift the suspension.
    guilds.administration.suspend(call, guild, suspension._replace(is_from_deletion=0), reason)
    _log_action(call, "guild.suspend", guild, reason=reason)


def unsuspend(call: Call, guild: GuildRow, *, reason: str | None = None) -> bool:
    """Lift the suspension of a guild. Return False if the guild is not suspended.

    Raise FORBIDDEN if the guild is being deleted: only its restoration ends the suspension."""
    suspension = guilds.administration.find_suspension(call.tx, guild.id)
    if suspension is None:
        return False
    if suspension.due_ms is not None:
        raise errors.FORBIDDEN(message="This guild is being deleted. Restore it instead.")
    guilds.administration.unsuspend(call, guild)
    _log_action(call, "guild.unsuspend", guild, reason=reason)
    return True


def unsuspend_by_id(call: Call, guild_id: int, reason: str) -> None:
    """Lift the suspension of a guild. Do nothing if the guild does not exist or is not suspended.

    Raise FORBIDDEN if the guild is being deleted."""
    guild = guilds.find(call.tx, guild_id)
    if guild is not None:
        unsuspend(call, guild, reason=reason)


def schedule_deletion(
    call: Call, guild: GuildRow, *, reason: str, grace_days: int = wire.GRACE_DAYS_DEFAULT
) -> SuspensionRow:
    """Suspend a guild and schedule its deletion. A guild that is already being deleted keeps its date."""
    suspension = guilds.administration.find_suspension(call.tx, guild.id)
    if suspension is not None and suspension.due_ms is not None:
        return suspension
    due_ms = call.now_ms + grace_days * DAY_MS
    if suspension is None:
        suspension = SuspensionRow(guild.id, call.user_id_or_none, call.now_ms, is_from_deletion=1)
    suspension = suspension._replace(due_ms=due_ms)
    guilds.administration.suspend(call, guild, suspension, reason)
    call.tx.enqueue(DELETE_GUILD_JOB, guild.id, due_ms=due_ms, key=_job_key(guild.id))
    _log_action(call, "guild.delete", guild, detail=f"on {audit.format_time(due_ms)}", reason=reason)
    return suspension


def restore(call: Call, guild: GuildRow, *, reason: str | None = None) -> bool:
    """Cancel the deletion of a guild. Return False if none is scheduled or it has begun."""
    suspension = guilds.administration.find_suspension(call.tx, guild.id)
    if suspension is None or suspension.due_ms is None or suspension.due_ms <= call.now_ms:
        return False
    job_queue.cancel_jobs(call.tx, DELETE_GUILD_JOB, _job_key(guild.id))
    if suspension.is_from_deletion:
        guilds.administration.unsuspend(call, guild)
    else:
        guilds.administration.suspend(call, guild, suspension._replace(due_ms=None), guild.suspension_reason or "")
    _log_action(call, "guild.restore", guild, reason=reason)
    return True


def delete_if_due(call: Call, guild_id: int) -> None:
    """Delete a guild whose grace period ended. Do nothing if its deletion is not scheduled any more."""
    guild = guilds.find(call.tx, guild_id)
    suspension = guilds.administration.find_suspension(call.tx, guild_id)
    if guild is None or suspension is None or suspension.due_ms is None:
        return
    guilds.administration.delete(call, guild)
    _log_action(call, "guild.deleted", guild, detail="The grace period ended.")


def transfer(call: Call, guild: GuildRow, owner_id: int, *, reason: str | None = None) -> GuildRow:
    """Make another member the owner of a guild."""
    if owner_id == guild.owner_id:
        return guild
    guilds.administration.require_owner_candidate(call, guild.id, owner_id)
    after = guild._replace(owner_id=owner_id)
    guilds.update(call, guild, after)
    users_by_id = users.find_many(call.tx, [guild.owner_id, owner_id])
    detail = " ".join(
        f"{preposition} {users_by_id[user_id].username}"
        for preposition, user_id in (("from", guild.owner_id), ("to", owner_id))
        if user_id in users_by_id
    )
    _log_action(call, "guild.transfer", guild, detail=detail, reason=reason)
    return after


def _job_key(guild_id: int) -> str:
    return f"{DELETE_GUILD_JOB}:{guild_id}"


def _log_action(call: Call, action: str, guild: GuildRow, *, detail: str = "", reason: str | None = None) -> None:
    audit.log_action(call, action, "guild", target_id=guild.id, target_name=guild.name, detail=detail, reason=reason)
