"""Validation of user settings."""

from collections.abc import Collection, Sequence

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.resources import user_settings as wire
from hubbub.server.core.call import Call
from hubbub.server.identity.user_settings import ports


def require_custom_status(call: Call, requested_status: wire.SetCustomStatus | None) -> wire.CustomStatus | None:
    """Return the custom status to store, or raise form errors. A status without text and emoji is None."""
    if requested_status is None:
        return None
    status_text = " ".join((requested_status.text or "").split()) or None
    if status_text is None and not requested_status.emoji_name:
        return None
    expires_ms = None if requested_status.expires_at is None else codec.milliseconds(requested_status.expires_at)
    if expires_ms is not None and expires_ms <= call.now_ms:
        raise errors.invalid(("custom_status", "expires_at"), "CUSTOM_STATUS_EXPIRED", "Choose a time in the future.")
    return wire.CustomStatus(
        text=status_text,
        emoji_id=requested_status.emoji_id if requested_status.emoji_name else None,
        emoji_name=requested_status.emoji_name or None,
        expires_at=None if expires_ms is None else codec.timestamp(expires_ms),
    )


def is_expired(custom_status: wire.CustomStatus, now_ms: int) -> bool:
    """Return whether a custom status has ended at `now_ms` (Unix milliseconds)."""
    return custom_status.expires_at is not None and custom_status.expires_at <= codec.timestamp(now_ms)


def require_own_guilds(call: Call, restricted_guild_ids: Collection[int], requested_guild_ids: Sequence[int]) -> None:
    """Raise form errors for guilds that the caller is not a member of.

    `restricted_guild_ids` are the stored IDs of restricted guilds, and `requested_guild_ids` are the IDs in the request. A
    guild that the caller left after restricting it may stay in the list."""
    new_ids = set(requested_guild_ids).difference(restricted_guild_ids)
    unknown_ids = new_ids.difference(ports.filter_member_guilds(call, call.user_id, new_ids))
    form = FormErrors()
    for index, guild_id in enumerate(requested_guild_ids):
        if guild_id in unknown_ids:
            form.add(("restricted_guilds", index), "GUILD_UNKNOWN", "You are not a member of this guild.")
    form.raise_if_any()


def require_valid_folders(
    call: Call, stored_folders: Sequence[wire.GuildFolder], requested_folders: Sequence[wire.GuildFolder]
) -> None:
    """Raise form errors for folders with the same ID, several guilds without a folder, and repeated or foreign guilds.

    A guild that the caller left after it was listed may stay in its folder."""
    stored_guild_ids = {guild_id for folder in stored_folders for guild_id in folder.guild_ids}
    new_guild_ids = {guild_id for folder in requested_folders for guild_id in folder.guild_ids} - stored_guild_ids
    unknown_ids = new_guild_ids.difference(ports.filter_member_guilds(call, call.user_id, new_guild_ids))
    seen_folder_ids: set[int] = set()
    seen_guild_ids: set[int] = set()
    form = FormErrors()
    for index, folder in enumerate(requested_folders):
        if folder.id is None and len(folder.guild_ids) > 1:
            form.add(("guild_folders", index, "id"), "FOLDER_ID_REQUIRED", "Several guilds need a folder with an ID.")
        if folder.id in seen_folder_ids:
            form.add(("guild_folders", index, "id"), "FOLDER_DUPLICATE", "Another folder has this ID.")
        if folder.id is not None:
            seen_folder_ids.add(folder.id)
        for position, guild_id in enumerate(folder.guild_ids):
            path = ("guild_folders", index, "guild_ids", position)
            if guild_id in seen_guild_ids:
                form.add(path, "GUILD_DUPLICATE", "This guild is listed twice.")
            elif guild_id in unknown_ids:
                form.add(path, "GUILD_UNKNOWN", "You are not a member of this guild.")
            seen_guild_ids.add(guild_id)
    form.raise_if_any()
