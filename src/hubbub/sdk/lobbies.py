"""Lobbies and linked channels (spec/sdk.md#12)."""

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from hubbub.protocol.ids import ChannelId
from hubbub.protocol.rpc_names import DeepLinkType, RpcCommand
from hubbub.sdk import resources
from hubbub.sdk.core import Core, OneShotCallback
from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ChannelType, member_or_default
from hubbub.sdk.events import GatewayEventHandlers
from hubbub.sdk.handles import LobbyHandle, find_lobby, find_user
from hubbub.sdk.merges import Merges
from hubbub.sdk.records import GuildChannel, GuildMinimal, LinkedLobby
from hubbub.sdk.results import ClientResult, SdkError, validation_error
from hubbub.sdk.rpc import RpcClient

if TYPE_CHECKING:
    from hubbub.protocol.resources.channels import Channel
    from hubbub.protocol.resources.lobbies import Lobby

ResultCallback = Callable[[ClientResult], object]
LobbyIdCallback = Callable[[ClientResult, int], object]

VOICE_CHANNEL_TYPES: Final = (ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE)
"""Types of voice channels, which the chat client shows below the other channels of their category."""


class Lobbies:
    """Component of the client that joins and leaves lobbies and links channels to them.

    `rpc` returns the RPC client of the client, which is created on first use. `open_url` opens a URL in a browser."""

    def __init__(
        self,
        core: Core,
        events: GatewayEventHandlers,
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
        return self._core.run_in_session(
            name, callback, (0,), self._create_or_join, secret, dict(lobby_metadata), dict(member_metadata)
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
        return self._core.run_in_session("LinkChannelToLobby", callback, (), self._update_link, lobby_id, channel_id)

    def unlink_channel_from_lobby(self, lobby_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Remove the link between a lobby and its channel."""
        return self._core.run_in_session("UnlinkChannelFromLobby", callback, (), self._update_link, lobby_id, None)

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
        secret_max = resources.lobbies.LOBBY_SECRET_MAX
        if not 1 <= len(secret) <= secret_max:
            raise validation_error(f"The secret must have 1 to {secret_max} characters")
        body = resources.lobbies.CreateOrJoinLobby(secret=secret)
        if lobby_metadata is not None:
            _check_metadata(lobby_metadata)
            body.lobby_metadata = lobby_metadata
        if member_metadata is not None:
            _check_metadata(member_metadata)
            body.member_metadata = member_metadata
        payload = await self._core.call_tolerantly(resources.lobbies.CREATE_OR_JOIN_LOBBY, body=body)
        self._cache_lobby(payload)
        return payload.id

    def _cache_lobby(self, payload: "Lobby") -> None:
        """Cache the lobby of a response, and emit it if it is new."""
        core = self._core
        with core.lock:
            lobby, is_new = core.cache.update_lobby(payload)
            member = lobby.members.get(core.cache.current_user_id)
            if member is not None and member.is_connected is None:
                member.is_connected = True
        if is_new:
            # The response and the LOBBY_CREATE event arrive in any order; only the first of them is emitted.
            core.emit("lobby_created", payload.id)

    async def _leave_lobby(self, lobby_id: int) -> None:
        await self._core.request(resources.lobbies.LEAVE_LOBBY, lobby_id=lobby_id)
        with self._core.lock:
            self._core.cache.remove_lobby_channels(lobby_id)
            removed_lobby = self._core.cache.lobbies.pop(lobby_id, None)
            self._events.on_lobby_removed(lobby_id)
        if removed_lobby is not None:
            self._core.emit("lobby_deleted", lobby_id)

    async def _fetch_guilds(self) -> list[GuildMinimal]:
        guilds = await self._core.call(resources.guilds.LIST_MY_GUILDS)
        return [self._core.make(GuildMinimal, id=guild.id, name=guild.name) for guild in guilds]

    async def _fetch_channels(self, guild_id: int) -> list[GuildChannel]:
        query = resources.channels.ListGuildChannels(with_can_link_lobby=True)
        channels = await self._core.call(resources.channels.LIST_GUILD_CHANNELS, query=query, guild_id=guild_id)
        channels.sort(key=_display_order(channels))
        return [
            self._core.make(
                GuildChannel,
                id=channel.id,
                name=channel.name,
                type=member_or_default(ChannelType, channel.type, ChannelType.GUILD_TEXT),
                position=channel.position,
                parent_id=channel.parent_id,
                is_linkable=channel.can_link_lobby is True,
                is_viewable_and_writeable_by_all_members=channel.is_viewable_and_writeable_by_all_members is True,
                linked_lobby=self._core.make(
                    LinkedLobby,
                    application_id=channel.linked_lobby.application_id,
                    lobby_id=channel.linked_lobby.lobby_id,
                )
                if channel.linked_lobby
                else None,
            )
            for channel in channels
        ]

    async def _update_link(self, lobby_id: int, channel_id: int | None) -> None:
        """Link a lobby to a channel, or remove its link if `channel_id` is None."""
        body = resources.lobbies.LinkChannel()
        if channel_id is not None:
            body.channel_id = ChannelId(channel_id)
        operation = resources.lobbies.EDIT_LOBBY_CHANNEL_LINK
        self._cache_lobby(await self._core.call_tolerantly(operation, body=body, lobby_id=lobby_id))

    async def _join_guild(self, lobby_id: int, merge_required: OneShotCallback) -> str:
        lobby = find_lobby(self._core, lobby_id)
        if lobby is None or lobby.linked_channel is None:
            raise validation_error("The lobby is not linked to a channel")
        current_user = find_user(self._core, self._core.cache.current_user_id)
        if current_user is not None and current_user.is_provisional:
            await self._merges.request_merge(merge_required)
        invite = await self._core.call(resources.lobbies.CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_SELF, lobby_id=lobby_id)
        code = invite.code
        url = f"{self._core.web_base}/invite/{code}"
        try:
            await self._rpc().command(RpcCommand.DEEP_LINK, {"type": DeepLinkType.INVITE, "params": {"code": code}})
        except SdkError:
            # Without a browser the game can show the URL itself.
            with contextlib.suppress(OSError):
                await run_in_daemon_thread(self._open_url, url)
        return url


def _check_metadata(metadata: dict[str, str]) -> None:
    keys_max, total_max = resources.lobbies.LOBBY_METADATA_KEYS_MAX, resources.lobbies.LOBBY_METADATA_TOTAL_MAX
    if len(metadata) > keys_max:
        raise validation_error(f"Metadata must have at most {keys_max} keys")
    if sum(len(text) for pair in metadata.items() for text in pair) > total_max:
        raise validation_error(f"Metadata must have at most {total_max} characters in total")


def _display_order(channels: "list[Channel]") -> "Callable[[Channel], tuple[int, ...]]":
    """Return the sort key of the order in which the chat client shows the channels of a guild.

    Channels without a category come first, then channels of hidden categories, then each visible category with its
    channels. In each group voice channels come after the other channels, and channels of the same kind are sorted by
    position."""
    categories: dict[int | None, tuple[int, int]] = {
        channel.id: (channel.position, channel.id) for channel in channels if channel.type == ChannelType.GUILD_CATEGORY
    }

    def sort_key(channel: "Channel") -> tuple[int, ...]:
        within_group = (channel.type in VOICE_CHANNEL_TYPES, channel.position, channel.id)
        if channel.id in categories:
            return (1, *categories[channel.id], 0)
        if channel.parent_id in categories:
            return (1, *categories[channel.parent_id], 1, *within_group)
        # The chat client shows channels of hidden categories after those without a category.
        return (0, channel.parent_id is not None, *within_group)

    return sort_key
