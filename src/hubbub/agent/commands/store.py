"""Commands for SKUs, entitlements and purchases (spec/rpc.md#6)."""

import asyncio
from typing import Any, Final

from hubbub.agent.commands.registry import handles_command
from hubbub.agent.connections import ProgramConnection
from hubbub.agent.context import AgentContext
from hubbub.agent.validation import parse_arguments, snowflake
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.entitlements import GET_CURRENT_USER_APPLICATION_ENTITLEMENTS, GetMyEntitlements
from hubbub.protocol.resources.skus import GET_STORE
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand

PURCHASE_TIMEOUT_SECONDS: Final = 300.0
PURCHASE_POLL_INTERVAL_SECONDS: Final = 2.0
"""Interval at which the agent fetches the entitlements while it waits for a purchase."""


async def _fetch_skus(context: AgentContext, connection: ProgramConnection) -> list[dict[str, Any]]:
    try:
        store = await context.account.forward(GET_STORE, application_id=connection.application_id)
    except ApiError as error:
        raise RpcError(RpcErrorCode.UNAUTHORIZED_FOR_APPLICATION, str(error)) from None
    skus: list[dict[str, Any]] = store["skus"]
    return skus


async def _fetch_entitlements(context: AgentContext, connection: ProgramConnection) -> list[dict[str, Any]]:
    try:
        entitlements: list[dict[str, Any]] = await context.account.forward(
            GET_CURRENT_USER_APPLICATION_ENTITLEMENTS,
            query=GetMyEntitlements(exclude_consumed=True),
            application_id=connection.application_id,
        )
    except ApiError as error:
        raise RpcError(RpcErrorCode.UNAUTHORIZED_FOR_APPLICATION, str(error)) from None
    return entitlements


@handles_command(RpcCommand.GET_SKUS, RpcCommand.GET_SKUS_EMBEDDED)
async def get_skus(context: AgentContext, connection: ProgramConnection, request: Request) -> Any:
    """List the SKUs on sale in the store of the application; embedded activities expect them in a named field."""
    skus = await _fetch_skus(context, connection)
    return {"skus": skus} if request.cmd.endswith("_EMBEDDED") else skus


@handles_command(RpcCommand.GET_ENTITLEMENTS, RpcCommand.GET_ENTITLEMENTS_EMBEDDED)
async def get_entitlements(context: AgentContext, connection: ProgramConnection, request: Request) -> Any:
    """List the user's entitlements for the application; embedded activities expect them in a named field."""
    entitlements = await _fetch_entitlements(context, connection)
    return {"entitlements": entitlements} if request.cmd.endswith("_EMBEDDED") else entitlements


@handles_command(RpcCommand.START_PURCHASE)
async def start_purchase(
    context: AgentContext, connection: ProgramConnection, request: Request
) -> list[dict[str, Any]]:
    """Open the store page of a SKU, wait until the user buys it, and return the new entitlements.

    Raise RpcError PURCHASE_ERROR for a SKU that the store does not have, and PURCHASE_CANCELLED on timeout."""
    sku_id = parse_arguments(request.args, {"sku_id": snowflake}, "sku_id")["sku_id"]
    if all(sku["id"] != sku_id for sku in await _fetch_skus(context, connection)):
        raise RpcError(RpcErrorCode.PURCHASE_ERROR, "The store of this application has no SKU with this ID")
    previous_ids = {entitlement["id"] for entitlement in await _fetch_entitlements(context, connection)}
    await context.open_page(f"/application-directory/{connection.application_id}/store/{sku_id}")
    try:
        async with asyncio.timeout(PURCHASE_TIMEOUT_SECONDS):
            while True:
                purchased_entitlements = [
                    entitlement
                    for entitlement in await _fetch_entitlements(context, connection)
                    if entitlement["sku_id"] == sku_id and entitlement["id"] not in previous_ids
                ]
                if purchased_entitlements:
                    return purchased_entitlements
                await asyncio.sleep(PURCHASE_POLL_INTERVAL_SECONDS)
    except TimeoutError:
        raise RpcError(RpcErrorCode.PURCHASE_CANCELLED, "The purchase was not completed") from None


@handles_command(RpcCommand.VALIDATE_APPLICATION)
async def validate_application(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Check that the application exists. Applications are not sold, so every user may run them."""
    await _fetch_skus(context, connection)
