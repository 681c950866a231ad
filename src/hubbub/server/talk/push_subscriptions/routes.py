"""HTTP handlers for push subscriptions. Only users have them; bots and OAuth2 sessions do not."""

from hubbub.protocol import errors
from hubbub.protocol.ids import PushSubscriptionId
from hubbub.protocol.resources import push_subscriptions as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import features
from hubbub.server.talk.push_subscriptions import actions, encryption, store


@handles(wire.LIST_PUSH_SUBSCRIPTIONS, writes=True)
def list_push_subscriptions(call: Call) -> wire.PushSettings:
    """List the push subscriptions of the current login session.

    The response also has the public key with which browsers subscribe."""
    if not call.config.push.enabled or not features.is_enabled(call, Feature.PUSH):
        return wire.PushSettings(public_key=None, subscriptions=[])
    return wire.PushSettings(
        public_key=encryption.derive_public_key(actions.find_or_create_key(call)),
        subscriptions=[actions.view(row) for row in actions.list_current(call)],
    )


@handles(wire.CREATE_PUSH_SUBSCRIPTION)
def create_push_subscription(call: Call, body: wire.CreatePushSubscription) -> wire.PushSubscription:
    """Create a push subscription for a browser of the current user.

    A subscription with the same endpoint is replaced. The subscription is used until the token of the request is revoked."""
    if not call.config.push.enabled:
        raise errors.FEATURE_DISABLED()
    features.require_enabled(call, Feature.PUSH)
    return actions.create(call, body)


@handles(wire.DELETE_PUSH_SUBSCRIPTION)
def delete_push_subscription(call: Call, push_subscription_id: PushSubscriptionId) -> None:
    """Delete a push subscription of the current login session."""
    if push_subscription_id not in {row.id for row in actions.list_current(call)}:
        raise errors.NOT_FOUND()
    store.delete(call.tx, [push_subscription_id])
