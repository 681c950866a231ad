"""A game loop, run as a separate process: `python -m bench.frames`.

It runs alone because a server thread in the same process would compete with the game's thread, which does not happen
in a real game. It reads its task from standard input and writes lines of JSON.
"""

import json
import sys
import time
from typing import Any, Final

FRAMES_PER_SECOND: Final = 60
START_TIMEOUT_SECONDS: Final = 60.0
COUNT_TO: Final = 10_000
"""Number to which each frame counts for comparison; this takes about as long as one pump."""


def run_game(web_base: str, token: str, frame_count: int) -> dict[str, Any]:
    """Run the game loop; return the CPU seconds of each pump and each count, and the number of received messages."""
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
    pump_seconds, count_seconds = [], []
    frame_at = time.monotonic()
    for frame in range(frame_count):
        if frame % 20 == 0:
            client.fetch_current_user(bearer, token, lambda *_: None)
        pump_started = time.thread_time()
        client.run_callbacks()
        user = client.get_current_user_v2()
        _ = user and user.display_name
        pump_ended = time.thread_time()
        sum(range(COUNT_TO))
        pump_seconds.append(pump_ended - pump_started)
        count_seconds.append(time.thread_time() - pump_ended)
        frame_at = next_frame(frame_at)
    client.close()
    return {"pumps": pump_seconds, "counts": count_seconds, "received": received_count}


def next_frame(frame_at: float) -> float:
    """Sleep until the next frame and return its time; missed frames are skipped."""
    now = time.monotonic()
    frame_at = max(frame_at + 1 / FRAMES_PER_SECOND, now)
    time.sleep(frame_at - now)
    return frame_at


if __name__ == "__main__":
    print(json.dumps(run_game(**json.loads(sys.stdin.readline()))), flush=True)
