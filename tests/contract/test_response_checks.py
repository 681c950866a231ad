"""The `watch` fixture checks every response of the HTTP server (`tests/fixtures/validator.py`)."""

import json

import aiohttp
import pytest

from tests.fixtures.validator import ResponseMonitor, description_file, missing_description_notice
from tests.world import ApiResponse, World


def test_the_watch_fixture_loads_the_public_description() -> None:
    if description_file() is None:
        pytest.skip(missing_description_notice())
    assert ResponseMonitor()._description is not None


async def test_an_undeclared_response_to_any_client_is_reported(world: World, watch: ResponseMonitor) -> None:
    seen = []
    assert not watch.problems
    complain = watch.find_problem
    watch.find_problem = lambda endpoint, answer: seen.append((endpoint.name, answer.status, answer.json)) or "wrong"  # type: ignore[method-assign]
    try:
        # A plain client, which checks nothing itself.
        async with aiohttp.ClientSession() as client, client.get(f"{world.api}/users/@me") as response:
            assert response.status == 401
        async with aiohttp.ClientSession() as client, client.get(f"{world.api}/no/such/route"):
            pass
    finally:
        watch.find_problem = complain  # type: ignore[method-assign]

    assert seen == [("get_my_user", 401, {"message": "401: Unauthorized", "code": 0})]
    with pytest.raises(AssertionError, match="wrong"):
        watch.assert_no_problems()
    assert not watch.problems


def test_first_party_responses_are_checked_against_our_own_document() -> None:
    if description_file() is None:
        pytest.skip(missing_description_notice())
    watch, headers = ResponseMonitor(), {"Content-Type": "application/json"}
    endpoint = next(each for each in watch._table if each.name == "list_failed_interactions")

    def complaint(interaction_id: object) -> str | None:
        body = json.dumps([{"id": interaction_id, "type": 2, "channel_id": "1", "error": "x"}]).encode()
        return watch.find_problem(endpoint, ApiResponse(200, headers, body))

    assert complaint("1") is None
    assert "1 is not of type 'string'" in (complaint(1) or "")
