"""The `Client` of a game with every operation of the specification under its PEP 8 name, and `reset_callbacks`.

    async with Client(ClientCreateOptions(web_base="https://social.example")) as client:    # inside asyncio
        await client.update_token(AuthorizationTokenType.BEARER, token)
        await client.connect()
        lobby_id = await client.create_or_join_lobby("secret")

    client = Client(...)                                                                     # in a game loop
    client.create_or_join_lobby("secret", lambda result, lobby_id: ...)
    while playing:
        client.run_callbacks()

`Client` delegates to one part class per subject; each assignment in its body names the method of a part. Calling an
operation starts it. Await the returned `Completion` to get its value or an `SdkError`, or pass a callback, which is
called once with `(result, outputs...)`: inside `run_callbacks`, or by the event loop of an asyncio program.
"""

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar

import msgspec

from hubbub.sdk import version
from hubbub.sdk.api import File
from hubbub.sdk.arguments import check_argument, check_call
from hubbub.sdk.audio import AudioBackend
from hubbub.sdk.authorization import Authorization, UrlOpener, open_browser
from hubbub.sdk.callback_queue import all_queues
from hubbub.sdk.clock import Clock, read_machine_ms
from hubbub.sdk.connection import Connection
from hubbub.sdk.core import Core
from hubbub.sdk.diagnostics import Diagnostics
from hubbub.sdk.drivers import Completion
from hubbub.sdk.invites import Invites
from hubbub.sdk.lobbies import Lobbies
from hubbub.sdk.merges import Merges
from hubbub.sdk.messages import Messages
from hubbub.sdk.objects import MoveOnly
from hubbub.sdk.presence import Presence
from hubbub.sdk.records import ClientCreateOptions
from hubbub.sdk.relationships import Relationships
from hubbub.sdk.rpc import RpcClient
from hubbub.sdk.system_audio import SystemAudio
from hubbub.sdk.tokens import Tokens
from hubbub.sdk.voice import VoiceCalls

if TYPE_CHECKING:
    from hubbub.protocol.operation import BodyT, Operation, ResultT

P = ParamSpec("P")
R = TypeVar("R")

_cores: "weakref.WeakSet[Core]" = weakref.WeakSet()
"""Cores of all clients, for `reset_callbacks`."""


