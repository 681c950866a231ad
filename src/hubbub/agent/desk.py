"""What the commands and events of an agent share: who is signed in and connected, what they show, and the way to tell them."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from hubbub.agent.account import Account
from hubbub.agent.activities import Activities
from hubbub.agent.consent import Consent
from hubbub.agent.launching import Launcher
from hubbub.agent.links import Link, Subscription
from hubbub.agent.processes import Watch
from hubbub.agent.voice import Voice
from hubbub.protocol import rpc_scopes
from hubbub.protocol.enums import GatewayOpcode, Scope
from hubbub.protocol.errors import ApiError
from hubbub.protocol.rpc import RpcError
from hubbub.sdk.aside import aside
from hubbub.sdk.clock import Clock

log = logging.getLogger(__name__)

SOCIAL: Final = frozenset((Scope.SDK_SOCIAL_LAYER.value, Scope.SDK_SOCIAL_LAYER_PRESENCE.value))
USER_FIELDS: Final = ("id", "username", "discriminator", "global_name", "avatar", "avatar_decoration_data")


class Desk:
    """One person, and the programs of their machine."""

    def __init__(self, account: Account, consent: Consent, opener: Callable[[str], Any], clock: Clock) -> None:
        self.account = account
        self.consent = consent
        self._opener = opener
        self.links: Final[list[Link]] = []
        self.activities: Final = Activities(account.show, clock)
        account.activities = self.activities.shown
        self.voice: Final = Voice(self._voice_changed)
        self.requests: Final[set[tuple[str, str]]] = set()
        """Who asked to join which application, and was not answered yet."""
        self.invites: Final[dict[str, dict[str, Any]]] = {}
        """Invites that came, by message; the person may accept them."""
        self.launcher: Final = Launcher(self._runs, self._tell_join)
        self._watches: dict[tuple[Link, int], Watch] = {}
        self._muting: set[asyncio.Task[None]] = set()

    def user(self) -> dict[str, Any]:
        """Who is signed in, as READY names them."""
        me = self.account.state.user
        shown = {name: me.get(name) for name in USER_FIELDS}
        return shown | {"bot": False, "flags": me.get("flags", 0), "premium_type": me.get("premium_type") or 0}

    async def open(self, path: str) -> None:
        """Show the person a page of the platform."""
        await aside(self._opener, f"{self.account.web}{path}")

    # What others see

    def set_activity(self, link: Link, pid: int, activity: dict[str, Any] | None) -> None:
        """Show what a process does, now or as soon as its connection may."""
        link.wanted.pop(pid, None)
        link.wanted[pid] = activity
        if activity is not None and (link, pid) not in self._watches:
            self._watches[link, pid] = Watch(pid, lambda: self._ended(link, pid))
        assert link.updates is not None
        link.updates.call()

    def show(self, link: Link) -> None:
        """Let others see what a program said last."""
        wanted, link.wanted = link.wanted, {}
        for pid, activity in wanted.items():
            self.activities.put(link, pid, activity)

    def forget(self, link: Link) -> None:
        """A program left, and all that it said ends."""
        self.activities.drop(link)
        for key in [key for key in self._watches if key[0] is link]:
            self._watches.pop(key).cancel()
        self.voice.release(link)

    def _ended(self, link: Link, pid: int) -> None:
        self._watches.pop((link, pid), None)
        link.wanted.pop(pid, None)
        self.activities.drop(link, pid)

    # What they hear

    def tell(self, event: str, data: Any, *, about: str | None = None, application_id: str | None = None) -> int:
        """Tell an event to those who want it and still may; how many that are."""
        wanted = {Subscription(event, None), Subscription(event, about)}
        told = 0
        for link in list(self.links):
            if application_id is not None and link.application_id != application_id:
                continue
            if not wanted.isdisjoint(link.subscriptions) and rpc_scopes.allows(rpc_scopes.EVENTS[event], link.scopes):
                link.dispatch(event, data)
                told += 1
        return told

    async def join(self, application_id: str, secret: str) -> bool:
        """Let a game join somebody, now or once it was started; False where it does not run and cannot be started."""
        data = {"secret": secret, "application_id": application_id}
        return bool(self._tell_join(application_id, data)) or await self.launcher.join(application_id, data)

    def _tell_join(self, application_id: str, data: Any) -> int:
        return self.tell("ACTIVITY_JOIN", data, application_id=application_id)

    def _runs(self, application_id: str) -> bool:
        return any(link.application_id == application_id for link in self.links)

    async def request_authorization(self, application_id: str) -> int:
        """The person wants to link their account with a game: it may begin to ask, unless it is linked. How many programs heard."""
        if application_id in await self.linked():
            return 0
        return self.tell("AUTHORIZE_REQUEST", None, application_id=application_id)

    async def linked(self) -> set[str]:
        """Games that the person's account is linked with: they let them in, for the social layer (sdk.md 6.4)."""
        try:
            told = await self.account.ask("GET", "/oauth2/tokens")
        except (ApiError, RpcError) as error:
            # Then the game asks, and the platform knows better.
            log.info("the platform did not say which games are linked: %s", error)
            return set()
        return {each["application"]["id"] for each in told if not SOCIAL.isdisjoint(each["scopes"])}

    # Voice

    def _voice_changed(self, changed: dict[str, Any]) -> None:
        settings = self.voice.settings()
        self.tell("VOICE_SETTINGS_UPDATE", settings)
        self.tell("VOICE_SETTINGS_UPDATE_2", settings)
        channel = self.account.state.voice_channel()
        if channel is not None and changed.keys() & {"mute", "deaf"}:
            task = asyncio.get_running_loop().create_task(self._send_voice(channel))
            self._muting.add(task)
            task.add_done_callback(self._muting.discard)

    async def _send_voice(self, channel: dict[str, Any]) -> None:
        try:
            await self.enter_voice(channel)
        except RpcError:
            # Without a session nobody hears the person anyway.
            return

    async def enter_voice(self, channel: dict[str, Any] | None, guild_id: str | None = None) -> None:
        """Be in a voice channel, or in none, muted and deaf as the settings say."""
        settings = self.voice.settings()
        await self.account.send(
            GatewayOpcode.VOICE_STATE_UPDATE,
            {
                "guild_id": guild_id if channel is None else channel.get("guild_id"),
                "channel_id": None if channel is None else channel["id"],
                "self_mute": settings["mute"],
                "self_deaf": settings["deaf"],
            },
        )
