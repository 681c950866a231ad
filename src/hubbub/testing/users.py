"""Users in a test, with a method for each action of a chat client.

Actions that cause events connect to the gateway first, so that the user receives the events. `within` limits a wait in
seconds; by default the timeout of the platform applies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hubbub.people import forms, ogg
from hubbub.people.messages import ChannelReference, MessageReference
from hubbub.people.results import Result, ResultList
from hubbub.people.users import UserClient
from hubbub.protocol.control.ready import WorldApplication
from hubbub.protocol.enums import ComponentType
from hubbub.protocol.resources.interaction_callbacks import AutocompleteChoice
from hubbub.protocol.resources.invites import Invite
from hubbub.protocol.resources.messages import Message
from hubbub.protocol.resources.subscriptions import Purchase
from hubbub.protocol.resources.voice_states import VoiceState
from hubbub.testing.actors import Actor
from hubbub.testing.background import Background

HEAR_SECONDS_MAX: Final = 300.0
"""Default maximum duration of a recording, in seconds."""
QUIET_SECONDS: Final = 0.5
"""Default pause in seconds that ends a recording."""


class User(Actor):
    """A user of the world, or one added by `Platform.add_user`."""

    _client: UserClient

    def __init__(self, background: Background, client: UserClient) -> None:
        super().__init__(background, client)

    # Messages

    def send_message(
        self, channel: ChannelReference, content: str = "", *, files: Mapping[str, bytes] | None = None, **body: Any
    ) -> Result[Message]:
        """Send a message, with optional files by name and other fields of the API's body; return the message."""
        __tracebackhide__ = True
        action = self._client.send_message(channel, {"content": content, **body}, files or {})
        return self._run_action(action, "send_message")

    def reply(self, message: MessageReference, content: str = "", **body: Any) -> Result[Message]:
        """Reply to a message; return the reply."""
        __tracebackhide__ = True
        return self._run_action(self._client.reply(message, {"content": content, **body}), "reply")

    def edit(self, message: MessageReference, content: str, **body: Any) -> Result[Message]:
        """Edit a message of this user; return the message."""
        __tracebackhide__ = True
        return self._run_action(self._client.edit(message, {"content": content, **body}), "edit")

    def delete(self, message: MessageReference) -> Result[None]:
        """Delete a message."""
        __tracebackhide__ = True
        return self._run_action(self._client.delete(message), "delete")

    def react(self, message: MessageReference, emoji: str) -> Result[None]:
        """Add a reaction to a message."""
        __tracebackhide__ = True
        return self._run_action(self._client.react(message, emoji), f"react {emoji}")

    def read(self, channel: ChannelReference, limit: int = 50) -> ResultList[Message]:
        """Return the latest messages of a channel, newest first."""
        __tracebackhide__ = True
        return self._run_action(self._client.read(channel, limit), "read")

    # Friends, guilds, authorization, purchases and voice

    def befriend(self, other: Actor) -> Result[None]:
        """Send a friend request, or accept one."""
        __tracebackhide__ = True
        return self._run_action(self._client.befriend(other.id), f"befriend {other.name}")

    def join(self, invite: str | Mapping[str, Any]) -> Result[Invite]:
        """Accept an invite, which is a code or an invite object of the API; return the invite."""
        __tracebackhide__ = True
        code = invite if isinstance(invite, str) else invite["code"]
        return self._run_action(self._client.join(code), f"join {code}")

    def authorize(
        self,
        application: str | WorldApplication,
        scope: str | Sequence[str] = "identify",
        *,
        guild: str | None = None,
        permissions: int | None = None,
        **query: Any,
    ) -> Result[Any]:
        """Authorize an application, as on its consent page, or add its bot to a guild (`scope="bot"`).

        `scope` is a list of scopes, or a string in which spaces separate them. Return the URL to which the browser is
        redirected (`url`), its `redirect_uri`, and its parameters (`code`, `state`, `access_token`).
        """
        __tracebackhide__ = True
        return self._run_action(self._client.authorize(application, scope, guild, permissions, query), "authorize")

    def buy(self, sku: str, *, guild: str | None = None) -> Result[Purchase]:
        """Buy a SKU, given its name or ID; return the purchase with its `entitlement`.

        A guild subscription is bought for `guild`.
        """
        __tracebackhide__ = True
        return self._run_action(self._client.buy(sku, guild), f"buy {sku}")

    def join_voice(
        self, channel: ChannelReference, *, self_mute: bool = False, self_deaf: bool = False, audio: bool = False
    ) -> Result[Any]:
        """Join a voice channel; return the `endpoint`, `token` and `session_id` that a voice client needs.

        With `audio=True` the user connects to the voice server and receives the audio of the call (needs `hubbub[server,voice]`).
        """
        __tracebackhide__ = True
        flags = {"self_mute": self_mute, "self_deaf": self_deaf}
        action = self._client.join_voice(channel, flags, with_audio=audio)
        return self._run_action(action, "join voice")

    def leave_voice(self) -> Result[VoiceState]:
        """Leave the current voice channel; return the new voice state."""
        __tracebackhide__ = True
        return self._run_action(self._client.leave_voice(), "leave voice")

    def play(self, file: bytes, *, within: float | None = None) -> Result[Any]:
        """Play an Ogg Opus file in the call, in real time; return its number of `frames` and its `duration_ms`.

        `within` limits the time in seconds until another user is connected.
        """
        __tracebackhide__ = True
        return self._run_action(self._client.play(file, within), "play")

    def hear(
        self,
        user: Actor | None = None,
        *,
        duration: float = HEAR_SECONDS_MAX,
        quiet: float = QUIET_SECONDS,
        within: float | None = None,
    ) -> Result[Any]:
        """Return the audio that this user receives in the call from `user`, or from the first user who speaks.

        The result has the `user_id`, the Ogg Opus `file`, its number of `frames` and its `duration_ms`. The recording
        ends after `duration` seconds, or when the user is quiet for `quiet` seconds. `within` limits the time in seconds
        until the user starts to speak.
        """
        __tracebackhide__ = True
        return self._run_action(self._hear(None if user is None else user.id, duration, quiet, within), "hear")

    async def _hear(self, user_id: str | None, duration: float, quiet: float, within: float | None) -> Result[Any]:
        __tracebackhide__ = True
        speaker_id, packets = await self._client.hear(user_id, duration, quiet, within)
        file, duration_ms = ogg.encode_file(packets), ogg.compute_duration_ms(packets)
        return Result(user_id=speaker_id, file=file, frames=len(packets), duration_ms=duration_ms)

    # Applications

    def run(
        self,
        channel: ChannelReference,
        command: str,
        options: Mapping[str, Any] | None = None,
        *,
        target: Actor | Mapping[str, Any] | str | None = None,
        application: str | WorldApplication | None = None,
        within: float | None = None,
        wait_for_answer: bool = True,
    ) -> Result[Any]:
        """Run a command; return the response: a message or a modal.

        A subcommand follows its command, as in `"settings show"`. `target` is the user or message of a context menu command. If the
        application defers its response, the message that it sends later is returned; with `wait_for_answer=False`, the
        deferred response itself.
        """
        __tracebackhide__ = True
        action = self._client.run(
            channel, command, options or {}, target, application, within, wait_for_answer=wait_for_answer
        )
        return self._run_action(action, f"run /{command}")

    def complete(
        self,
        channel: ChannelReference,
        command: str,
        option: str,
        typed: str,
        options: Mapping[str, Any] | None = None,
        *,
        application: str | WorldApplication | None = None,
        within: float | None = None,
    ) -> ResultList[AutocompleteChoice]:
        """Type text in an option; return the application's autocomplete choices: a list of `{"name", "value"}`."""
        __tracebackhide__ = True
        values = {**(options or {}), option: typed}
        action = self._client.complete(channel, command, option, values, application, within)
        return self._run_action(action, f"complete /{command}")

    def click(
        self, message: Mapping[str, Any], button: str, *, within: float | None = None, wait_for_answer: bool = True
    ) -> Result[Any]:
        """Click a button, given its custom_id or label; return the response.

        The response is a new message, the updated message with the button, or a modal; `wait_for_answer` is as in `run`.
        """
        __tracebackhide__ = True
        action = self._client.use_component(
            message, button, (ComponentType.BUTTON,), None, within, wait_for_answer=wait_for_answer
        )
        return self._run_action(action, f"click {button}")

    def choose(
        self,
        message: Mapping[str, Any],
        select: str,
        *values: Any,
        within: float | None = None,
        wait_for_answer: bool = True,
    ) -> Result[Any]:
        """Choose values in a select, given its custom_id or placeholder; return the response.

        Values may be strings, users, or names of users, channels and roles. `wait_for_answer` is as in `run`.
        """
        __tracebackhide__ = True
        action = self._client.use_component(
            message, select, forms.SELECT_TYPES, values, within, wait_for_answer=wait_for_answer
        )
        return self._run_action(action, f"choose {select}")

    def submit(
        self,
        modal: Mapping[str, Any],
        fields: Mapping[str, Any] | None = None,
        *,
        within: float | None = None,
        wait_for_answer: bool = True,
    ) -> Result[Any]:
        """Submit a modal, with values by custom_id or label of its fields; return the response.

        `wait_for_answer` is as in `run`.
        """
        __tracebackhide__ = True
        action = self._client.submit(modal, fields or {}, within, wait_for_answer=wait_for_answer)
        return self._run_action(action, "submit")
