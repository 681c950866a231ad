"""The `watch` fixture checks every response of the HTTP server (`tests/fixtures/validator.py`)."""

import json

import aiohttp
import pytest

from tests.fixtures.validator import Watch, absence, description_file
from tests.world import Answer, World


def test_the_watch_fixture_loads_the_public_description() -> None:
    if description_file() is None:
        pytest.skip(absence())
    assert Watch()._description is not None


async def test_an_undeclared_response_to_any_client_is_reported(world: World, watch: Watch) -> None:
    seen = []
    assert not watch.complaints
    complain = watch.complaint
    watch.complaint = lambda endpoint, answer: seen.append((endpoint.name, answer.status, answer.json)) or "wrong"  # type: ignore[method-assign]
    try:
        # A plain client, which checks nothing itself.
        async with aiohttp.ClientSession() as client, client.get(f"{world.api}/users/@me") as response:
            assert response.status == 401
        async with aiohttp.ClientSession() as client, client.get(f"{world.api}/no/such/route"):
            pass
    finally:
        watch.complaint = complain  # type: ignore[method-assign]

    assert seen == [("get_my_user", 401, {"message": "401: Unauthorized", "code": 0})]
    with pytest.raises(AssertionError, match="wrong"):
        watch.confirm()
    assert not watch.complaints


def test_first_party_responses_are_checked_against_our_own_document() -> None:
    if description_file() is None:
        pytest.skip(absence())
    watch, headers = Watch(), {"Content-Type": "application/json"}
    endpoint = next(each for each in watch._table if each.name == "list_failed_interactions")

    def complaint(interaction_id: object) -> str | None:
        body = json.dumps([{"id": interaction_id, "type": 2, "channel_id": "1", "error": "x"}]).encode()
        return watch.complaint(endpoint, Answer(200, headers, body))

    assert complaint("1") is None
    assert "1 is not of type 'string'" in (complaint(1) or "")
