"""Lobbies and linked channels (spec/sdk.md#12)."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from hubbub.sdk import operations
from hubbub.sdk.core import Core, OneShotCallback
from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ChannelType, member_or_default
from hubbub.sdk.events import Events
from hubbub.sdk.handles import LobbyHandle, find_lobby, find_user
from hubbub.sdk.merges import Merges
from hubbub.sdk.payloads import ChannelPayload, LobbyPayload, decode_payload
from hubbub.sdk.records import GuildChannel, GuildMinimal, LinkedLobby
from hubbub.sdk.results import ClientResult, SdkError, validation_error
from hubbub.sdk.rpc import RpcClient

SECRET_MAX: Final = 250
"""Maximum number of characters of a lobby secret."""
METADATA_TOTAL_MAX: Final = 1000
"""Maximum number of characters of all metadata keys and values together."""
METADATA_KEYS_MAX: Final = 25
"""Maximum number of metadata keys."""

ResultCallback = Callable[[ClientResult], object]
LobbyIdCallback = Callable[[ClientResult, int], object]


class GuildPayload(msgspec.Struct):
    """Wire model of a guild."""

    id: int
    name: str = ""


class LinkedLobbyPayload(msgspec.Struct):
    """Wire model of the lobby that a channel is linked to."""

    application_id: int = 0
    lobby_id: int = 0


class GuildChannelPayload(msgspec.Struct):
    """Wire model of a guild channel."""

    id: int
    name: str | None = None
    type: int = 0
    position: int | None = None
    parent_id: int | None = None
    can_link_lobby: bool = False
    is_linkable: bool | None = None
    is_viewable_and_writeable_by_all_members: bool = False
    linked_lobby: LinkedLobbyPayload | None = None


class InvitePayload(msgspec.Struct):
    """Wire model of a guild invite."""

    code: str


VOICE_TYPES: Final = (ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE)
"""Types of channels that the chat client shows below the others."""


class Lobbies:
    """Client part that joins and leaves lobbies and links channels to them.

    `rpc` returns the RPC client of the client, which is created on first use. `open_url` opens a URL in a browser."""

    def __init__(
        self,
        core: Core,
        events: Events,
        rpc: Callable[[], RpcClient],
        merges: Merges,
        open_url: Callable[[str], object],
    ) -> None:
        self._core = core
        self._events = events
        self._rpc = rpc
        self._merges = merges
        self._open_url = open_url

    def create_or_join_lobby(self, secret: str, callback: LobbyIdCallback | None = None) -> Completion[int]:
        """Join the lobby with this secret, which is created if it does not exist; completes with the lobby ID.

        The secret has 1 to 250 characters."""
        return self._core.run_in_session("CreateOrJoinLobby", callback, (0,), self._create_or_join, secret, None, None)

    def create_or_join_lobby_with_metadata(
        self,
        secret: str,
        lobby_metadata: Mapping[str, str],
        member_metadata: Mapping[str, str],
        callback: LobbyIdCallback | None = None,
    ) -> Completion[int]:
        """Join the lobby with this secret and replace its metadata and the current user's member metadata.

        The lobby is created if it does not exist. Each metadata has at most 25 keys and 1000 characters in total.
        Completes with the lobby ID."""
        name = "CreateOrJoinLobbyWithMetadata"
        lobby_fields, member_fields = dict(lobby_metadata), dict(member_metadata)
        return self._core.run_in_session(
            name, callback, (0,), self._create_or_join, secret, lobby_fields, member_fields
        )

    def leave_lobby(self, lobby_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Leave a lobby; a lobby that the game's backend created cannot be left."""
        return self._core.run_in_session("LeaveLobby", callback, (), self._leave_lobby, lobby_id)

    def get_lobby_handle(self, lobby_id: int) -> LobbyHandle | None:
        """Return a lobby that the current user is a member of, or None; this does not send a request."""
        return find_lobby(self._core, lobby_id)

    def get_lobby_ids(self) -> list[int]:
        """Return the IDs of the lobbies that the current user is a member of."""
        with self._core.lock:
            return list(self._core.cache.lobbies)

    # Linked channels

    def get_user_guilds(
        self, callback: Callable[[ClientResult, list[GuildMinimal]], object] | None = None
    ) -> Completion[list[GuildMinimal]]:
        """List the guilds that the current user is a member of."""
        return self._core.run_in_session("GetUserGuilds", callback, ([],), self._fetch_guilds)

    def get_guild_channels(
        self, guild_id: int, callback: Callable[[ClientResult, list[GuildChannel]], object] | None = None
    ) -> Completion[list[GuildChannel]]:
        """List the channels of a guild, in the order in which the chat client shows them."""
        return self._core.run_in_session("GetGuildChannels", callback, ([],), self._fetch_channels, guild_id)

    def link_channel_to_lobby(
        self, lobby_id: int, channel_id: int, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Link a guild channel to a lobby, so that both share their messages."""
        return self._core.run_in_session(
            "LinkChannelToLobby", callback, (), self._update_link, lobby_id, {"channel_id": str(channel_id)}
        )

    def unlink_channel_from_lobby(self, lobby_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Remove the link between a lobby and its channel."""
        return self._core.run_in_session("UnlinkChannelFromLobby", callback, (), self._update_link, lobby_id, {})

    def join_linked_lobby_guild(
        self,
        lobby_id: int,
        provisional_user_merge_required: Callable[[], object],
        callback: Callable[[ClientResult, str], object] | None = None,
    ) -> Completion[str]:
        """Invite the current user to the guild of a lobby's linked channel; completes with the URL of the invite.

        The invite is opened in the chat client or in a browser. If the current user has a provisional account,
        `provisional_user_merge_required` is called first; the game then links the account and calls
        `provisional_user_merge_completed`."""
        name = "JoinLinkedLobbyGuild"
        merge_required = self._core.hold_callback(provisional_user_merge_required)
        return self._core.run_in_session(name, callback, ("",), self._join_guild, lobby_id, merge_required)

    # Events

    def set_lobby_created_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for lobbies that the current user joined; it receives the lobby ID."""
        self._core.set_callback("lobby_created", callback)

    def set_lobby_deleted_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for lobbies that were deleted or left; it receives the lobby ID."""
        self._core.set_callback("lobby_deleted", callback)

    def set_lobby_updated_callback(self, callback: Callable[[int], object]) -> None:
        """Set the callback for changes of a lobby's metadata or linked channel; it receives the lobby ID."""
        self._core.set_callback("lobby_updated", callback)

    def set_lobby_member_added_callback(self, callback: Callable[[int, int], object]) -> None:
        """Set the callback for other users who join a lobby; it receives the lobby ID and the user ID."""
        self._core.set_callback("lobby_member_added", callback)

    def set_lobby_member_updated_callback(self, callback: Callable[[int, int], object]) -> None:
        """Set the callback for members who connect, disconnect or change; it receives the lobby ID and the user ID."""
        self._core.set_callback("lobby_member_updated", callback)

    def set_lobby_member_removed_callback(self, callback: Callable[[int, int], object]) -> None:
        """Set the callback for other users who leave a lobby; it receives the lobby ID and the user ID."""
        self._core.set_callback("lobby_member_removed", callback)

    # Implementation

    async def _create_or_join(
        self, secret: str, lobby_metadata: dict[str, str] | None, member_metadata: dict[str, str] | None
    ) -> int:
        if not 1 <= len(secret) <= SECRET_MAX:
            raise validation_error(f"The secret must have 1 to {SECRET_MAX} characters")
        body: dict[str, Any] = {"secret": secret}
        for name, metadata in (("lobby_metadata", lobby_metadata), ("member_metadata", member_metadata)):
            if metadata is not None:
                _check_metadata(metadata)
                body[name] = metadata
        payload = decode_payload(
            await self._core.request(operations.lobbies.CREATE_OR_JOIN_LOBBY, json=body), LobbyPayload
        )
        self._cache_lobby(payload)
        return payload.id

    def _cache_lobby(self, payload: LobbyPayload) -> None:
        """Cache the lobby of a response, and emit it if it is new."""
        core = self._core
        with core.lock:
            is_new = core.cache.update_lobby(payload)[1]
            core.cache.channels[payload.id] = ChannelPayload(id=payload.id, type=ChannelType.LOBBY)
            member = core.cache.lobbies[payload.id].members.get(core.cache.current_user_id)
            if member is not None and member.connected is None:
                member.connected = True
        if is_new:
            # The response and the LOBBY_CREATE event arrive in any order; only the first of them is emitted.
            core.emit("lobby_created", payload.id)

    async def _leave_lobby(self, lobby_id: int) -> None:
        await self._core.request(operations.lobbies.LEAVE_LOBBY, lobby_id=lobby_id)
        with self._core.lock:
            self._core.cache.remove_lobby_channels(lobby_id)
            removed_lobby = self._core.cache.lobbies.pop(lobby_id, None)
            self._events.on_lobby_removed(lobby_id)
        if removed_lobby is not None:
            self._core.emit("lobby_deleted", lobby_id)

    async def _fetch_guilds(self) -> list[GuildMinimal]:
        payloads = decode_payload(await self._core.request(operations.guilds.LIST_MY_GUILDS), list[GuildPayload])
        return [self._core.make(GuildMinimal, id=guild.id, name=guild.name) for guild in payloads]

    async def _fetch_channels(self, guild_id: int) -> list[GuildChannel]:
        response = await self._core.request(
            operations.channels.LIST_GUILD_CHANNELS, query={"with_can_link_lobby": "true"}, guild_id=guild_id
        )
        payloads = decode_payload(response, list[GuildChannelPayload])
        payloads.sort(key=_display_order(payloads))
        return [
            self._core.make(
                GuildChannel,
                id=channel.id,
                name=channel.name or "",
                type=member_or_default(ChannelType, channel.type, ChannelType.GUILD_TEXT),
                position=channel.position or 0,
                parent_id=channel.parent_id,
                is_linkable=channel.can_link_lobby if channel.is_linkable is None else channel.is_linkable,
                is_viewable_and_writeable_by_all_members=channel.is_viewable_and_writeable_by_all_members,
                linked_lobby=self._core.make(
                    LinkedLobby,
                    application_id=channel.linked_lobby.application_id,
                    lobby_id=channel.linked_lobby.lobby_id,
                )
                if channel.linked_lobby
                else None,
            )
            for channel in payloads
        ]

    async def _update_link(self, lobby_id: int, body: dict[str, str]) -> None:
        """Link a lobby to the channel in `body`, or remove its link if `body` is empty."""
        response = await self._core.request(operations.lobbies.EDIT_LOBBY_CHANNEL_LINK, json=body, lobby_id=lobby_id)
        self._cache_lobby(decode_payload(response, LobbyPayload))

    async def _join_guild(self, lobby_id: int, merge_required: OneShotCallback) -> str:
        lobby = find_lobby(self._core, lobby_id)
        if lobby is None or lobby.linked_channel is None:
            raise validation_error("The lobby is not linked to a channel")
        current_user = find_user(self._core, self._core.cache.current_user_id)
        if current_user is not None and current_user.is_provisional:
            await self._merges.require_merge(merge_required)
        response = await self._core.request(
            operations.lobbies.CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_SELF, lobby_id=lobby_id
        )
        code = decode_payload(response, InvitePayload).code
        url = f"{self._core.web_base}/invite/{code}"
        try:
            await self._rpc().command("DEEP_LINK", {"type": "INVITE", "params": {"code": code}})
        except SdkError:
            # Without a browser the game can show the URL itself.
            with contextlib.suppress(OSError):
                await run_in_daemon_thread(self._open_url, url)
        return url


def _check_metadata(metadata: dict[str, str]) -> None:
    if len(metadata) > METADATA_KEYS_MAX:
        raise validation_error(f"Metadata must have at most {METADATA_KEYS_MAX} keys")
    if sum(len(text) for pair in metadata.items() for text in pair) > METADATA_TOTAL_MAX:
        raise validation_error(f"Metadata must have at most {METADATA_TOTAL_MAX} characters in total")


def _display_order(channels: list[GuildChannelPayload]) -> Callable[[GuildChannelPayload], tuple[int, ...]]:
    """Return the sort key of the order in which the chat client shows the channels of a guild.

    Channels without a visible category come first, then each category with its channels; in both groups, text channels
    come before voice channels. Channels of the same kind are sorted by position."""
    categories = {
        channel.id: (channel.position or 0, channel.id)
        for channel in channels
        if channel.type == ChannelType.GUILD_CATEGORY
    }

    def sort_key(channel: GuildChannelPayload) -> tuple[int, ...]:
        within_group = (channel.type in VOICE_TYPES, channel.position or 0, channel.id)
        if channel.id in categories:
            return (1, *categories[channel.id], 0)
        if channel.parent_id in categories:
            return (1, *categories[channel.parent_id], 1, *within_group)
        # The chat client shows channels of hidden categories after those without a category.
        return (0, channel.parent_id is not None, *within_group)

    return sort_key
