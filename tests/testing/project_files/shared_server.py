"""Tests that print the server of their worker. `test_plugin.py` runs this file in a separate project with several workers."""

import json

import pytest

from hubbub.testing import Platform
from hubbub.testing.process import PlatformProcess


@pytest.mark.parametrize("number", [1, 2])
def test_a_worker_uses_the_shared_server(
    hubbub: Platform, request: pytest.FixtureRequest, worker_id: str, number: int
) -> None:
    process: PlatformProcess = request.getfixturevalue("_hubbub_process")
    hubbub.users["alice"].send_message("general", f"{worker_id} {number}")

    # Other workers have worlds of their own.
    assert [message["content"] for message in hubbub.users["alice"].read("general")] == [f"{worker_id} {number}"]
    print(f"control API of the server: {json.loads(process.server.ready_file.read_bytes())['control']}")
    if process.server.process is not None:
        print(f"process: {process.server.process.pid}")
