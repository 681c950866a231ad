"""Commands for SKUs, entitlements and purchases (rpc.md 6)."""

import asyncio
from typing import Any, Final

from hubbub.agent.commands.table import obeys
from hubbub.agent.desk import Desk
from hubbub.agent.forms import arguments, snowflake
from hubbub.agent.links import Link
from hubbub.protocol.errors import ApiError
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode

PURCHASE_S: Final = 300.0
LOOK_S: Final = 2.0


async def _skus(context: Desk, connection: Link) -> list[dict[str, Any]]:
    try:
        store = await context.account.ask(
            "GET", "/applications/{application_id}/store", application_id=connection.application_id
        )
    except ApiError as error:
        raise RpcError(RpcErrorCode.UNAUTHORIZED_FOR_APPLICATION, str(error)) from None
    skus: list[dict[str, Any]] = store["skus"]
    return skus


async def _entitlements(context: Desk, connection: Link) -> list[dict[str, Any]]:
    try:
        entitlements: list[dict[str, Any]] = await context.account.ask(
            "GET",
            "/users/@me/applications/{application_id}/entitlements",
            query={"exclude_consumed": "true"},
            application_id=connection.application_id,
        )
    except ApiError as error:
        raise RpcError(RpcErrorCode.UNAUTHORIZED_FOR_APPLICATION, str(error)) from None
    return entitlements


@obeys("GET_SKUS", "GET_SKUS_EMBEDDED")
async def get_skus(context: Desk, connection: Link, request: Request) -> Any:
    """List the SKUs of the application; embedded activities expect them in a named field."""
    skus = await _skus(context, connection)
    return {"skus": skus} if request.cmd.endswith("_EMBEDDED") else skus


@obeys("GET_ENTITLEMENTS", "GET_ENTITLEMENTS_EMBEDDED")
async def get_entitlements(context: Desk, connection: Link, request: Request) -> Any:
    """List the user's entitlements for the application; embedded activities expect them in a named field."""
    found = await _entitlements(context, connection)
    return {"entitlements": found} if request.cmd.endswith("_EMBEDDED") else found


@obeys("START_PURCHASE")
async def start_purchase(context: Desk, connection: Link, request: Request) -> list[dict[str, Any]]:
    """Open the store page of an SKU and wait until the user buys it; raise RpcError 5008 on timeout."""
    sku_id = arguments(request.args, {"sku_id": snowflake}, "sku_id")["sku_id"]
    if all(sku["id"] != sku_id for sku in await _skus(context, connection)):
        raise RpcError(RpcErrorCode.PURCHASE_ERROR, "This application has no SKU with this ID")
    before = {each["id"] for each in await _entitlements(context, connection)}
    await context.open(f"/application-directory/{connection.application_id}/store/{sku_id}")
    try:
        async with asyncio.timeout(PURCHASE_S):
            while True:
                bought = [
                    each
                    for each in await _entitlements(context, connection)
                    if each["sku_id"] == sku_id and each["id"] not in before
                ]
                if bought:
                    return bought
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        raise RpcError(RpcErrorCode.PURCHASE_CANCELLED, "The purchase was not completed") from None


@obeys("VALIDATE_APPLICATION")
async def validate_application(context: Desk, connection: Link, request: Request) -> None:
    """Check that the user may run the application, which only has to exist: applications themselves are not sold."""
    await _skus(context, connection)
