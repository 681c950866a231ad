"""The zstd module of the standard library or its backport; None if neither is installed."""

try:
    from compression import zstd  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from backports import zstd
    except ImportError:
        zstd = None  # type: ignore[assignment, unused-ignore]

__all__ = ["zstd"]
