"""Updates of the welcome screen and the new member guide, with audit log entries."""

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction, GuildFeature
from hubbub.protocol.resources import welcome_screens as wire
from hubbub.server.core.call import Call
from hubbub.server.places import guilds
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.welcome_screens import store
from hubbub.server.places.welcome_screens.store import WelcomeScreenRow


def update_screen(
    call: Call, guild: GuildRow, before: WelcomeScreenRow, after: WelcomeScreenRow, is_enabled: bool
) -> None:
    """Update a guild's welcome screen, and the guild feature that enables it."""
    if after != before:
        store.put(call.tx, after)
    changes = audit.differences(_screen_view(before), _screen_view(after))
    guilds.update(
        call,
        guild,
        guilds.maintenance.with_feature(guild, GuildFeature.WELCOME_SCREEN_ENABLED, is_enabled),
        extra_changes=changes,
    )


def _screen_view(row: WelcomeScreenRow) -> wire.WelcomeScreen:
    return wire.WelcomeScreen(description=row.description, welcome_channels=row.welcome_channels)


def set_guide(
    call: Call, guild_id: int, previous_guide: wire.SetNewMemberWelcome | None, guide: wire.SetNewMemberWelcome
) -> None:
    """Store the new member guide, with an audit log entry; `previous_guide` is None if there was no guide."""
    store.put_guide(call.tx, guild_id, codec.encode(guide).decode())
    changes = audit.differences(previous_guide, guide)
    if previous_guide is None:
        audit.record(call, guild_id, AuditLogAction.HOME_SETTINGS_CREATE, target_id=guild_id, changes=changes)
    elif changes:
        audit.record(call, guild_id, AuditLogAction.HOME_SETTINGS_UPDATE, target_id=guild_id, changes=changes)
