"""`hubbub replay`: replay a recorded rehearsal against a program, or turn it into a test file."""

import argparse
import asyncio
import contextlib
from pathlib import Path

import msgspec

from hubbub.server.app import App
from hubbub.server.commands import serve
from hubbub.server.core.config import Config
from hubbub.server.recordings.generated_tests import GeneratedTestWriter
from hubbub.server.recordings.recording_file import RecordingError, read_recording
from hubbub.server.recordings.replayer import Replayer, format_report
from hubbub.server.terminal import print_error
from hubbub.server.worlds import WorldError


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Replay a recording, or write its test. Return 1 on an error, or if the program acts differently."""
    try:
        recording = read_recording(arguments.file)
        if arguments.as_test is not None:
            Path(arguments.as_test).write_text(GeneratedTestWriter(recording).render(), encoding="utf-8")
            print(f"Wrote {arguments.as_test}. Start your program in its fixture `program`.")
            return 0
        config = msgspec.structs.replace(config, seed=recording.header.seed)
        with contextlib.ExitStack() as stack:
            config, _ = serve.with_certificate(config, stack)
            replayer = Replayer(recording, config, wait_seconds=arguments.wait)
            report = asyncio.run(replayer.run(arguments.program, _announce))
    except (RecordingError, WorldError) as error:
        return print_error(error)
    except OSError as error:
        # An error without a filename is about the port.
        return print_error(f"{error.filename or config.port}: {error.strerror}")
    print(format_report(report, Path(arguments.file).name))
    return 1 if report.difference_count else 0


def _announce(app: App) -> None:
    print(f"Replaying at {app.config.web_url}", flush=True)
