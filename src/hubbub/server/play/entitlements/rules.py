"""Checks that an entitlement exists, and that a test entitlement can be created."""

from hubbub.protocol import errors
from hubbub.protocol.enums import EntitlementOwnerType
from hubbub.protocol.resources import entitlements as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import guilds
from hubbub.server.play import skus
from hubbub.server.play.entitlements import store
from hubbub.server.play.entitlements.store import EntitlementRow
from hubbub.server.play.skus import SkuRow


def require_entitlement(call: Call, application_id: int, entitlement_id: int) -> EntitlementRow:
    """Return an application's entitlement that is not deleted; raise UNKNOWN_ENTITLEMENT otherwise."""
    row = store.find(call.tx, entitlement_id)
    if row is None or row.application_id != application_id or row.deleted:
        raise errors.UNKNOWN_ENTITLEMENT()
    return row


def require_test_sku(call: Call, application_id: int, body: wire.CreateEntitlement) -> SkuRow:
    """Return the SKU of a test entitlement.

    Raise an error unless it is a subscription of the application that is sold to the requested type of owner, and the
    owner exists and has no active entitlement to it."""
    sku = skus.find(call.tx, body.sku_id)
    if sku is None or sku.application_id != application_id:
        raise errors.UNKNOWN_SKU()
    if not sku.is_subscription:
        raise errors.INVALID_SKU()
    is_for_guild = body.owner_type is EntitlementOwnerType.GUILD
    if is_for_guild is not sku.for_guilds:
        buyers = "guilds" if sku.for_guilds else "users"
        raise errors.invalid("owner_type", "ENTITLEMENT_OWNER_TYPE_INVALID", f"This SKU is sold to {buyers}.")
    if is_for_guild and guilds.find(call.tx, body.owner_id) is None:
        raise errors.UNKNOWN_GUILD()
    if not is_for_guild and users.find(call.tx, body.owner_id) is None:
        raise errors.UNKNOWN_USER()
    if store.has_active(call.tx, sku.id, body.owner_id, body.owner_id if is_for_guild else None, call.now_ms):
        raise errors.ENTITLEMENT_ALREADY_GRANTED()
    return sku
