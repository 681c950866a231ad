"""HTTP handlers that list, enable and disable features."""

from hubbub.protocol import errors
from hubbub.protocol.resources import features as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import features
from hubbub.server.identity.administration.audit_entries import audit


@handles(wire.LIST_ADMINISTERED_FEATURES)
def list_administered_features(call: Call) -> list[wire.AdministeredFeature]:
    """List the features of the server and their switches."""
    return features.list_features(call)


@handles(wire.SET_FEATURE)
def set_feature(call: Call, feature_name: str, body: wire.SetFeature) -> wire.AdministeredFeature:
    """Enable or disable a feature.

    The change applies immediately in all processes.
    """
    if feature_name not in set(Feature):
        raise errors.NOT_FOUND()
    return switch_feature(call, Feature(feature_name), is_on=body.enabled, message=body.message, reason=body.reason)


def switch_feature(
    call: Call, feature: Feature, *, is_on: bool, message: str | None = None, reason: str | None = None
) -> wire.AdministeredFeature:
    """Enable or disable a feature and record the change in the audit log."""
    view = features.switch(call, feature, is_on=is_on, message=message)
    action = "feature.switch_on" if is_on else "feature.switch_off"
    audit.log_action(call, action, "feature", target_name=feature.value, detail=view.message or "", reason=reason)
    return view
