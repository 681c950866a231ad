"""Outbound requests with a name server that changes its answers, in a network of its own."""

import pytest
from aiohttp import web

from hubbub.server.core.outbound_http import ForbiddenTargetError, OutboundClient, UnreachableError
from tests.server.core.isolated_network import (
    LOCAL_ADDRESS,
    OTHER_PUBLIC_ADDRESS,
    PUBLIC_ADDRESS,
    Authority,
    run_scenario,
    start_name_server,
    start_web_server,
)

pytestmark = [pytest.mark.program("unshare"), pytest.mark.program("ip")]

SCENARIOS = (
    "a_name_is_resolved_once_per_connection",
    "one_private_address_among_several_rejects_a_name",
    "redirects_to_private_names_are_not_followed",
    "certificates_of_webhook_receivers_are_verified",
)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_outbound_requests_in_a_network_of_their_own(scenario: str) -> None:
    run_scenario(__name__, scenario)


async def start_recorder() -> list[str]:
    """Serve port 80 at all addresses; return the list to which each request adds the address that received it."""
    receivers: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        receivers.append(request.transport.get_extra_info("sockname")[0])
        if request.path == "/redirect":
            raise web.HTTPFound(request.query["to"])
        response = web.json_response({})
        # Every request needs a new connection, and with it a new answer of the name server.
        response.force_close()
        return response

    await start_web_server(handle, (PUBLIC_ADDRESS, OTHER_PUBLIC_ADDRESS, LOCAL_ADDRESS), 80)
    return receivers


async def a_name_is_resolved_once_per_connection(authority: Authority) -> None:
    names = await start_name_server(rebinding_example=[[PUBLIC_ADDRESS], [LOCAL_ADDRESS]])
    receivers, client = await start_recorder(), OutboundClient()

    assert (await client.request("GET", "http://rebinding.example/")).status == 200
    assert (receivers, names.query_counts) == ([PUBLIC_ADDRESS], {"rebinding.example": 1})
    for _ in range(2):
        with pytest.raises(ForbiddenTargetError):
            await client.request("GET", "http://rebinding.example/")

    assert receivers == [PUBLIC_ADDRESS]
    await client.close()


async def one_private_address_among_several_rejects_a_name(authority: Authority) -> None:
    mixed_addresses = [
        [PUBLIC_ADDRESS, LOCAL_ADDRESS],
        [LOCAL_ADDRESS, PUBLIC_ADDRESS],
        [PUBLIC_ADDRESS, "169.254.169.254"],
        [PUBLIC_ADDRESS, "10.0.0.1"],
        [PUBLIC_ADDRESS, OTHER_PUBLIC_ADDRESS],
    ]
    await start_name_server(mixed_example=mixed_addresses)
    receivers, client = await start_recorder(), OutboundClient()

    for _ in mixed_addresses[:-1]:
        with pytest.raises(ForbiddenTargetError):
            await client.request("GET", "http://mixed.example/")
    assert receivers == []
    assert (await client.request("GET", "http://mixed.example/")).status == 200
    with pytest.raises(UnreachableError):
        await client.request("GET", "http://unknown.example/")
    await client.close()


async def redirects_to_private_names_are_not_followed(authority: Authority) -> None:
    await start_name_server(
        public_example=[[PUBLIC_ADDRESS]],
        private_example=[[LOCAL_ADDRESS]],
        rebinding_example=[[PUBLIC_ADDRESS], [LOCAL_ADDRESS]],
    )
    receivers, client = await start_recorder(), OutboundClient()

    for target in ("http://private.example/secret", "http://127.0.0.1/secret", "http://[::ffff:127.0.0.1]/secret"):
        with pytest.raises(UnreachableError):
            await client.redirecting_cache.get(f"http://public.example/redirect?to={target}", bytes, 0)
    # The name of the first request has a private address when the redirect leads to it again.
    url = "http://rebinding.example/redirect?to=http://rebinding.example/secret"
    with pytest.raises(UnreachableError):
        await client.redirecting_cache.get(url, bytes, 0)

    assert LOCAL_ADDRESS not in receivers
    await client.close()


async def certificates_of_webhook_receivers_are_verified(authority: Authority) -> None:
    await start_name_server(
        valid_example=[[PUBLIC_ADDRESS]], other_example=[[PUBLIC_ADDRESS]], forged_example=[[OTHER_PUBLIC_ADDRESS]]
    )
    paths: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.json_response({})

    await start_web_server(handle, [PUBLIC_ADDRESS], 443, authority.server_context("valid.example"))
    await start_web_server(
        handle, [OTHER_PUBLIC_ADDRESS], 443, authority.server_context("forged.example", is_self_signed=True)
    )
    await start_web_server(handle, [PUBLIC_ADDRESS], 8443, authority.server_context("valid.example", days=-1))
    client = OutboundClient()

    assert (await client.request("GET", "https://valid.example/hook")).status == 200
    for url in ("https://other.example/", "https://forged.example/", "https://valid.example:8443/"):
        with pytest.raises(UnreachableError):
            await client.request("GET", url)

    assert paths == ["/hook"]
    await client.close()
