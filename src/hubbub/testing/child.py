"""The process of the platform: `hubbub dev`, which ends when whoever started it is gone, however that went."""

import os
import signal
import sys
import threading


def _end_with_parent() -> None:
    # Nothing is ever written there: the end of it is the end of the test run, also by kill -9. Not through sys.stdin, which
    # Python locks while it is read and wants to close when it ends.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Run `hubbub dev` with the arguments given."""
    from hubbub.server import cli

    threading.Thread(target=_end_with_parent, daemon=True).start()
    return cli.main(["dev", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
