"""What the allocators of this process have given out and not got back.

Resident memory moves by whole pages, and by what lies free between two allocations; this is exact, so that a few bytes for each
request show within minutes.
"""

import ctypes
import os
import re
import sys
import tempfile

_BLOCKS = re.compile(rb"# bytes in allocated blocks\s*=\s*([\d,]+)")


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def in_use() -> int | None:
    """Bytes in use by Python's small objects and by everything else, libraries too; None where the C library does not say."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return None
    ask.restype = _Mallinfo
    others = ask()
    return _small_objects() + int(others.uordblks) + int(others.hblkhd)


def _small_objects() -> int:
    """Python counts these for people to read, on the error stream."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as told:
        kept = os.dup(2)
        try:
            os.dup2(told.fileno(), 2)
            sys._debugmallocstats()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        told.seek(0)
        found = _BLOCKS.search(told.read())
    return int(found[1].replace(b",", b"")) if found is not None else 0
