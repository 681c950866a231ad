"""A game loop that measures the CPU time of the SDK per frame; `bench.sdk` runs it as `python -m bench.frames`.

It is a separate process because a server thread in the same process would compete with the game's thread, which does not happen
in a real game. It reads its task from standard input and writes lines of JSON.
"""

import json
import sys
import time
from typing import Any, Final

FRAMES_PER_SECOND: Final = 60
START_TIMEOUT_SECONDS: Final = 60.0
REFERENCE_LOOP_SIZE: Final = 10_000
"""Number of iterations of the loop that each frame runs for comparison; it takes about as long as one pump."""


def run_game(web_base: str, token: str, frame_count: int) -> dict[str, Any]:
    """Run the game loop; return the CPU seconds of each pump and each reference loop, and the number of received messages.

    A pump is one call of `run_callbacks` and a read of the current user."""
    from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions, ClientStatus

    bearer = AuthorizationTokenType.BEARER
    client = Client(ClientCreateOptions(web_base=web_base))
    received_count = 0

    def read_message(message_id: int) -> None:
        nonlocal received_count
        received_count += 1
        message = client.get_message_handle(message_id)
        _ = message and message.content

    client.set_message_created_callback(read_message)
    client.update_token(bearer, token, lambda _: client.connect())
    wait_started = time.monotonic()
    while client.get_status() is not ClientStatus.READY:
        assert time.monotonic() - wait_started < START_TIMEOUT_SECONDS, "the client is not Ready"
        client.run_callbacks()
        time.sleep(0.005)
    print(json.dumps("ready"), flush=True)
    pump_seconds, reference_seconds = [], []
    frame_at = time.monotonic()
    for frame in range(frame_count):
        if frame % 20 == 0:
            client.fetch_current_user(bearer, token, lambda *_: None)
        pump_started = time.thread_time()
        client.run_callbacks()
        user = client.get_current_user_v2()
        _ = user and user.display_name
        pump_ended = time.thread_time()
        sum(range(REFERENCE_LOOP_SIZE))
        pump_seconds.append(pump_ended - pump_started)
        reference_seconds.append(time.thread_time() - pump_ended)
        frame_at = sleep_until_next_frame(frame_at)
    client.close()
    return {"pumps": pump_seconds, "references": reference_seconds, "received": received_count}


def sleep_until_next_frame(frame_at: float) -> float:
    """Sleep until the next frame and return its time; missed frames are skipped."""
    now = time.monotonic()
    frame_at = max(frame_at + 1 / FRAMES_PER_SECOND, now)
    time.sleep(frame_at - now)
    return frame_at


if __name__ == "__main__":
    print(json.dumps(run_game(**json.loads(sys.stdin.readline()))), flush=True)
