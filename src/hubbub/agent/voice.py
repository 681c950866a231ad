"""Voice settings as they are kept here, and who may change them (rpc.md 9).

The agent has no sound of its own: it keeps what programs set and tells of it. Mute and deaf also go to the platform, where the
person is in a voice channel.
"""

import copy
from collections.abc import Callable
from typing import Any, Final

from hubbub.agent.forms import Check, fields, flag, items, number, one_of, text
from hubbub.agent.links import Link
from hubbub.protocol.rpc import RpcError, RpcErrorCode

DEFAULTS: Final[dict[str, Any]] = {
    "input": {"available_devices": [{"id": "default", "name": "Default"}], "device_id": "default", "volume": 100},
    "output": {"available_devices": [{"id": "default", "name": "Default"}], "device_id": "default", "volume": 100},
    "mode": {"type": "VOICE_ACTIVITY", "auto_threshold": True, "threshold": -60, "shortcut": [], "delay": 20},
    "automatic_gain_control": True,
    "echo_cancellation": True,
    "noise_suppression": True,
    "qos": False,
    "silence_warning": True,
    "deaf": False,
    "mute": False,
}

_DEVICE: Final = text(1, 256)
_KEY: Final = fields({"type": number(0, 3), "code": number(0), "name": text(1, 64)}, required=("type", "code"))
SETTINGS: Final[dict[str, Check]] = {
    "input": fields({"device_id": _DEVICE, "volume": number(0, 100, whole=False)}),
    "output": fields({"device_id": _DEVICE, "volume": number(0, 200, whole=False)}),
    "mode": fields(
        {
            "type": one_of("PUSH_TO_TALK", "VOICE_ACTIVITY"),
            "auto_threshold": flag,
            "threshold": number(-100, 0, whole=False),
            "shortcut": items(_KEY, 0, 8),
            "delay": number(0, 2000, whole=False),
        }
    ),
    **dict.fromkeys(
        (
            "automatic_gain_control",
            "echo_cancellation",
            "noise_suppression",
            "qos",
            "silence_warning",
            "deaf",
            "mute",
        ),
        flag,
    ),
}
USER: Final[dict[str, Check]] = {
    "pan": fields({"left": number(0, 1, whole=False), "right": number(0, 1, whole=False)}),
    "volume": number(0, 200, whole=False),
    "mute": flag,
}


class Voice:
    """How the person speaks and hears."""

    def __init__(self, told: Callable[[dict[str, Any]], None]) -> None:
        self._tell = told
        self._own = copy.deepcopy(DEFAULTS)
        self._changed: dict[str, Any] = {}
        """What the program that holds the settings set."""
        self._users: dict[str, dict[str, Any]] = {}
        self._holder: Link | None = None
        self._saved: dict[str, dict[str, Any]] = {}
        """What an application had set when it left, for when it returns."""
        self.devices: list[dict[str, Any]] = []
        """Certified devices that programs named."""
        self.pushed = False

    def settings(self) -> dict[str, Any]:
        """As they are now."""
        return _merged(self._own, self._changed)

    def of_user(self, user_id: str) -> dict[str, Any]:
        """How somebody is heard."""
        return {"pan": {"left": 1.0, "right": 1.0}, "volume": 100, "mute": False} | self._users.get(user_id, {})

    def change(self, link: Link, sent: dict[str, Any]) -> None:
        """One application at a time changes them; the first holds them until it leaves."""
        self._hold(link)
        self._changed = _merged(self._changed, sent)
        self._tell(sent)

    def change_user(self, link: Link, user_id: str, sent: dict[str, Any]) -> None:
        """The same for how one person is heard."""
        self._hold(link)
        self._users[user_id] = self._users.get(user_id, {}) | sent

    def restore(self, link: Link) -> None:
        """An application returned, and what it had set with it, where nobody else holds the settings."""
        if self._holder is None and (saved := self._saved.get(link.application_id)):
            self._holder, self._changed = link, saved
            self._tell(saved)

    def release(self, link: Link) -> None:
        """A program left: everything falls back to what it was before."""
        if self._holder is link:
            fell_back, self._changed = self._changed, {}
            self._saved[link.application_id] = fell_back
            self._holder = None
            self._users = {}
            self.pushed = False
            if fell_back:
                self._tell(fell_back)

    def _hold(self, link: Link) -> None:
        if self._holder is not None and self._holder.application_id != link.application_id:
            raise RpcError(RpcErrorCode.INVALID_PERMISSIONS, "another application changes the voice settings now")
        self._holder = self._holder or link


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(one)
    for key, value in other.items():
        known = merged.get(key)
        merged[key] = known | value if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
