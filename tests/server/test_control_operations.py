"""The operations of the control API that the protocol declares, and the ready document that server and clients share."""

import importlib
import pkgutil
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.people.errors import PlatformUnavailable, RequestRejected
from hubbub.people.requests import ControlClient
from hubbub.protocol import codec, control, errors
from hubbub.protocol.control.clock import ADVANCE_CLOCK, FREEZE_CLOCK, AdvanceClock
from hubbub.protocol.control.faults import CREATE_FAULT, DELETE_FAULT, LIST_FAULTS, HttpFault
from hubbub.protocol.control.ready import ReadyDocument
from hubbub.protocol.control.snapshots import RESTORE_SNAPSHOT
from hubbub.protocol.operation import operations_of
from hubbub.server.control.server import ENDPOINTS
from tests.rehearsal import Rehearsal


async def read_ready_document(rehearsal: Rehearsal) -> ReadyDocument:
    """Return the ready document as a client decodes it."""
    return codec.decode(codec.encode(await rehearsal.control.get_ready_document()), ReadyDocument)


def test_the_server_handles_every_declared_operation() -> None:
    declared_operations = {
        name: operation
        for module in pkgutil.iter_modules(control.__path__)
        for name, operation in operations_of(importlib.import_module(f"{control.__name__}.{module.name}"))
    }

    assert {endpoint.name: endpoint.operation for endpoint in ENDPOINTS} == declared_operations


async def test_results_of_control_operations_are_decoded_into_models(rehearsal: Rehearsal) -> None:
    async with aiohttp.ClientSession() as http:
        client = ControlClient(http, await read_ready_document(rehearsal))
        frozen_clock = await client.call(FREEZE_CLOCK)
        advanced_clock = await client.call(ADVANCE_CLOCK, AdvanceClock(ms=5000))
        created_fault = await client.call(CREATE_FAULT, HttpFault(effect="delay", delay_ms=1, times=2))
        [listed_fault] = await client.call(LIST_FAULTS)
        assert created_fault.active_fault is not None
        await client.call(DELETE_FAULT, fault_id=created_fault.active_fault.id)
        remaining_faults = await client.call(LIST_FAULTS)

    assert (advanced_clock.now_ms - frozen_clock.now_ms, advanced_clock.running) == (5000, False)
    assert (created_fault.affected_sessions, created_fault.active_fault) == (0, listed_fault)
    assert (listed_fault.occurrences, listed_fault.remaining_occurrences) == (0, 2)
    assert isinstance(listed_fault.fault, HttpFault)
    assert remaining_faults == []


async def test_a_rejected_operation_has_the_declared_error(rehearsal: Rehearsal) -> None:
    async with aiohttp.ClientSession() as http:
        client = ControlClient(http, await read_ready_document(rehearsal))
        with pytest.raises(
            RequestRejected, match="control: POST /snapshots/none/restore was rejected"
        ) as missing_error:
            await client.call(RESTORE_SNAPSHOT, snapshot_id="none")
        with pytest.raises(RequestRejected, match="ms: ") as invalid_error:
            await client.call(ADVANCE_CLOCK, AdvanceClock(ms=-1))

    assert missing_error.value.kind is errors.NOT_FOUND
    assert invalid_error.value.kind is errors.INVALID_FORM_BODY


async def test_the_ready_document_has_ids_as_strings(rehearsal: Rehearsal) -> None:
    document = await read_ready_document(rehearsal)
    encoded: dict[str, Any] = msgspec.json.decode(codec.encode(document))

    guild = document.guilds["Town Square"]
    assert (guild.id, guild.channels) == (
        encoded["guilds"]["Town Square"]["id"],
        encoded["guilds"]["Town Square"]["channels"],
    )
    assert document["users"]["alice"].id == str(rehearsal.actor("alice").id)
    with pytest.raises(KeyError, match="no key 'user'; it has: api, gateway"):
        document["user"]


async def test_a_platform_without_control_api_cannot_be_controlled(rehearsal: Rehearsal) -> None:
    document = msgspec.structs.replace(await read_ready_document(rehearsal), control=None, control_token=None)
    async with aiohttp.ClientSession() as http:
        with pytest.raises(PlatformUnavailable, match="has no control API: start it with hubbub dev"):
            ControlClient(http, document)
