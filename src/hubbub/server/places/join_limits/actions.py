"""Limit the joins of new accounts, and pause the invites of a guild with unusually many joins."""

from typing import Final

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.resources.guilds import IncidentsData
from hubbub.server.core import new_accounts
from hubbub.server.core.call import Actor, Call
from hubbub.server.identity import users
from hubbub.server.places import guilds
from hubbub.server.places.join_limits import ports, store
from hubbub.server.places.members.signals import MemberAdded

HOUR_MS: Final = 3_600_000
MINUTE_MS: Final = 60_000


def require_join_allowed(call: Call) -> None:
    """Reject a join of a new account above its limit per hour."""
    joins_max = call.config.protection.new_account_joins_max
    if not joins_max or not new_accounts.is_limited(call):
        return
    if store.count_user_joins(call.tx, call.user_id, call.now_ms - HOUR_MS) >= joins_max:
        raise errors.FORBIDDEN(
            message=f"A new account can join at most {joins_max} guilds per hour. {new_accounts.describe_wait(call)}"
        )


def on_member_added(call: Call, signal: MemberAdded) -> None:
    """Record a join, and pause the invites of the guild if it had too many joins in a short time.

    Bots, and members whose join is not announced, are ignored."""
    protection = call.config.protection
    if not signal.is_announced or not (protection.new_account_minutes or protection.raid_joins_max):
        return
    user = users.find(call.tx, signal.user_id)
    if user is None or user.bot:
        return
    store.delete_before(call.tx, signal.guild_id, call.now_ms - HOUR_MS)
    store.insert(call.tx, signal.guild_id, signal.user_id, call.now_ms)
    if not protection.raid_joins_max:
        return
    since_ms = call.now_ms - protection.raid_window_seconds * 1000
    join_count = store.count_guild_joins(call.tx, signal.guild_id, since_ms)
    if join_count >= protection.raid_joins_max:
        _pause_invites(call, signal.guild_id, join_count)


def _pause_invites(call: Call, guild_id: int, join_count: int) -> None:
    """Pause the invites of a guild and alert its moderators, unless the invites are paused already."""
    guild = guilds.find(call.tx, guild_id)
    if guild is None:
        return
    incidents = IncidentsData(invites_disabled_until=None, dms_disabled_until=None)
    if guild.incidents is not None:
        incidents = codec.decode(guild.incidents, IncidentsData)
    # Stored timestamps have the fixed format of `codec.timestamp`, so comparing the texts compares the times.
    if incidents.invites_disabled_until is not None and incidents.invites_disabled_until > codec.timestamp(call.now_ms):
        return
    protection = call.config.protection
    incidents.invites_disabled_until = codec.timestamp(call.now_ms + protection.raid_pause_minutes * MINUTE_MS)
    # The audit log must not name the user whose join reached the limit.
    system_user = users.profiles.find_or_create_system_user(call)
    system_call = call.acting_as(Actor(user_id=system_user.id, kind="bot"))
    guilds.update(system_call, guild, guild._replace(incidents=codec.encode(incidents).decode()))
    has_alerts = GuildFeature.RAID_ALERTS_DISABLED not in guild.feature_names
    if has_alerts and guild.safety_alerts_channel_id is not None:
        alert_text = (
            f"{join_count} users joined in {protection.raid_window_seconds} seconds. Invites are paused for "
            f"{protection.raid_pause_minutes} minutes. Check the new members, and resume invites in the safety settings."
        )
        ports.send_alert(call, guild.safety_alerts_channel_id, alert_text)
