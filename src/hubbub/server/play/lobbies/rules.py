"""Rules for access to lobbies, membership and channel links, and validation of request bodies."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.errors import FormErrors, Path
from hubbub.protocol.flags import LobbyFlags, LobbyMemberFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import lobbies as wire
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications, relationships, users
from hubbub.server.places.standing import ChannelAccess, ChannelRef, GuildAccess, access
from hubbub.server.play.lobbies import store
from hubbub.server.play.lobbies.store import LobbyMemberRow, LobbyRow

SEND_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES
LINK_PERMISSIONS = Permissions.MANAGE_CHANNELS | SEND_PERMISSIONS
"""Permissions that a user needs in a channel to link it to a lobby."""

# Permissions of lobby members in the linked channel, whether or not they are in its guild (spec/sdk.md#12.6). They may send
# messages, but never mention everyone.
LINKED_CHANNEL_PERMISSIONS = (
    SEND_PERMISSIONS
    | Permissions.EMBED_LINKS
    | Permissions.ATTACH_FILES
    | Permissions.READ_MESSAGE_HISTORY
    | Permissions.SEND_POLLS
)


def require_lobby(call: Call, lobby_id: int) -> LobbyRow:
    """Return a lobby of the caller's application; raise UNKNOWN_LOBBY or MISSING_ACCESS."""
    row = store.find(call.tx, lobby_id)
    if row is None:
        raise errors.UNKNOWN_LOBBY()
    if row.application_id != call.actor.application_id:
        raise errors.MISSING_ACCESS()
    return row


def require_member(call: Call, lobby_id: int) -> tuple[LobbyRow, LobbyMemberRow]:
    """Return a lobby and the caller's membership in it; raise MISSING_ACCESS if the caller is not a member."""
    row = require_lobby(call, lobby_id)
    member = store.find_member(call.tx, row.id, call.user_id)
    if member is None:
        raise errors.MISSING_ACCESS()
    return row, member


def filter_authorized(tx: Tx, application_id: int, candidates: Iterable[users.UserRow]) -> set[int]:
    """Return the IDs of the users who authorized an application of the family or have an identity in it.

    Other users, and bots, cannot be added to a lobby."""
    user_ids = [int(user.id) for user in candidates if not user.bot]
    return relationships.filter_players(tx, user_ids, applications.families.read_family_id(tx, application_id))


# Forms


def check_metadata(form: FormErrors, path: Path, metadata: dict[str, str] | None | UnsetType) -> None:
    """Add a form error if the total length of keys and values exceeds the limit (spec/sdk.md#18).

    The schema of the request body does not express this limit."""
    if metadata and sum(len(key) + len(value) for key, value in metadata.items()) > wire.LOBBY_METADATA_TOTAL_MAX:
        form.add(path, *errors.max_length(wire.LOBBY_METADATA_TOTAL_MAX))


def check_flags(form: FormErrors, path: Path, flags: int | None | UnsetType, allowed_flags: int) -> None:
    """Add a form error if `flags` has bits that are not in `allowed_flags`."""
    if isinstance(flags, int) and flags & ~allowed_flags:
        form.add(path, *errors.bad_enum(flags))


def check_lobby(form: FormErrors, body: wire.CreateLobby) -> None:
    """Validate a lobby request body; errors are added to `form`."""
    check_metadata(form, "metadata", body.metadata)
    check_flags(form, "flags", body.flags, LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION)
    seen_ids: set[int] = set()
    for index, member in enumerate(body.members or ()):
        check_metadata(form, ("members", index, "metadata"), member.metadata)
        check_flags(form, ("members", index, "flags"), member.flags, LobbyMemberFlags.CAN_LINK_LOBBY)
        if member.id in seen_ids:
            form.add(("members", index, "id"), *errors.duplicate())
        seen_ids.add(member.id)
    url = body.override_event_webhooks_url
    if url:
        try:
            url_parts = urlsplit(url)
        except ValueError:
            form.add("override_event_webhooks_url", *errors.bad_url())
            return
        if url_parts.scheme not in ("http", "https"):
            form.add("override_event_webhooks_url", *errors.bad_scheme(url_parts.scheme))
        elif not url_parts.hostname:
            form.add("override_event_webhooks_url", *errors.bad_url())


def check_member(form: FormErrors, path: tuple[str | int, ...], body: wire.AddLobbyMember) -> None:
    """Validate the request body of a lobby member, which is at `path` in the request; errors are added to `form`."""
    check_metadata(form, (*path, "metadata"), body.metadata)
    check_flags(form, (*path, "flags"), body.flags, LobbyMemberFlags.CAN_LINK_LOBBY)


# Linked channels


def require_linkable(call: Call, row: LobbyRow, channel_id: int) -> ChannelRef:
    """Return a channel; raise an error unless the caller may link it to the lobby (spec/sdk.md#12.6)."""
    channel_access = access.get_channel_standing(call, channel_id)
    channel_access.require(LINK_PERMISSIONS)
    check_linkable(row, channel_access.channel)
    return channel_access.channel


def check_linkable(row: LobbyRow, channel: ChannelRef) -> None:
    """Raise an error unless the lobby and the channel can be linked."""
    form = FormErrors()
    if row.by_secret:
        # spec/sdk.md#18: lobbies created with a secret are not eligible.
        form.add("channel_id", "LOBBY_NOT_LINKABLE", "A lobby created with a secret cannot be linked.")
    elif channel.linked_lobby is not None and channel.id != row.linked_channel_id:
        form.add("channel_id", "CHANNEL_ALREADY_LINKED", "The channel is linked to another lobby.")
    elif channel.type != ChannelType.GUILD_TEXT or channel.nsfw:
        form.add("channel_id", "CHANNEL_NOT_LINKABLE", "Only text channels without an age restriction can be linked.")
    form.raise_if_any()


def linked_channel_access(call: Call, channel: ChannelRef) -> ChannelAccess:
    """Return the access of the caller, a lobby member, to the linked channel; guild permissions do not restrict it."""
    guild_id = channel.guild_id
    assert guild_id is not None
    standing = access.find_guild_standing(call.tx, call.now_ms, guild_id, call.user_id) or GuildAccess(
        guild_id=guild_id,
        user_id=call.user_id,
        # The user is not in the guild, so they are not its owner either.
        owner_id=UserId(0),
        mfa_level=0,
        permissions_by_role={},
        ranks=(),
        permissions=LINKED_CHANNEL_PERMISSIONS,
        is_restricted=False,
    )
    return ChannelAccess(
        channel=channel, guild=standing, permissions=LINKED_CHANNEL_PERMISSIONS, allowed=LINKED_CHANNEL_PERMISSIONS
    )
