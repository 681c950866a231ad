"""Voice settings of the user, which one application at a time may change (spec/rpc.md#9).

`voice_client.VoiceClient` applies the settings to the audio of the channel that the agent joined. Mute and deaf are also
sent to the platform.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

from hubbub.agent.connections import ProgramConnection
from hubbub.agent.validation import Check, boolean, fields, items, number, one_of, text
from hubbub.protocol.rpc import RpcError, RpcErrorCode

DEFAULT_DEVICE: Final = {"id": "default", "name": "Default"}
"""Entry of `available_devices` that selects the default device of the system."""
DEFAULT_SETTINGS: Final[dict[str, Any]] = {
    "input": {"available_devices": [DEFAULT_DEVICE], "device_id": "default", "volume": 100},
    "output": {"available_devices": [DEFAULT_DEVICE], "device_id": "default", "volume": 100},
    "mode": {"type": "VOICE_ACTIVITY", "auto_threshold": True, "threshold": -60, "shortcut": [], "delay": 20},
    "automatic_gain_control": True,
    "echo_cancellation": True,
    "noise_suppression": True,
    "qos": False,
    "silence_warning": True,
    "deaf": False,
    "mute": False,
}

_DEVICE_ID_CHECK: Final = text(1, 256)
_SHORTCUT_KEY_CHECK: Final = fields(
    {"type": number(0, 3), "code": number(0), "name": text(1, 64)}, required=("type", "code")
)
SETTINGS_CHECKS: Final[dict[str, Check]] = {
    "input": fields({"device_id": _DEVICE_ID_CHECK, "volume": number(0, 100, is_whole=False)}),
    "output": fields({"device_id": _DEVICE_ID_CHECK, "volume": number(0, 200, is_whole=False)}),
    "mode": fields(
        {
            "type": one_of("PUSH_TO_TALK", "VOICE_ACTIVITY"),
            "auto_threshold": boolean,
            "threshold": number(-100, 0, is_whole=False),
            "shortcut": items(_SHORTCUT_KEY_CHECK, 0, 8),
            "delay": number(0, 2000, is_whole=False),
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
        boolean,
    ),
}
CERTIFIED_TYPES: Final = {"input": "audioinput", "output": "audiooutput"}
"""Types of certified devices by the name of their settings."""
CERTIFIED_FIELDS: Final = ("vendor", "model")
"""Fields of a certified device that `available_devices` contains."""
USER_SETTINGS_CHECKS: Final[dict[str, Check]] = {
    "pan": fields({"left": number(0, 1, is_whole=False), "right": number(0, 1, is_whole=False)}),
    "volume": number(0, 200, is_whole=False),
    "mute": boolean,
}


class VoiceSettings:
    """The voice settings of the user, and the program that controls them."""

    def __init__(self, on_change: Callable[[dict[str, Any]], None], on_user_change: Callable[[], None]) -> None:
        """`on_change` is called with the settings that changed, `on_user_change` after the settings of another user."""
        self._on_change = on_change
        self._on_user_change = on_user_change
        self._defaults = copy.deepcopy(DEFAULT_SETTINGS)
        self._changed_settings: dict[str, Any] = {}
        """Settings changed by the program that controls them."""
        self._user_settings: dict[str, dict[str, Any]] = {}
        """Local settings for other users, by user ID."""
        self._controller: ProgramConnection | None = None
        """Connection of the program that controls the settings, or None."""
        self._saved_settings: dict[str, dict[str, Any]] = {}
        """Settings of disconnected applications by ID, which are restored on their next connection."""
        self.devices: list[dict[str, Any]] = []
        """Certified devices that a program registered last."""

    def get_settings(self) -> dict[str, Any]:
        """Return the current settings."""
        settings = _merge(self._defaults, self._changed_settings)
        for name in CERTIFIED_TYPES:
            settings[name]["available_devices"] = self._offer_devices(name)
        return settings

    def set_available_devices(self, inputs: Sequence[tuple[str, str]], outputs: Sequence[tuple[str, str]]) -> None:
        """Set the devices of the machine, as pairs of ID and name."""
        for name, devices in (("input", inputs), ("output", outputs)):
            further_devices = [
                {"id": id, "name": device_name} for id, device_name in devices if id != DEFAULT_DEVICE["id"]
            ]
            self._defaults[name]["available_devices"] = [DEFAULT_DEVICE, *further_devices]

    def find_certified_device(self, device_id: str, type: str = CERTIFIED_TYPES["input"]) -> dict[str, Any] | None:
        """Return the certified device of this type with an ID, or None."""
        return next((device for device in self.devices if device["type"] == type and device["id"] == device_id), None)

    def _offer_devices(self, name: str) -> list[dict[str, Any]]:
        """Return the devices of the machine, with the vendor and model of certified ones."""
        offered_devices = []
        for device in self._defaults[name]["available_devices"]:
            certified_device = self.find_certified_device(device["id"], CERTIFIED_TYPES[name]) or {}
            offered_devices.append(
                device | {field: certified_device[field] for field in CERTIFIED_FIELDS if field in certified_device}
            )
        return offered_devices

    def require_available_devices(self, settings: dict[str, Any]) -> None:
        """Raise RpcError INVALID_PAYLOAD if settings select a device that is not available."""
        for name in CERTIFIED_TYPES:
            device_id = settings.get(name, {}).get("device_id")
            available_ids = {device["id"] for device in self._defaults[name]["available_devices"]}
            if device_id is not None and device_id not in available_ids:
                raise RpcError(
                    RpcErrorCode.INVALID_PAYLOAD, f'child "{name}" fails because [child "device_id" is not available]'
                )

    def list_user_settings(self) -> dict[str, dict[str, Any]]:
        """Return the complete local settings of the other users that have some, by user ID."""
        return {user_id: self.get_user_settings(user_id) for user_id in self._user_settings}

    def get_user_settings(self, user_id: str) -> dict[str, Any]:
        """Return the local volume, pan and mute of another user."""
        defaults = {"pan": {"left": 1.0, "right": 1.0}, "volume": 100, "mute": False}
        return _merge(defaults, self._user_settings.get(user_id, {}))

    def update(self, connection: ProgramConnection, settings: dict[str, Any]) -> None:
        """Update the settings and take control of them; raise RpcError if another application controls them.

        The application of `connection` has control until the program that took control disconnects."""
        self._take_control(connection)
        self._changed_settings = _merge(self._changed_settings, settings)
        self._on_change(settings)

    def update_user(self, connection: ProgramConnection, user_id: str, settings: dict[str, Any]) -> None:
        """Update the local volume, pan or mute of another user; raise RpcError if another application controls the settings."""
        self._take_control(connection)
        self._user_settings[user_id] = _merge(self._user_settings.get(user_id, {}), settings)
        self._on_user_change()

    def restore(self, connection: ProgramConnection) -> None:
        """Restore the saved settings of an application that connected again, unless another one controls the settings."""
        if self._controller is None and (saved_settings := self._saved_settings.get(connection.application_id)):
            self._controller, self._changed_settings = connection, saved_settings
            self._on_change(saved_settings)

    def release(self, connection: ProgramConnection) -> None:
        """Reset the settings to the defaults if the disconnected program controlled them, and save the changes.

        `restore` applies the saved changes when the application connects again."""
        if self._controller is connection:
            released_settings, self._changed_settings = self._changed_settings, {}
            self._saved_settings[connection.application_id] = released_settings
            self._controller = None
            self._user_settings = {}
            self._on_user_change()
            if released_settings:
                self._on_change(released_settings)

    def _take_control(self, connection: ProgramConnection) -> None:
        if self._controller is not None and self._controller.application_id != connection.application_id:
            raise RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Another application controls the voice settings")
        self._controller = self._controller or connection


def _merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged_settings = copy.deepcopy(base)
    for key, value in changes.items():
        current = merged_settings.get(key)
        merged_settings[key] = current | value if isinstance(current, dict) and isinstance(value, dict) else value
    return merged_settings
