"""HTTP handler for the list of features that operators can disable."""

from hubbub.protocol.resources import features as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.features import switches


@handles(wire.LIST_FEATURES)
def list_features(call: Call) -> list[wire.FeatureState]:
    """List the features of the server that operators can disable."""
    return [
        wire.FeatureState(name=feature.name, enabled=feature.enabled, message=feature.message)
        for feature in switches.list_features(call)
    ]
