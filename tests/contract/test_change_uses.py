"""Every dated change names the uses of the platform that it concerns, and every use exists."""

import pytest

from hubbub.protocol import change_uses, changes
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import INTENTS_BY_NAME
from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from tests.contract.tables import events

CHANGES_WITHOUT_TRAFFIC = {
    "sdk_support_window": "versions of the SDK, not behavior",
    "set_activity_types": "a command of the local agent",
    "activity_proxy_prefix_required": "requests of activities go to the activity's own server",
    "activity_proxy_prefix_optional": "requests of activities go to the activity's own server",
    "webhook_events": "the platform sends them; before the date no program could receive one",
    "application_deauthorized_event": "the platform sends it; before the date no program could receive one",
    "ban_unmerge": "documented on that day; the behavior did not change",
}
"""Changes that no traffic of a program shows, with the reason."""

VOICE_USES = {
    change_uses.VOICE_VERSION_BELOW_4,
    change_uses.VOICE_OLD_ENCRYPTION,
    change_uses.VOICE_WITHOUT_E2EE,
}
OPERATIONS = {f"{endpoint.operation.method} {endpoint.operation.path}" for endpoint in EndpointTable(SLICES)}


def test_every_change_names_its_uses() -> None:
    named_changes = {change.name for change in change_uses.USES_BY_CHANGE}
    assert named_changes.isdisjoint(CHANGES_WITHOUT_TRAFFIC)
    assert named_changes | CHANGES_WITHOUT_TRAFFIC.keys() == changes.ALL.keys()


@pytest.mark.parametrize("use", sorted(change_uses.ALL_USES))
def test_every_use_exists(use: str) -> None:
    kind, _, name = use.partition(" ")
    match kind:
        case "voice":
            assert use in VOICE_USES
        case "event":
            assert name in {event.name for event in events()}
        case "intent":
            assert name in INTENTS_BY_NAME
        case "frame":
            assert name in GatewayOpcode.__members__
        case "field":
            assert name.replace("_", "").isalpha()
        case "upload":
            assert name in OPERATIONS
        case _:
            assert " ".join(use.split(" ")[:2]) in OPERATIONS
