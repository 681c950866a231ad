"""The number of bytes that the allocators of this process have in use.

Resident memory changes in whole pages and includes free memory between allocations. This number does not
depend on pages and fragmentation, so that a leak of a few bytes per request shows within minutes.
"""

import ctypes
import os
import re
import sys
import tempfile

_BLOCK_BYTES_PATTERN = re.compile(rb"# bytes in allocated blocks\s*=\s*([\d,]+)")


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def bytes_in_use() -> int | None:
    """Return the bytes in use by Python objects and libraries, or None if the C library does not report them."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return None
    mallinfo.restype = _Mallinfo
    statistics = mallinfo()
    # `uordblks` are bytes in the heap, `hblkhd` bytes in separately mapped blocks; Python's small objects are in neither.
    return _small_object_bytes() + int(statistics.uordblks) + int(statistics.hblkhd)


def _small_object_bytes() -> int:
    """Return the bytes of Python's small objects, parsed from the statistics that Python prints to standard error.

    Return 0 if Python has no allocator of its own, as with PYTHONMALLOC=malloc."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as output:
        saved_stderr = os.dup(2)
        try:
            os.dup2(output.fileno(), 2)
            sys._debugmallocstats()
        finally:
            os.dup2(saved_stderr, 2)
            os.close(saved_stderr)
        output.seek(0)
        match = _BLOCK_BYTES_PATTERN.search(output.read())
    return int(match[1].replace(b",", b"")) if match is not None else 0
