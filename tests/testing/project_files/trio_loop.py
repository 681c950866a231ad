"""Tests in an event loop of trio. `test_plugin.py` runs this file in a separate project."""

import pytest
import trio

from hubbub.testing import EventNotReceived, Platform


def test_actions_are_awaited_and_do_not_block_the_loop(hubbub: Platform) -> None:
    async def main() -> None:
        alice, bob = hubbub.users["alice"], hubbub.users["bob"]
        await bob.connect()
        received = []

        async def wait() -> None:
            received.append(await bob.expect("MESSAGE_CREATE", content="hello"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.lowlevel.checkpoint()
            sent_message = await alice.send_message("general", "hello")
        assert received[0]["id"] == sent_message["id"]
        with pytest.raises(EventNotReceived):
            await bob.expect("MESSAGE_CREATE", content="never", within=0.1)
        with trio.move_on_after(0.1):
            await bob.expect("MESSAGE_CREATE", content="never", within=20)

    trio.run(main)
