"""Lobbies defined by a world file, created without a request."""

from typing import NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import LobbyId
from hubbub.protocol.resources import lobbies as wire
from hubbub.server.core.call import Call
from hubbub.server.places.standing import access
from hubbub.server.play.lobbies import actions, rules, store
from hubbub.server.play.lobbies.linked_channels import channel_links
from hubbub.server.play.lobbies.store import LobbyRow, encode_metadata


class ChannelLink(NamedTuple):
    """The channel to which a new lobby is linked."""

    channel_id: int
    linking_user_id: int
    """ID of the user who linked the channel."""


def create_world_lobby(
    call: Call,
    application_id: int,
    lobby_id: LobbyId,
    body: wire.CreateLobby,
    *,
    secret: str | None = None,
    link: ChannelLink | None = None,
) -> LobbyRow:
    """Create a lobby with its members.

    Without `secret` the lobby is like one that a backend creates, with `secret` like one that users create. `link` is the
    channel to link, or None."""
    form = FormErrors()
    rules.check_lobby(form, body)
    if store.find(call.tx, lobby_id) is not None:
        form.add((), "LOBBY_EXISTS", "A lobby with this name and seed already exists.")
    if secret is not None and store.find_by_secret(call.tx, application_id, secret) is not None:
        form.add("secret", "SECRET_TAKEN", "Another lobby has this secret.")
    form.raise_if_any()
    row = actions.create(
        call,
        application_id,
        lobby_id,
        metadata=encode_metadata(body.metadata or None),
        flags=body.flags or 0,
        idle_timeout_seconds=body.idle_timeout_seconds or wire.LOBBY_IDLE_SECONDS_DEFAULT,
        by_secret=int(secret is not None),
        secret=secret,
        secret_expires_ms=None if secret is None else call.now_ms + wire.LOBBY_SECRET_LIFETIME_MS,
    )
    if link is not None:
        channel = access.find_channel(call.tx, link.channel_id)
        if channel is None:
            raise errors.UNKNOWN_CHANNEL()
        rules.check_linkable(row, channel)
        row = channel_links.store_link(call, row, channel.id, link.linking_user_id)
    members = [
        actions.build_member_row(call, row, member.id, None, metadata=member.metadata, flags=member.flags)
        for member in body.members or ()
    ]
    actions.update_members(call, row, members)
    return row
