"""The `response_monitor` fixture checks every response of the HTTP server (`tests/fixtures/validator.py`)."""

import json

import aiohttp
import pytest

from tests.fixtures.validator import ApiDescription, ResponseMonitor
from tests.world import ApiResponse, World


async def test_an_undeclared_response_to_any_client_is_reported(
    world: World, response_monitor: ResponseMonitor
) -> None:
    checked_responses = []
    assert not response_monitor.problems
    original_check = response_monitor.find_problem
    response_monitor.find_problem = lambda endpoint, response: (
        checked_responses.append((endpoint.name, response.status, response.json)) or "wrong"
    )  # type: ignore[method-assign]
    try:
        # The requests are sent with a plain client, which checks nothing itself.
        async with aiohttp.ClientSession() as client, client.get(f"{world.api}/users/@me") as response:
            assert response.status == 401
        async with aiohttp.ClientSession() as client, client.get(f"{world.api}/no/such/route"):
            pass
    finally:
        response_monitor.find_problem = original_check  # type: ignore[method-assign]

    assert checked_responses == [("get_my_user", 401, {"message": "401: Unauthorized", "code": 0})]
    with pytest.raises(AssertionError, match="wrong"):
        response_monitor.assert_no_problems()
    assert not response_monitor.problems


def describe_problem(name: str, status: int, body: object) -> str:
    """Return the problem that the monitor finds with a response of an operation, or an empty string."""
    response_monitor, headers = ResponseMonitor(), {"Content-Type": "application/json"}
    endpoint = next(endpoint for endpoint in response_monitor._table if endpoint.name == name)
    return response_monitor.find_problem(endpoint, ApiResponse(status, headers, json.dumps(body).encode())) or ""


def test_public_responses_are_checked_against_the_public_api_description() -> None:
    gateway = {"url": "wss://gateway.test"}

    assert describe_problem("get_gateway", 200, gateway) == ""
    assert '"url" is a required property' in describe_problem("get_gateway", 200, {})
    assert '1 is not of type "string"' in describe_problem("get_gateway", 200, {"url": 1})
    assert "declares 200 as its success status" in describe_problem("get_gateway", 201, gateway)
    assert '"message" is a required property' in describe_problem("get_gateway", 401, {"code": 0})


def test_first_party_responses_are_checked_against_our_openapi_document() -> None:
    def failed_interactions(interaction_id: object) -> list[dict[str, object]]:
        return [{"id": interaction_id, "type": 2, "channel_id": "1", "error": "x"}]

    assert describe_problem("list_failed_interactions", 200, failed_interactions("1")) == ""
    assert '1 is not of type "string"' in describe_problem("list_failed_interactions", 200, failed_interactions(1))


def test_integers_are_checked_against_the_limits_of_their_format() -> None:
    schema = {"type": "array", "items": {"type": "integer", "format": "int32"}}
    content = {"content": {"application/json": {"schema": schema}}}
    document = {"paths": {"/numbers": {"get": {"responses": {"200": content}}}}}
    description = ApiDescription(document, "the sample")

    def find_problem(value: int) -> str | None:
        response = ApiResponse(200, {"Content-Type": "application/json"}, json.dumps([value]).encode())
        return description.find_problem("GET", "/numbers", response)

    assert find_problem(2**31 - 1) is None
    assert find_problem(2**31) == f"$.0: {2**31} is greater than the maximum of {2**31 - 1}"
    assert find_problem(-(2**31) - 1) is not None
