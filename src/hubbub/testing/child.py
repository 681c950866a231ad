"""Program of the server process of a test run: `hubbub dev`, which exits when the process that started it ends."""

import os
import signal
import sys
import threading


def _terminate_with_parent() -> None:
    # stdin receives no data; its end means that the test run has ended, also after kill -9. sys.stdin is not used,
    # because Python locks it while it is read and closes it at exit.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Run `hubbub dev` with the command line arguments; return its exit status."""
    from hubbub.server import cli

    threading.Thread(target=_terminate_with_parent, daemon=True).start()
    return cli.main(["dev", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
