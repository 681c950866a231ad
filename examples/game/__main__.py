"""Pebbles: rock, paper, scissors for a party of friends, in a terminal.

- python examples/game READY_FILE: log in with a browser.
- python examples/game READY_FILE --login alice: log in without a browser; add the password if the file does not have it.
- python examples/game READY_FILE --guest Hero: play without an account, through the game's server (examples/backend.py).

Type /help in the game for a list of commands.
"""

import argparse
import queue
import sys
import threading
import time

import login
from play import Game

FRAME_SECONDS = 1 / 30


def parse_arguments() -> argparse.Namespace:
    """Return the ready file and the options of the game: account, guest name, backend and token."""
    parser = argparse.ArgumentParser(prog="game", description="rock, paper, scissors for a party of friends")
    parser.add_argument("ready_file", help="the ready file of `hubbub dev`")
    parser.add_argument("--login", nargs="+", metavar=("USER", "PASSWORD"), help="log in without a browser")
    parser.add_argument(
        "--guest", metavar="NAME", help="play without an account; with --login, merge the guest into that account"
    )
    parser.add_argument("--backend", default="http://127.0.0.1:8090", help="URL of the game's own server")
    parser.add_argument("--token", help="existing access token for the game")
    return parser.parse_args()


def read_lines(lines: "queue.SimpleQueue[str]") -> None:
    """Put the player's input into a queue, and /quit at its end.

    This function runs in a thread, because a game loop must not block."""
    for line in sys.stdin:
        lines.put(line.strip())
    lines.put("/quit")


def main() -> None:
    """Run the game loop."""
    options = parse_arguments()
    try:
        world = login.read_world(options.ready_file)
        game = Game(login.new_client(world, options.login), world)
        login.start(game.client, world, options, game.fail)
    except login.LoginError as problem:
        sys.exit(f"game: {problem}")
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()
    with game.client:
        while game.is_running:
            game.client.run_callbacks()
            if game.is_ready and not lines.empty():
                game.run_command(lines.get())
            time.sleep(FRAME_SECONDS)
    sys.exit(game.problem)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
