"""Who may use a command where: the arithmetic of webhooks-and-interactions.md 5.5, over plain values."""

from collections.abc import Collection, Sequence

from hubbub.protocol.enums import CommandPermissionType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.commands import CommandPermission, all_channels

Entries = Sequence[CommandPermission]


def can_use(
    *,
    guild_id: int,
    user_id: int,
    role_ids: Collection[int],
    channel_id: int,
    permissions: int,
    needed: int | None,
    of_command: Entries = (),
    of_application: Entries = (),
) -> bool:
    """Whether a member may use a command in a channel (a thread's parent), where these are their permissions.

    `needed` is the command's `default_member_permissions`."""
    if permissions & Permissions.ADMINISTRATOR:
        return True
    if not permissions & Permissions.USE_APPLICATION_COMMANDS:
        return False
    if not _in_channel(of_command, of_application, guild_id, channel_id):
        return False
    return for_member(
        guild_id=guild_id,
        user_id=user_id,
        role_ids=role_ids,
        permissions=permissions,
        needed=needed,
        of_command=of_command,
        of_application=of_application,
    )


def for_member(
    *,
    guild_id: int,
    user_id: int,
    role_ids: Collection[int],
    permissions: int,
    needed: int | None,
    of_command: Entries = (),
    of_application: Entries = (),
) -> bool:
    """Whether a member may use a command, wherever it can be used."""
    if permissions & Permissions.ADMINISTRATOR:
        return True
    said = _said_of(of_command, guild_id, user_id, role_ids)
    if said is not None:
        # What is said of the command itself decides, whatever it needs by default.
        return said
    if _said_of(of_application, guild_id, user_id, role_ids) is False:
        return False
    if needed is None:
        return True
    # 0 means: only administrators, who were let in above.
    return needed != 0 and not needed & ~permissions


def _in_channel(of_command: Entries, of_application: Entries, guild_id: int, channel_id: int) -> bool:
    everywhere = all_channels(guild_id)
    for entries in (of_command, of_application):
        for wanted in (channel_id, everywhere):
            for entry in entries:
                if entry.type == CommandPermissionType.CHANNEL and entry.id == wanted:
                    return entry.permission
    return True


def _said_of(entries: Entries, guild_id: int, user_id: int, role_ids: Collection[int]) -> bool | None:
    """What entries say of a member: the user before roles, any role that allows before those that deny, then everyone."""
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
