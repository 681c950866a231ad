"""Permission arithmetic of commands (spec/webhooks-and-interactions.md#5.5), over plain values."""

from collections.abc import Collection, Sequence

from hubbub.protocol.enums import CommandPermissionType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.commands import CommandPermission, all_channels_id

Entries = Sequence[CommandPermission]


def can_use(
    *,
    guild_id: int,
    user_id: int,
    role_ids: Collection[int],
    channel_id: int,
    permissions: int,
    required: int | None,
    command_entries: Entries = (),
    application_entries: Entries = (),
) -> bool:
    """Return whether a member may use a command in a channel.

    `channel_id` is a thread's parent and `permissions` are the member's in that channel. `required` is the command's
    `default_member_permissions`."""
    if permissions & Permissions.ADMINISTRATOR:
        return True
    if not permissions & Permissions.USE_APPLICATION_COMMANDS:
        return False
    if not _in_channel(command_entries, application_entries, guild_id, channel_id):
        return False
    return can_member_use(
        guild_id=guild_id,
        user_id=user_id,
        role_ids=role_ids,
        permissions=permissions,
        required=required,
        command_entries=command_entries,
        application_entries=application_entries,
    )


def can_member_use(
    *,
    guild_id: int,
    user_id: int,
    role_ids: Collection[int],
    permissions: int,
    required: int | None,
    command_entries: Entries = (),
    application_entries: Entries = (),
) -> bool:
    """Return whether a member may use a command, regardless of the channel."""
    if permissions & Permissions.ADMINISTRATOR:
        return True
    decision = _decision(command_entries, guild_id, user_id, role_ids)
    if decision is not None:
        # Permissions of the command itself override its default requirements.
        return decision
    if _decision(application_entries, guild_id, user_id, role_ids) is False:
        return False
    if required is None:
        return True
    # 0 means administrators only, which were accepted above.
    return required != 0 and not required & ~permissions


def _in_channel(of_command: Entries, of_application: Entries, guild_id: int, channel_id: int) -> bool:
    everywhere = all_channels_id(guild_id)
    for entries in (of_command, of_application):
        for wanted in (channel_id, everywhere):
            for entry in entries:
                if entry.type == CommandPermissionType.CHANNEL and entry.id == wanted:
                    return entry.permission
    return True


def _decision(entries: Entries, guild_id: int, user_id: int, role_ids: Collection[int]) -> bool | None:
    """Return what the entries decide for a member, or None.

    A user entry wins over role entries, an allowing role over denying ones, and any role over @everyone."""
    everyone: bool | None = None
    by_role: bool | None = None
    for entry in entries:
        if entry.type == CommandPermissionType.USER and entry.id == user_id:
            return entry.permission
        if entry.type == CommandPermissionType.ROLE:
            if entry.id == guild_id:
                everyone = entry.permission
            elif entry.id in role_ids:
                by_role = by_role or entry.permission
    return everyone if by_role is None else by_role
