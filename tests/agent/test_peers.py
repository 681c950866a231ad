"""The lookup of the operating system user of a local connection."""

import os
import socket

import pytest

from hubbub.agent import peers


@pytest.mark.skipif(not peers.TCP_TABLE.exists(), reason="requires Linux")
def test_the_user_of_a_connection_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert peers.find_peer_uid(client.getsockname(), server.getsockname()) == os.getuid()
        assert peers.find_peer_uid(("127.0.0.1", 1), server.getsockname()) is None
