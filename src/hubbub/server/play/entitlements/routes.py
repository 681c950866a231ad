"""HTTP handlers for entitlements."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import EntitlementOwnerType, EntitlementType, SkuType
from hubbub.protocol.ids import ApplicationId, EntitlementId
from hubbub.protocol.resources import entitlements as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.play import skus
from hubbub.server.play.entitlements import actions, rules, store, views


@handles(wire.GET_ENTITLEMENTS)
def get_entitlements(call: Call, application_id: ApplicationId, query: wire.GetEntitlements) -> list[wire.Entitlement]:
    """List the entitlements of an application."""
    applications.access.require_manager(call, application_id)
    rows = store.list_page(
        call.tx,
        application_id,
        call.now_ms,
        user_id=None if query.user_id is UNSET else query.user_id,
        guild_id=None if query.guild_id is UNSET else query.guild_id,
        sku_ids=None if query.sku_ids is UNSET else query.sku_ids,
        before=None if query.before is UNSET else query.before,
        after=None if query.after is UNSET else query.after,
        limit=query.limit,
        excludes_ended=query.exclude_ended,
        excludes_deleted=query.exclude_deleted,
        only_active=query.only_active,
    )
    return [views.entitlement(row, call.now_ms) for row in rows]


@handles(wire.CREATE_ENTITLEMENT)
def create_entitlement(call: Call, application_id: ApplicationId, body: wire.CreateEntitlement) -> wire.Entitlement:
    """Create a test entitlement for a user or a guild."""
    application = applications.access.require_manager(call, application_id)
    sku = rules.require_test_sku(call, application_id, body)
    is_for_guild = body.owner_type is EntitlementOwnerType.GUILD
    row = actions.grant(
        call,
        sku,
        # An entitlement requires a user, but a guild's test entitlement has no buyer, so use the developer
        # (decisions/0033).
        application.owner_id if is_for_guild else body.owner_id,
        body.owner_id if is_for_guild else None,
        type=EntitlementType.TEST_MODE_PURCHASE,
        is_test=True,
    )
    return views.entitlement(row, call.now_ms)


@handles(wire.GET_ENTITLEMENT)
def get_entitlement(call: Call, application_id: ApplicationId, entitlement_id: EntitlementId) -> wire.Entitlement:
    """Get an entitlement."""
    applications.access.require_manager(call, application_id)
    return views.entitlement(rules.require_entitlement(call, application_id, entitlement_id), call.now_ms)


@handles(wire.DELETE_ENTITLEMENT)
def delete_entitlement(call: Call, application_id: ApplicationId, entitlement_id: EntitlementId) -> None:
    """Delete a test entitlement."""
    applications.access.require_manager(call, application_id)
    row = rules.require_entitlement(call, application_id, entitlement_id)
    if not row.is_test:
        raise errors.CANNOT_DELETE_ENTITLEMENT()
    actions.delete(call, row)


@handles(wire.CONSUME_ENTITLEMENT)
def consume_entitlement(call: Call, application_id: ApplicationId, entitlement_id: EntitlementId) -> None:
    """Consume an entitlement of a one-time purchase."""
    applications.access.require_manager(call, application_id)
    row = rules.require_entitlement(call, application_id, entitlement_id)
    sku = skus.find(call.tx, row.sku_id)
    if sku is None or sku.type != SkuType.CONSUMABLE:
        raise errors.SKU_NOT_CONSUMABLE()
    if not row.consumed:
        actions.consume(call, row)


@handles(wire.GET_CURRENT_USER_APPLICATION_ENTITLEMENTS)
def get_current_user_application_entitlements(
    call: Call, application_id: ApplicationId, query: wire.GetMyEntitlements
) -> list[wire.Entitlement]:
    """List the current user's entitlements of an application."""
    if applications.find(call.tx, application_id) is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.kind == "bearer" and call.actor.application_id != application_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    sku_ids = None if query.sku_ids is UNSET else query.sku_ids
    rows = store.list_usable_user_entitlements(
        call.tx, application_id, call.user_id, call.now_ms, sku_ids=sku_ids, excludes_consumed=query.exclude_consumed
    )
    return [views.entitlement(row, call.now_ms) for row in rows]
