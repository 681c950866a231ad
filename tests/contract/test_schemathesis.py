"""Requests generated from the server's OpenAPI document cause no server error and no response outside of the document.

The run is bounded: a few examples for each operation, the same in every run."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hubbub.protocol.operation import Auth
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.endpoints import Endpoint
from tests.contract.prepared_guild import PreparedGuild, prepare_guild
from tests.contract.seeds import Seed, Seeds, create_seeds
from tests.media import data_uri, mp3, png
from tests.world import NOW_MS, World, small_config

schemathesis.openapi.format("data-uri", st.sampled_from([data_uri(png()), data_uri(mp3(), "audio/mpeg"), "data:,"]))

EXAMPLE_COUNT = 2
"""Number of examples for an operation with a body or a query: of valid requests, and as many of invalid ones. Others have one."""

SUCCEEDED_OPERATIONS_MIN = 225
"""Minimum number of operations that succeed at least once: rejections alone test little of the document."""

CALLER_REMOVING_PATHS = (
    "/auth/logout",
    "/users/@me/guilds/{guild_id}",
    "/guilds/{guild_id}/integrations/{integration_id}",
)
"""Paths of operations after which the caller cannot act anymore."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
async def prepared_guild() -> AsyncIterator[PreparedGuild]:
    """A prepared guild, without the `response_monitor` fixture: the test checks responses against our OpenAPI document."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield await prepare_guild(world)
        await world.close()
    await app.stop()


@pytest.mark.timeout(900)
async def test_the_server_conforms_to_its_openapi_document(prepared_guild: PreparedGuild) -> None:
    document = (await prepared_guild.world.request("GET", f"{prepared_guild.world.url}/api/openapi.json")).ok()
    loop = asyncio.get_running_loop()

    # The server runs in this event loop, so the blocking client runs in a thread.
    succeeded_names: set[str] = set()
    seeds = await create_seeds(prepared_guild)
    problems = await loop.run_in_executor(
        None, lambda: list(_problems(prepared_guild, seeds, document, succeeded_names))
    )

    assert not problems, "\n".join(problems)
    names = {endpoint.name for endpoint in prepared_guild.world.app.table}
    missed_names = sorted(names - succeeded_names)
    print(f"{len(succeeded_names)} of {len(names)} operations succeeded; not {', '.join(missed_names)}")
    assert len(succeeded_names) >= SUCCEEDED_OPERATIONS_MIN, missed_names


def _problems(
    prepared_guild: PreparedGuild, seeds: Seeds, document: dict[str, Any], succeeded_names: set[str]
) -> Iterator[str]:
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = prepared_guild.world.api
    endpoints = {endpoint.name: endpoint for endpoint in prepared_guild.world.app.table}
    operations = [result.ok() for result in schema.get_all_operations()]
    operations.sort(key=_sort_key)
    # The seed requests come first: generated requests change the objects that seeds depend on.
    for operation in operations:
        if not _is_removal(operation):
            endpoint = endpoints[operation.definition.raw["operationId"]]
            problem = _send_seed(prepared_guild, seeds.build(endpoint), endpoint, operation, succeeded_names)
            if problem is not None:
                yield problem
    for operation in operations:
        endpoint = endpoints[operation.definition.raw["operationId"]]
        if _is_removal(operation):
            problem = _send_seed(prepared_guild, seeds.build(endpoint), endpoint, operation, succeeded_names)
            if problem is not None:
                yield problem
        for mode in _generation_modes(endpoint):
            problem = _send_generated(prepared_guild, endpoint, operation, mode, succeeded_names)
            if problem is not None:
                yield problem


def _generation_modes(endpoint: Endpoint) -> list[GenerationMode]:
    """Return the generation modes of an operation; only valid requests if it has no input to get wrong."""
    # In a form every value is text, and all OAuth2 fields are optional.
    is_form = endpoint.operation.is_form
    if any(endpoint.snowflake_parameters) or (_has_input(endpoint) and not is_form):
        return [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    return [GenerationMode.POSITIVE]


def _has_input(endpoint: Endpoint) -> bool:
    """Return whether an operation has a body or a query."""
    return any(kind is not type(None) for kind in (endpoint.operation.body, endpoint.operation.query))


def _sort_key(operation: APIOperation[Any, Any, Any, Any]) -> tuple[bool, bool, int]:
    """Return the sort key of an operation: deletions come last, of inner objects before outer ones, then removals of the caller."""
    is_removal = _is_removal(operation)
    return is_removal, operation.path in CALLER_REMOVING_PATHS, -operation.path.count("/") if is_removal else 0


def _is_removal(operation: APIOperation[Any, Any, Any, Any]) -> bool:
    return operation.method.upper() == "DELETE" or operation.path in CALLER_REMOVING_PATHS


def _send_generated(
    prepared_guild: PreparedGuild,
    endpoint: Endpoint,
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    succeeded_names: set[str],
) -> str | None:
    real = prepared_guild.path_values(endpoint)
    caller = prepared_guild.bot if Auth.BOT in endpoint.operation.auth else prepared_guild.guild.owner

    @settings(
        max_examples=EXAMPLE_COUNT if _has_input(endpoint) else 1,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Case) -> None:
        if mode is GenerationMode.POSITIVE:
            # The request has existing IDs, so that the operation gets past its lookups.
            case.path_parameters.update(real)
        response = case.call(headers={"Authorization": caller.header}, timeout=60)
        case.validate_response(response, checks=CHECKS)
        if response.status_code < 400:
            succeeded_names.add(endpoint.name)

    try:
        run()
    except (Exception, BaseExceptionGroup) as error:
        return f"{operation.label} ({mode.value}): {_describe(error)}"
    return None


def _send_seed(
    prepared_guild: PreparedGuild,
    seed: Seed,
    endpoint: Endpoint,
    operation: APIOperation[Any, Any, Any, Any],
    succeeded_names: set[str],
) -> str | None:
    request_parts: dict[str, Any] = {"path_parameters": seed.path_values, "query": seed.query}
    if seed.body is not None:
        request_parts |= {"body": seed.body, "media_type": "application/json"}
    callers = [seed.caller] if seed.caller else [prepared_guild.bot, prepared_guild.guild.owner]
    for caller in callers:
        case = operation.Case(**request_parts)
        response = case.call(headers={"Authorization": caller.header}, timeout=60)
        try:
            case.validate_response(response, checks=CHECKS)
        except (Exception, BaseExceptionGroup) as error:
            return f"{operation.label} (seeded): {_describe(error)}"
        if response.status_code < 400:
            succeeded_names.add(endpoint.name)
            return None
    return None


def _describe(error: BaseException) -> str:
    return " ".join(str(error).split())[:1500] or repr(error)
