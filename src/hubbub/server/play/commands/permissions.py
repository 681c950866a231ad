"""Rules that decide which members may use a command (spec/webhooks-and-interactions.md#5.5), without database access."""

from collections.abc import Collection, Sequence

from hubbub.protocol.enums import CommandPermissionType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.commands import CommandPermission, all_channels_id

Entries = Sequence[CommandPermission]
"""Permission entries of a command or of an application in one guild."""


def can_use(
    *,
    guild_id: int,
    user_id: int,
    role_ids: Collection[int],
    channel_id: int,
    permissions: int,
    required_permissions: int | None,
    command_entries: Entries = (),
    application_entries: Entries = (),
) -> bool:
    """Return whether a member may use a command in a channel.

    `channel_id` is the channel, or the parent of a thread. `permissions` are the member's permissions in that channel,
    `required_permissions` is the command's `default_member_permissions` or None."""
    if permissions & Permissions.ADMINISTRATOR:
        return True
    if not permissions & Permissions.USE_APPLICATION_COMMANDS:
        return False
    if not _is_allowed_in_channel(command_entries, application_entries, guild_id, channel_id):
        return False
    return can_member_use(
        guild_id=guild_id,
        user_id=user_id,
        role_ids=role_ids,
        permissions=permissions,
        required_permissions=required_permissions,
        command_entries=command_entries,
        application_entries=application_entries,
    )


def can_member_use(
    *,
    guild_id: int,
    user_id: int,
    role_ids: Collection[int],
    permissions: int,
    required_permissions: int | None,
    command_entries: Entries = (),
    application_entries: Entries = (),
) -> bool:
    """Return whether a member may use a command, regardless of the channel.

    `permissions` are the member's permissions, `required_permissions` is the command's `default_member_permissions` or None."""
    if permissions & Permissions.ADMINISTRATOR:
        return True
    decision = _decide_for_member(command_entries, guild_id, user_id, role_ids)
    if decision is not None:
        # Permissions of the command itself override its default requirements.
        return decision
    if _decide_for_member(application_entries, guild_id, user_id, role_ids) is False:
        return False
    if required_permissions is None:
        return True
    # 0 means administrators only, and the first check of this function has already accepted administrators.
    return required_permissions != 0 and not required_permissions & ~permissions


def _is_allowed_in_channel(
    command_entries: Entries, application_entries: Entries, guild_id: int, channel_id: int
) -> bool:
    """Return whether channel entries allow the channel; entries of the command override those of the application."""
    all_channels_target_id = all_channels_id(guild_id)
    for entries in (command_entries, application_entries):
        for target_id in (channel_id, all_channels_target_id):
            for entry in entries:
                if entry.type == CommandPermissionType.CHANNEL and entry.id == target_id:
                    return entry.permission
    return True


def _decide_for_member(entries: Entries, guild_id: int, user_id: int, role_ids: Collection[int]) -> bool | None:
    """Return whether the entries allow a member, or None if no entry applies to the member.

    A user entry takes precedence over role entries, an allowing role entry over denying ones, and any role entry over the
    entry of @everyone."""
    everyone_decision: bool | None = None
    role_decision: bool | None = None
    for entry in entries:
        if entry.type == CommandPermissionType.USER and entry.id == user_id:
            return entry.permission
        if entry.type == CommandPermissionType.ROLE:
            if entry.id == guild_id:
                everyone_decision = entry.permission
            elif entry.id in role_ids:
                role_decision = role_decision or entry.permission
    return everyone_decision if role_decision is None else role_decision
