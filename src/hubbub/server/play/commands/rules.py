"""Rules for commands: ownership, installation, limits and permissions."""

from collections.abc import Sequence
from typing import Any

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import ApplicationIntegrationType, CommandPermissionType, CommandType, InteractionContextType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import commands as wire
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.identity import applications, oauth2
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.places import guilds, roles
from hubbub.server.places.standing import GuildAccess, access
from hubbub.server.play.commands import permissions, store
from hubbub.server.play.commands.definitions import CommandScope
from hubbub.server.play.commands.store import GLOBAL_GUILD_ID, CommandRow


def require_own_installed(call: Call, application_id: int, guild_id: int) -> ApplicationRow:
    """Return the application if the caller has one of its tokens or is its owner, and it is installed in the guild."""
    row = applications.access.require_own_token_or_owner(call, application_id)
    require_installed_in_guild(call, row, guild_id)
    return row


def require_installed_in_guild(call: Call, row: ApplicationRow, guild_id: int) -> None:
    """Require that an application is installed in a guild, with its bot or with its commands only."""
    if is_installed_in_guild(call, row, guild_id):
        return
    if guilds.find(call.tx, guild_id) is None:
        raise errors.UNKNOWN_GUILD()
    raise errors.MISSING_ACCESS()


def is_installed_in_guild(call: Call, row: ApplicationRow, guild_id: int) -> bool:
    """Return whether an application is installed in a guild, with its bot or with its commands only."""
    if row.bot_id is not None and guilds.membership.is_member(call.tx, guild_id, row.bot_id):
        return True
    installation_type = ApplicationIntegrationType.GUILD_INSTALL
    return oauth2.installations.find_installation(call.tx, row.id, installation_type, guild_id) is not None


def is_for_guilds(row: CommandRow, now_ms: int) -> bool:
    """Return whether a command can be used in the guilds in which its application is installed."""
    definition = store.decode_definition(row)
    if row.guild_id != GLOBAL_GUILD_ID or not changes.USER_INSTALLS.is_active(now_ms):
        return True
    is_guild_context = definition.contexts is None or InteractionContextType.GUILD in definition.contexts
    return is_guild_context and ApplicationIntegrationType.GUILD_INSTALL in definition.integration_types


def build_scope(call: Call, row: ApplicationRow, guild_id: int) -> CommandScope:
    """Return the scope of an application's commands in a guild, or of its global ones if `guild_id` is GLOBAL_GUILD_ID."""
    types_config = codec.decode(row.integration_types_config, dict[str, Any])
    return CommandScope(
        is_guild=guild_id != GLOBAL_GUILD_ID,
        supported_integration_types=sorted(int(integration_type) for integration_type in types_config),
        has_activities=bool(row.flags & ApplicationFlags.EMBEDDED)
        and changes.ENTRY_POINT_COMMANDS.is_active(call.now_ms),
        has_install_contexts=changes.USER_INSTALLS.is_active(call.now_ms),
    )


def require_command(call: Call, application_id: int, guild_id: int, command_id: int) -> CommandRow:
    """Return a command of a scope; raise UNKNOWN_APPLICATION_COMMAND if it does not exist there."""
    row = store.find(call.tx, command_id)
    if row is None or (row.application_id, row.guild_id) != (application_id, guild_id):
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    return row


def require_capacity(call: Call, rows: Sequence[CommandRow]) -> None:
    """Raise MAX_APPLICATION_COMMANDS if `rows`, the commands of a scope, contain too many of a type."""
    for command_type, command_count_max in wire.COMMANDS_MAX_BY_TYPE.items():
        if command_type in (CommandType.USER, CommandType.MESSAGE) and not changes.CONTEXT_MENU_LIMIT_15.is_active(
            call.now_ms
        ):
            command_count_max = wire.OLD_CONTEXT_MENU_COMMANDS_MAX
        if sum(row.type == command_type for row in rows) > command_count_max:
            raise errors.MAX_APPLICATION_COMMANDS(
                message=f"Maximum number of application commands reached ({command_count_max})"
            )


# Permissions


def resolve_permissions_target(
    call: Call, application_id: ApplicationId, guild_id: GuildId, target_id: int
) -> CommandRow | None:
    """Return the command that permissions are set for, or None if `target_id` is the application itself.

    Raise UNKNOWN_APPLICATION_COMMAND if there is no such command in the guild."""
    if target_id == application_id:
        return None
    row = store.find(call.tx, target_id)
    if row is None or row.application_id != application_id or row.guild_id not in (GLOBAL_GUILD_ID, guild_id):
        raise errors.UNKNOWN_APPLICATION_COMMAND()
    return row


def require_usable(
    call: Call, guild_id: GuildId, row: CommandRow | None, entries_by_target: dict[int, list[wire.CommandPermission]]
) -> None:
    """Require that the caller may use the command whose permissions they set.

    `row` is None for the permissions of a whole application. `entries_by_target` are the current permission entries by
    command or application ID."""
    if row is None:
        return
    standing = access.get_guild_standing(call, guild_id)
    if not permissions.can_member_use(
        guild_id=guild_id,
        user_id=standing.user_id,
        role_ids=standing.permissions_by_role,
        permissions=standing.allowed,
        required_permissions=store.decode_definition(row).default_member_permissions,
        command_entries=entries_by_target.get(row.id, ()),
        application_entries=entries_by_target.get(row.application_id, ()),
    ):
        raise PermissionDenied(
            Denial(
                guild_id=guild_id,
                reason="{caller} may not use the command whose permissions {caller} tried to set.",
            )
        )


def require_entry_targets(call: Call, guild_id: GuildId, entries: Sequence[wire.CommandPermission]) -> None:
    """Require that the target of each permission entry exists, occurs once and can be managed by the caller."""
    standing = access.get_guild_standing(call, guild_id)
    form = errors.FormErrors()
    seen_targets: set[tuple[int, int]] = set()
    visible_channels = access.visible_channels(call.tx, standing)
    denial: Denial | None = None
    for index, entry in enumerate(entries):
        path = ("permissions", index, "id")
        if (entry.type, entry.id) in seen_targets:
            form.add(path, *errors.duplicate())
            continue
        seen_targets.add((entry.type, entry.id))
        if entry.type == CommandPermissionType.CHANNEL:
            is_known = entry.id == wire.all_channels_id(guild_id) or entry.id in visible_channels
        elif entry.type == CommandPermissionType.ROLE:
            role = roles.find(call.tx, guild_id, entry.id)
            is_known = role is not None
            if role is not None and role.id != guild_id and not standing.outranks_role((role.position, role.id)):
                denial = Denial(guild_id=guild_id, role_id=role.id, action="set command permissions for")
        else:
            target_standing = access.find_guild_standing(call.tx, call.now_ms, guild_id, entry.id)
            is_known = target_standing is not None
            if target_standing is not None and not _can_manage(standing, target_standing):
                denial = Denial(guild_id=guild_id, user_id=target_standing.user_id)
        if not is_known:
            form.add(path, *errors.command_permission_target())
    form.raise_if_any()
    if denial is not None:
        raise PermissionDenied(denial)


def _can_manage(standing: GuildAccess, target_standing: GuildAccess) -> bool:
    if standing.user_id == target_standing.user_id or standing.permissions & Permissions.ADMINISTRATOR:
        return True
    return standing.outranks(target_standing)
