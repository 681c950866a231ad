"""Actions of `hubbub admin` that list features and switch them on or off."""

import argparse

from hubbub.protocol.resources.features import FEATURE_MESSAGE_MAX, Feature
from hubbub.server.commands.admin_actions import AdminError, action
from hubbub.server.core.call import Call
from hubbub.server.identity import administration, features


@action("list-features")
def list_features(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the features that can be switched off, with their states and messages."""
    return [
        f"{feature.name}: {'on' if feature.enabled else 'off'}"
        + ("" if not feature.message else f" ({feature.message})")
        for feature in features.list_features(call)
    ]


@action("switch-feature")
def switch_feature(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Switch a feature on or off for all users."""
    if len(arguments.message or "") > FEATURE_MESSAGE_MAX:
        raise AdminError(f"--message must have at most {FEATURE_MESSAGE_MAX} characters")
    administration.switch_feature(
        call,
        Feature(arguments.feature),
        is_on=arguments.state == "on",
        message=arguments.message or None,
        reason=arguments.reason,
    )
    return [f"{arguments.feature} is now {arguments.state}."]
