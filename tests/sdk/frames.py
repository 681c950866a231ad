"""A game loop in a process of its own, and a process that only counts: `python -m tests.sdk.frames play`, and `... count`.

Alone, because a thread of the server in the same process would take turns with the game's, which no real game knows. Both read
standard input, and write lines of JSON.
"""

import json
import sys
import threading
import time
from typing import Any, Final

FRAMES: Final = 1000
PER_SECOND: Final = 60
LONGEST_S: Final = 150.0
"""On a machine that is too busy to make the traffic in the time of the frames, there are more frames; for so long at most."""
COUNTED: Final = 10_000
"""To count that far takes about as long as the pump does."""


def play(web_base: str, token: str) -> dict[str, Any]:
    """Frames, with what happens on the platform meanwhile: how long the pump took in each, and how much it delivered."""
    from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions, ClientStatus

    bearer = AuthorizationTokenType.BEARER
    client = Client(ClientCreateOptions(web_base=web_base))
    heard: dict[str, int] = {}

    def hear(event: str) -> None:
        def told(*args: Any) -> None:
            heard[event] = heard.get(event, 0) + 1
            if event == "message_created" and (message := client.get_message_handle(args[0])) is not None:
                _ = message.content

        getattr(client, f"set_{event}_callback")(told)

    for event in ("message_created", "relationship_created", "relationship_deleted", "user_updated"):
        hear(event)
    client.update_token(bearer, token, lambda _: client.connect())
    began = time.monotonic()
    while client.get_status() is not ClientStatus.READY:
        assert time.monotonic() - began < LONGEST_S, "the client is not Ready"
        client.run_callbacks()
        time.sleep(0.005)
    print(json.dumps("ready"), flush=True)
    walls, bare, cpus = [], [], []
    began = frame_at = time.monotonic()
    while len(walls) < FRAMES or (sum(heard.values()) < FRAMES and time.monotonic() - began < LONGEST_S):
        if len(walls) % 20 == 0:
            client.fetch_current_user(bearer, token, lambda *_: None)
        wall, cpu = time.perf_counter(), time.thread_time()
        client.run_callbacks()
        user = client.get_current_user_v2()
        _ = user and user.display_name
        cpus.append(time.thread_time() - cpu)
        walls.append(time.perf_counter() - wall)
        bare.append(counted_s())
        frame_at = next_frame(frame_at)
    client.close()
    return {"walls": walls, "bare": bare, "cpus": cpus, "heard": heard}


def count() -> list[float]:
    """How long counting takes in each frame, until standard input ends: on an idle machine always the same."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    walls, frame_at = [], time.monotonic()
    while not ended.is_set():
        walls.append(counted_s())
        frame_at = next_frame(frame_at)
    return walls


def counted_s() -> float:
    """How long it takes to count."""
    wall = time.perf_counter()
    sum(range(COUNTED))
    return time.perf_counter() - wall


def next_frame(frame_at: float) -> float:
    """Sleep until the next frame; what was missed is not made up for."""
    now = time.monotonic()
    frame_at = max(frame_at + 1 / PER_SECOND, now)
    time.sleep(frame_at - now)
    return frame_at


def main() -> None:
    """Do what the arguments say."""
    if sys.argv[1] == "count":
        result: Any = count()
    else:
        task = json.loads(sys.stdin.readline())
        result = play(task["web_base"], task["token"])
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
