"""Port of the retention slice, which several slices implement: the deletion of expired records."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port


@multi_port
def delete_expired(call: Call, limit: int) -> bool:
    """Delete at most `limit` records of a slice that are older than the settings allow, or their personal data.

    Return whether there may be more."""