def _delegate_to(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate["Client", P], R]:
    """Return a client method that delegates to `method` of a part, with the same signature and docstring.

    It checks its arguments first, so that a wrong one raises TypeError or ValueError in the call of the game."""
    part_class = getattr(sys.modules[method.__module__], method.__qualname__.partition(".")[0])

    def delegate(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> R:
        _, *checked_args = check_call(method, (self, *args), kwargs)
        return method(self._parts[part_class], *checked_args, **kwargs)

    update_wrapper(delegate, method)
    return delegate


class Client(MoveOnly):
    """Connection of one player to one platform.

    A client created inside a running asyncio loop uses that loop and delivers callbacks automatically. A client created
    elsewhere runs the network on its own thread and delivers callbacks only inside `run_callbacks`. `threaded`
    overrides this choice.

    `options` may also be the URL of the HTTP API; `web_base` is then the URL of the platform. `clock` returns the
    machine's time, which is used for log lines and until the platform's clock is known. `audio` records and plays the
    sound of calls, by default with the devices of the machine; a backend serves one client only. `open_browser` opens
    the authorization pages. Close the client with `close`, or use it as a context manager."""

    _class_variants: Mapping[type, type] = MappingProxyType({})
    """Classes of the objects that the client returns, by their PEP 8 class; set by `hubbub.sdk.compat`."""

    def __init__(
        self,
        options: ClientCreateOptions | str | None = None,
        web_base: str = "",
        *,
        threaded: bool | None = None,
        clock: Clock = read_machine_ms,
        open_browser: UrlOpener = open_browser,
        audio: AudioBackend | None = None,
    ) -> None:
        if isinstance(options, Client):
            raise TypeError("Client can be moved, not copied; use move()")
        check_argument("options", options, ClientCreateOptions | str | None)
        check_argument("web_base", web_base, str)
        check_argument("threaded", threaded, bool | None)
        super().__init__()
        if isinstance(options, str):
            options = ClientCreateOptions(api_base=options, web_base=web_base)
        core = Core(
            options or ClientCreateOptions(),
            threaded=threaded,
            clock=clock,
            class_variants=self._class_variants,
        )
        self._core: Core = core
        _cores.add(core)
        rpc_clients: list[RpcClient] = []

        def rpc() -> RpcClient:
            # The RPC client is created on first use, because most games never need it.
            if not rpc_clients:
                rpc_clients.append(RpcClient(core))
            return rpc_clients[0]

        merges = Merges(core)
        tokens = Tokens(core, open_browser)
        connection = Connection(core, tokens, rpc)
        presence = Presence(core, connection.gateway, rpc)
        parts: list[Any] = [
            merges,
            tokens,
            connection,
            presence,
            Authorization(core, rpc, open_browser),
            Diagnostics(core),
            Invites(core, connection.events, connection.gateway, presence, rpc),
            Lobbies(core, connection.events, rpc, merges, open_browser),
            Messages(core, connection.events, rpc, merges),
            Relationships(core),
            VoiceCalls(core, connection.events, connection.gateway, audio or SystemAudio()),
        ]
        self._parts: dict[type, Any] = {type(part): part for part in parts}
        # A client that is garbage-collected without `close` must not leave its network thread running.
        self._finalizer = weakref.finalize(self, core.close)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._core.api.api}>" if self._valid else "<Client nullobj>"

    # Lifecycle

    def run_callbacks(self) -> int:
        """Deliver the completions and events queued since the last call, and return how many there were.

        Call this once per frame. An exception raised by a callback propagates; the remaining callbacks stay queued."""
        return self._core.callback_queue.run()

    def close(self) -> Completion[None]:
        """Destroy the client, and close its connections and its network thread.

        Pending operations complete with `enums.ErrorType.CLIENT_DESTROYED`."""
        self._finalizer.detach()
        return self._core.close()

    def move(self) -> Self:
        """Return a new object that owns this client; this object becomes invalid."""
        self._finalizer.detach()
        new_client = super().move()
        new_client._finalizer = weakref.finalize(new_client, new_client._core.close)
        return new_client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def call(
        self,
        operation: "Operation[BodyT, ResultT]",
        *,
        body: "BodyT | None" = None,
        query: msgspec.Struct | None = None,
        files: Sequence[File] = (),
        reason: str | None = None,
        callback: Callable[..., object] | None = None,
        **path: int | str,
    ) -> "Completion[ResultT]":
        """Send any operation of the HTTP API with the token set by `update_token`.

        `path` are the parameters of the operation's URL; `reason` is recorded in the audit log. The operation completes
        with the decoded response."""

        async def run() -> "ResultT":
            self._core.api.authorization = f"Bearer {self._core.token}" if self._core.token else None
            return await self._core.api.call(operation, body=body, query=query, files=files, reason=reason, **path)

        return self._core.run(f"{operation.method} {operation.path}", callback, (None,), run)

    # Connection and users
    connect = _delegate_to(Connection.connect)
    disconnect = _delegate_to(Connection.disconnect)
    get_status = _delegate_to(Connection.get_status)
    set_status_changed_callback = _delegate_to(Connection.set_status_changed_callback)
    set_application_id = _delegate_to(Connection.set_application_id)
    get_application_id = _delegate_to(Connection.get_application_id)
    set_http_request_timeout = _delegate_to(Connection.set_http_request_timeout)
    set_thread_priority = _delegate_to(Connection.set_thread_priority)
    get_current_user = _delegate_to(Connection.get_current_user)
    get_current_user_v2 = _delegate_to(Connection.get_current_user_v2)
    get_user = _delegate_to(Connection.get_user)
    get_user_application_profiles = _delegate_to(Connection.get_user_application_profiles)
    get_user_application_profiles_no_lock = _delegate_to(Connection.get_user_application_profiles_no_lock)
    locked = _delegate_to(Connection.locked)
    set_user_updated_callback = _delegate_to(Connection.set_user_updated_callback)
    get_platform_client_connected_user = _delegate_to(Connection.get_platform_client_connected_user)
    is_platform_app_installed = _delegate_to(Connection.is_platform_app_installed)
    open_connected_games_settings_in_platform = _delegate_to(Connection.open_connected_games_settings_in_platform)
    status_to_string = staticmethod(Connection.status_to_string)
    error_to_string = staticmethod(Connection.error_to_string)
    thread_to_string = staticmethod(Connection.thread_to_string)
    get_version_major = staticmethod(version.get_version_major)
    get_version_minor = staticmethod(version.get_version_minor)
    get_version_patch = staticmethod(version.get_version_patch)
    get_version_hash = staticmethod(version.get_version_hash)

    # Authorization
    authorize = _delegate_to(Authorization.authorize)
    abort_authorize = _delegate_to(Authorization.abort_authorize)
    handle_authorize_redirect = _delegate_to(Authorization.handle_authorize_redirect)
    create_authorization_code_verifier = _delegate_to(Authorization.create_authorization_code_verifier)
    register_authorize_request_callback = _delegate_to(Authorization.register_authorize_request_callback)
    remove_authorize_request_callback = _delegate_to(Authorization.remove_authorize_request_callback)
    set_game_window_pid = _delegate_to(Authorization.set_game_window_pid)
    get_default_communication_scopes = staticmethod(Authorization.get_default_communication_scopes)
    get_default_presence_scopes = staticmethod(Authorization.get_default_presence_scopes)

    # Tokens
    get_token = _delegate_to(Tokens.get_token)
    get_token_from_provisional_merge = _delegate_to(Tokens.get_token_from_provisional_merge)
    refresh_token = _delegate_to(Tokens.refresh_token)
    revoke_token = _delegate_to(Tokens.revoke_token)
    exchange_child_token = _delegate_to(Tokens.exchange_child_token)
    get_provisional_token = _delegate_to(Tokens.get_provisional_token)
    unmerge_into_provisional_account = _delegate_to(Tokens.unmerge_into_provisional_account)
    update_provisional_account_display_name = _delegate_to(Tokens.update_provisional_account_display_name)
    get_token_from_device = _delegate_to(Tokens.get_token_from_device)
    get_token_from_device_provisional_merge = _delegate_to(Tokens.get_token_from_device_provisional_merge)
    abort_get_token_from_device = _delegate_to(Tokens.abort_get_token_from_device)
    open_authorize_device_screen = _delegate_to(Tokens.open_authorize_device_screen)
    close_authorize_device_screen = _delegate_to(Tokens.close_authorize_device_screen)
    set_authorize_device_screen_closed_callback = _delegate_to(Tokens.set_authorize_device_screen_closed_callback)
    update_token = _delegate_to(Tokens.update_token)
    is_authenticated = _delegate_to(Tokens.is_authenticated)
    fetch_current_user = _delegate_to(Tokens.fetch_current_user)
    set_token_expiration_callback = _delegate_to(Tokens.set_token_expiration_callback)
    provisional_user_merge_completed = _delegate_to(Merges.provisional_user_merge_completed)

    # Relationships
    send_platform_friend_request = _delegate_to(Relationships.send_platform_friend_request)
    send_platform_friend_request_by_id = _delegate_to(Relationships.send_platform_friend_request_by_id)
    send_game_friend_request = _delegate_to(Relationships.send_game_friend_request)
    send_game_friend_request_by_id = _delegate_to(Relationships.send_game_friend_request_by_id)
    accept_platform_friend_request = _delegate_to(Relationships.accept_platform_friend_request)
    accept_game_friend_request = _delegate_to(Relationships.accept_game_friend_request)
    reject_platform_friend_request = _delegate_to(Relationships.reject_platform_friend_request)
    reject_game_friend_request = _delegate_to(Relationships.reject_game_friend_request)
    cancel_platform_friend_request = _delegate_to(Relationships.cancel_platform_friend_request)
    cancel_game_friend_request = _delegate_to(Relationships.cancel_game_friend_request)
    remove_platform_and_game_friend = _delegate_to(Relationships.remove_platform_and_game_friend)
    remove_game_friend = _delegate_to(Relationships.remove_game_friend)
    block_user = _delegate_to(Relationships.block_user)
    unblock_user = _delegate_to(Relationships.unblock_user)
    get_relationship_handle = _delegate_to(Relationships.get_relationship_handle)
    get_relationships = _delegate_to(Relationships.get_relationships)
    get_relationships_by_group = _delegate_to(Relationships.get_relationships_by_group)
    search_friends_by_username = _delegate_to(Relationships.search_friends_by_username)
    set_relationship_created_callback = _delegate_to(Relationships.set_relationship_created_callback)
    set_relationship_deleted_callback = _delegate_to(Relationships.set_relationship_deleted_callback)
    set_relationship_groups_updated_callback = _delegate_to(Relationships.set_relationship_groups_updated_callback)

    # Presence and invites
    update_rich_presence = _delegate_to(Presence.update_rich_presence)
    clear_rich_presence = _delegate_to(Presence.clear_rich_presence)
    set_online_status = _delegate_to(Presence.set_online_status)
    set_showing_chat = _delegate_to(Presence.set_showing_chat)
    register_launch_command = _delegate_to(Presence.register_launch_command)
    register_launch_steam_application = _delegate_to(Presence.register_launch_steam_application)
    send_activity_invite = _delegate_to(Invites.send_activity_invite)
    send_activity_join_request = _delegate_to(Invites.send_activity_join_request)
    send_activity_join_request_reply = _delegate_to(Invites.send_activity_join_request_reply)
    accept_activity_invite = _delegate_to(Invites.accept_activity_invite)
    set_activity_invite_created_callback = _delegate_to(Invites.set_activity_invite_created_callback)
    set_activity_invite_updated_callback = _delegate_to(Invites.set_activity_invite_updated_callback)
    set_activity_join_callback = _delegate_to(Invites.set_activity_join_callback)
    set_activity_join_with_application_callback = _delegate_to(Invites.set_activity_join_with_application_callback)

    # Messages
    send_user_message = _delegate_to(Messages.send_user_message)
    send_user_message_with_metadata = _delegate_to(Messages.send_user_message_with_metadata)
    edit_user_message = _delegate_to(Messages.edit_user_message)
    delete_user_message = _delegate_to(Messages.delete_user_message)
    send_lobby_message = _delegate_to(Messages.send_lobby_message)
    send_lobby_message_with_metadata = _delegate_to(Messages.send_lobby_message_with_metadata)
    get_lobby_messages_with_limit = _delegate_to(Messages.get_lobby_messages_with_limit)
    get_user_messages_with_limit = _delegate_to(Messages.get_user_messages_with_limit)
    get_user_message_summaries = _delegate_to(Messages.get_user_message_summaries)
    get_message_handle = _delegate_to(Messages.get_message_handle)
    get_channel_handle = _delegate_to(Messages.get_channel_handle)
    can_open_message_in_platform = _delegate_to(Messages.can_open_message_in_platform)
    open_message_in_platform = _delegate_to(Messages.open_message_in_platform)
    set_message_created_callback = _delegate_to(Messages.set_message_created_callback)
    set_message_updated_callback = _delegate_to(Messages.set_message_updated_callback)
    set_message_deleted_callback = _delegate_to(Messages.set_message_deleted_callback)

    # Lobbies
    create_or_join_lobby = _delegate_to(Lobbies.create_or_join_lobby)
    create_or_join_lobby_with_metadata = _delegate_to(Lobbies.create_or_join_lobby_with_metadata)
    leave_lobby = _delegate_to(Lobbies.leave_lobby)
    get_lobby_handle = _delegate_to(Lobbies.get_lobby_handle)
    get_lobby_ids = _delegate_to(Lobbies.get_lobby_ids)
    get_user_guilds = _delegate_to(Lobbies.get_user_guilds)
    get_guild_channels = _delegate_to(Lobbies.get_guild_channels)
    link_channel_to_lobby = _delegate_to(Lobbies.link_channel_to_lobby)
    unlink_channel_from_lobby = _delegate_to(Lobbies.unlink_channel_from_lobby)
    join_linked_lobby_guild = _delegate_to(Lobbies.join_linked_lobby_guild)
    set_lobby_created_callback = _delegate_to(Lobbies.set_lobby_created_callback)
    set_lobby_deleted_callback = _delegate_to(Lobbies.set_lobby_deleted_callback)
    set_lobby_updated_callback = _delegate_to(Lobbies.set_lobby_updated_callback)
    set_lobby_member_added_callback = _delegate_to(Lobbies.set_lobby_member_added_callback)
    set_lobby_member_updated_callback = _delegate_to(Lobbies.set_lobby_member_updated_callback)
    set_lobby_member_removed_callback = _delegate_to(Lobbies.set_lobby_member_removed_callback)

    # Voice
    start_call = _delegate_to(VoiceCalls.start_call)
    start_call_with_audio_callbacks = _delegate_to(VoiceCalls.start_call_with_audio_callbacks)
    get_call = _delegate_to(VoiceCalls.get_call)
    get_calls = _delegate_to(VoiceCalls.get_calls)
    end_call = _delegate_to(VoiceCalls.end_call)
    end_calls = _delegate_to(VoiceCalls.end_calls)
    get_input_devices = _delegate_to(VoiceCalls.get_input_devices)
    get_output_devices = _delegate_to(VoiceCalls.get_output_devices)
    get_current_input_device = _delegate_to(VoiceCalls.get_current_input_device)
    get_current_output_device = _delegate_to(VoiceCalls.get_current_output_device)
    set_input_device = _delegate_to(VoiceCalls.set_input_device)
    set_output_device = _delegate_to(VoiceCalls.set_output_device)
    get_default_audio_device_id = staticmethod(VoiceCalls.get_default_audio_device_id)
    set_device_change_callback = _delegate_to(VoiceCalls.set_device_change_callback)
    get_input_volume = _delegate_to(VoiceCalls.get_input_volume)
    set_input_volume = _delegate_to(VoiceCalls.set_input_volume)
    get_output_volume = _delegate_to(VoiceCalls.get_output_volume)
    set_output_volume = _delegate_to(VoiceCalls.set_output_volume)
    get_self_mute_all = _delegate_to(VoiceCalls.get_self_mute_all)
    set_self_mute_all = _delegate_to(VoiceCalls.set_self_mute_all)
    get_self_deaf_all = _delegate_to(VoiceCalls.get_self_deaf_all)
    set_self_deaf_all = _delegate_to(VoiceCalls.set_self_deaf_all)
    set_echo_cancellation = _delegate_to(VoiceCalls.set_echo_cancellation)
    set_noise_suppression = _delegate_to(VoiceCalls.set_noise_suppression)
    set_automatic_gain_control = _delegate_to(VoiceCalls.set_automatic_gain_control)
    set_noise_cancellation = _delegate_to(VoiceCalls.set_noise_cancellation)
    set_no_audio_input_threshold = _delegate_to(VoiceCalls.set_no_audio_input_threshold)
    set_no_audio_input_callback = _delegate_to(VoiceCalls.set_no_audio_input_callback)
    set_opus_hardware_coding = _delegate_to(VoiceCalls.set_opus_hardware_coding)
    set_engine_managed_audio_session = _delegate_to(VoiceCalls.set_engine_managed_audio_session)
    set_speaker_mode = _delegate_to(VoiceCalls.set_speaker_mode)
    show_audio_route_picker = _delegate_to(VoiceCalls.show_audio_route_picker)
    set_voice_participant_changed_callback = _delegate_to(VoiceCalls.set_voice_participant_changed_callback)
    set_aec_dump = _delegate_to(VoiceCalls.set_aec_dump)

    # Diagnostics
    add_log_callback = _delegate_to(Diagnostics.add_log_callback)
    add_voice_log_callback = _delegate_to(Diagnostics.add_voice_log_callback)
    set_log_dir = _delegate_to(Diagnostics.set_log_dir)
    set_voice_log_dir = _delegate_to(Diagnostics.set_voice_log_dir)


def reset_callbacks() -> None:
    """Drop every callback of every client, including those of pending operations. Call this when the program ends."""
    for core in list(_cores):
        core.reset()
    for queue in all_queues():
        # A queue may remain after its client was garbage-collected.
        queue.clear()


__all__: Final = ["Client", "reset_callbacks"]
