"""A game loop and a CPU baseline, run as separate processes: `python -m tests.sdk.frames play` and `... count`.

They run alone because a server thread in the same process would compete with the game's thread, which does not happen
in a real game. Both read standard input and write lines of JSON.
"""

import json
import sys
import threading
import time
from typing import Any, Final

FRAMES: Final = 1000
PER_SECOND: Final = 60
RUN_MAX_SECONDS: Final = 150.0
"""Maximum duration in seconds. A busy machine that cannot produce the traffic in time runs extra frames until then."""
COUNT_TO: Final = 10_000
"""The count that takes about as long as one pump."""


def play(web_base: str, token: str) -> dict[str, Any]:
    """Run the game loop and report the duration of each pump and the number of events delivered."""
    from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions, ClientStatus

    bearer = AuthorizationTokenType.BEARER
    client = Client(ClientCreateOptions(web_base=web_base))
    received: dict[str, int] = {}

    def subscribe(event: str) -> None:
        def count_event(*args: Any) -> None:
            received[event] = received.get(event, 0) + 1
            if event == "message_created" and (message := client.get_message_handle(args[0])) is not None:
                _ = message.content

        getattr(client, f"set_{event}_callback")(count_event)

    for event in ("message_created", "relationship_created", "relationship_deleted", "user_updated"):
        subscribe(event)
    client.update_token(bearer, token, lambda _: client.connect())
    began = time.monotonic()
    while client.get_status() is not ClientStatus.READY:
        assert time.monotonic() - began < RUN_MAX_SECONDS, "the client is not Ready"
        client.run_callbacks()
        time.sleep(0.005)
    print(json.dumps("ready"), flush=True)
    walls, bare, cpus = [], [], []
    began = frame_at = time.monotonic()
    while len(walls) < FRAMES or (sum(received.values()) < FRAMES and time.monotonic() - began < RUN_MAX_SECONDS):
        if len(walls) % 20 == 0:
            client.fetch_current_user(bearer, token, lambda *_: None)
        wall, cpu = time.perf_counter(), time.thread_time()
        client.run_callbacks()
        user = client.get_current_user_v2()
        _ = user and user.display_name
        cpus.append(time.thread_time() - cpu)
        walls.append(time.perf_counter() - wall)
        bare.append(count_seconds())
        frame_at = next_frame(frame_at)
    client.close()
    return {"walls": walls, "bare": bare, "cpus": cpus, "heard": received}


def count() -> list[float]:
    """Report how long counting takes in each frame until standard input ends; constant on an idle machine."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    walls, frame_at = [], time.monotonic()
    while not ended.is_set():
        walls.append(count_seconds())
        frame_at = next_frame(frame_at)
    return walls


def count_seconds() -> float:
    """Return how long counting takes, in seconds."""
    wall = time.perf_counter()
    sum(range(COUNT_TO))
    return time.perf_counter() - wall


def next_frame(frame_at: float) -> float:
    """Sleep until the next frame. Missed frames are skipped."""
    now = time.monotonic()
    frame_at = max(frame_at + 1 / PER_SECOND, now)
    time.sleep(frame_at - now)
    return frame_at


def main() -> None:
    """Run the command named on the command line."""
    if sys.argv[1] == "count":
        result: Any = count()
    else:
        task = json.loads(sys.stdin.readline())
        result = play(task["web_base"], task["token"])
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
