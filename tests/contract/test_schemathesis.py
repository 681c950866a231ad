"""Our own OpenAPI document, taken at its word: requests made from it find no failure of the server and no answer it does not allow.

Bounded on purpose: few examples for each operation, always the same ones."""

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
from hubbub.server.core.dispatch import Endpoint
from tests.contract.prepared import Prepared, prepare
from tests.contract.seeds import Seed, Seeds, plant
from tests.media import mp3, png, uri
from tests.world import NOW_MS, World, small_config

schemathesis.openapi.format("data-uri", st.sampled_from([uri(png()), uri(mp3(), "audio/mpeg"), "data:,"]))

EXAMPLES = 2
"""For each operation and each of: what the document allows, and what it does not."""

REACHED = 225
"""So many operations must come to a success at least: an answer that only refuses says little about the document."""

LEAVES = ("/auth/logout", "/users/@me/guilds/{guild_id}", "/guilds/{guild_id}/integrations/{integration_id}")
"""After these a caller is gone."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
async def prepared() -> AsyncIterator[Prepared]:
    """A world of its own: these answers are held against our own document."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield await prepare(world)
        await world.close()
    await app.stop()


@pytest.mark.timeout(900)
async def test_the_platform_keeps_what_its_own_document_promises(prepared: Prepared) -> None:
    document = (await prepared.world.request("GET", f"{prepared.world.url}/api/openapi.json")).ok()
    loop = asyncio.get_running_loop()

    # The server runs in this loop, so that what waits for its answers must not.
    reached: set[str] = set()
    seeds = await plant(prepared)
    problems = await loop.run_in_executor(None, lambda: list(_problems(prepared, seeds, document, reached)))

    assert not problems, "\n".join(problems)
    names = {each.name for each in prepared.world.app.table}
    missed = sorted(names - reached)
    print(f"{len(reached)} of {len(names)} operations came to a success; not {', '.join(missed)}")
    assert len(reached) >= REACHED, missed


def _problems(prepared: Prepared, seeds: Seeds, document: dict[str, Any], reached: set[str]) -> Iterator[str]:
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = prepared.world.api
    endpoints = {each.name: each for each in prepared.world.app.table}
    found = [result.ok() for result in schema.get_all_operations()]
    found.sort(key=_order)
    # First what nobody makes up by chance, a request that stands ready for each; where chance has been, little is in its place.
    for operation in found:
        if not _removes(operation):
            endpoint = endpoints[operation.definition.raw["operationId"]]
            problem = _ask(prepared, seeds.find(endpoint), endpoint, operation, reached)
            if problem is not None:
                yield problem
    for operation in found:
        endpoint = endpoints[operation.definition.raw["operationId"]]
        if _removes(operation):
            problem = _ask(prepared, seeds.find(endpoint), endpoint, operation, reached)
            if problem is not None:
                yield problem
        for mode in _modes(endpoint):
            problem = _try(prepared, endpoint, operation, mode, reached)
            if problem is not None:
                yield problem


def _modes(endpoint: Endpoint) -> list[GenerationMode]:
    """Where there is nothing that could be said wrongly, only what is right is said."""
    # In a form everything is text, and OAuth's fields may all be missing.
    said = (type(None) if endpoint.operation.form else endpoint.operation.body, endpoint.operation.query)
    if any(endpoint.snowflakes) or any(kind is not type(None) for kind in said):
        return [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    return [GenerationMode.POSITIVE]


def _order(operation: APIOperation[Any, Any, Any, Any]) -> tuple[bool, bool, int]:
    """What takes away comes last, and of that the largest: first messages, then channels, at the very end the callers go."""
    removes = _removes(operation)
    return removes, operation.path in LEAVES, -operation.path.count("/") if removes else 0


def _removes(operation: APIOperation[Any, Any, Any, Any]) -> bool:
    return operation.method.upper() == "DELETE" or operation.path in LEAVES


def _try(
    prepared: Prepared,
    endpoint: Endpoint,
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    reached: set[str],
) -> str | None:
    real = prepared.values(endpoint)
    caller = prepared.bot if Auth.BOT in endpoint.operation.auth else prepared.guild.owner

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Case) -> None:
        if mode is GenerationMode.POSITIVE:
            # Ids of things that are there, so that the operation comes to its point.
            case.path_parameters.update(real)
        response = case.call(headers={"Authorization": caller.header}, timeout=60)
        case.validate_response(response, checks=CHECKS)
        if response.status_code < 400:
            reached.add(endpoint.name)

    try:
        run()
    except (Exception, BaseExceptionGroup) as error:
        return f"{operation.label} ({mode.value}): {_words(error)}"
    return None


def _ask(
    prepared: Prepared,
    seed: Seed,
    endpoint: Endpoint,
    operation: APIOperation[Any, Any, Any, Any],
    reached: set[str],
) -> str | None:
    said: dict[str, Any] = {"path_parameters": seed.values, "query": seed.query}
    if seed.body is not None:
        said |= {"body": seed.body, "media_type": "application/json"}
    callers = [seed.caller] if seed.caller else [prepared.bot, prepared.guild.owner]
    for caller in callers:
        case = operation.Case(**said)
        response = case.call(headers={"Authorization": caller.header}, timeout=60)
        try:
            case.validate_response(response, checks=CHECKS)
        except (Exception, BaseExceptionGroup) as error:
            return f"{operation.label} (seeded): {_words(error)}"
        if response.status_code < 400:
            reached.add(endpoint.name)
            return None
    return None


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:1500] or repr(error)
