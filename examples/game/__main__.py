"""Pebbles: rock, paper, scissors for a party of friends, in a terminal.

python examples/game READY_FILE                     sign in with a browser
python examples/game READY_FILE --login alice       the same without a browser: who, and the password if it is another
python examples/game READY_FILE --guest Hero        play at once, through the game's own server (examples/backend.py)

/help lists what can be said once it runs.
"""

import argparse
import queue
import sys
import threading
import time

import signing_in
from play import Game

FRAME_S = 1 / 30


def arguments() -> argparse.Namespace:
    """How the game was started."""
    parser = argparse.ArgumentParser(prog="game", description="rock, paper, scissors for a party of friends")
    parser.add_argument("ready_file", help="the ready file of `hubbub dev`")
    parser.add_argument("--login", nargs="+", metavar=("USER", "PASSWORD"), help="sign in without a browser")
    parser.add_argument(
        "--guest", metavar="NAME", help="play without an account; with --login that account takes it over"
    )
    parser.add_argument("--backend", default="http://127.0.0.1:8090", help="where the game's own server is")
    parser.add_argument("--token", help="an access token of the game that you have already")
    return parser.parse_args()


def read_lines(lines: "queue.SimpleQueue[str]") -> None:
    """What is typed, from a thread of its own: a game loop never waits."""
    for line in sys.stdin:
        lines.put(line.strip())
    lines.put("/quit")


def main() -> None:
    """The game loop."""
    options = arguments()
    try:
        world = signing_in.read_world(options.ready_file)
        game = Game(signing_in.new_client(world, options.login), world)
        signing_in.begin(game.client, world, options, game.failed)
    except signing_in.CannotSignIn as problem:
        sys.exit(f"game: {problem}")
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()
    with game.client:
        while game.running:
            game.client.run_callbacks()
            if game.ready and not lines.empty():
                game.command(lines.get())
            time.sleep(FRAME_S)
    sys.exit(game.problem)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
