"""`python -m hubbub` runs the command `hubbub` with a chosen interpreter."""

from hubbub.server.cli import run_process

if __name__ == "__main__":
    run_process()
