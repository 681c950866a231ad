"""Port of the applications slice: the check before the deletion of an application."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def check_deletion(call: Call, application_id: int) -> None:
    """Raise an error if an application may not be deleted yet."""
