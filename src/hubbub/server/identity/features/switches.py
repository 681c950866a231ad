"""Switches of features. A switch is read from the store where it applies, so a change is in force in all processes immediately."""

from typing import Final

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import features as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core.call import Call
from hubbub.server.identity.features import store
from hubbub.server.identity.features.store import SwitchRow

_FEATURE_LABELS: Final = {
    Feature.REGISTRATION: "Registration",
    Feature.GUILD_CREATION: "Creating guilds",
    Feature.UPLOADS: "Uploading files",
    Feature.VOICE: "Joining calls",
    Feature.APPLICATIONS: "Adding applications",
    Feature.PUSH: "Push notifications",
    Feature.LINK_PREVIEWS: "Previews of links",
}
"""Subjects of the sentences about switched-off features."""
_PLURAL_FEATURES: Final = (Feature.PUSH, Feature.LINK_PREVIEWS)


def is_enabled(call: Call, feature: Feature) -> bool:
    return store.find(call.tx, feature) is None


def require_enabled(call: Call, feature: Feature) -> None:
    """Raise FEATURE_DISABLED with the message of the operator if a feature is disabled."""
    row = store.find(call.tx, feature)
    if row is not None:
        verb = "are" if feature in _PLURAL_FEATURES else "is"
        message = f"{_FEATURE_LABELS[feature]} {verb} switched off on this server."
        raise errors.FEATURE_DISABLED(message=message if row.message is None else f"{message} {row.message}")


def list_features(call: Call) -> list[wire.AdministeredFeature]:
    """Return every feature, switched off or on, with the message of the operator."""
    rows_by_name = store.list_off(call.tx)
    return [_view(feature, rows_by_name.get(feature)) for feature in Feature]


def switch(call: Call, feature: Feature, *, is_on: bool, message: str | None) -> wire.AdministeredFeature:
    """Enable or disable a feature, with a message for users while it is disabled."""
    if is_on:
        store.delete(call.tx, feature)
        return _view(feature, None)
    actor = call.actor_or_none
    row = SwitchRow(feature.value, None if actor is None else actor.user_id, message, call.now_ms)
    store.insert(call.tx, row)
    return _view(feature, row)


def _view(feature: Feature, row: SwitchRow | None) -> wire.AdministeredFeature:
    return wire.AdministeredFeature(
        name=feature,
        enabled=row is None,
        message=None if row is None else row.message,
        changed_at=None if row is None else codec.timestamp(row.changed_ms),
    )
