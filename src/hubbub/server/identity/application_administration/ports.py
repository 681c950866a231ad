"""Port of the administration of applications: the number of commands of an application."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def count_commands(call: Call, application_id: int) -> int:
    """Return the number of commands of an application in all scopes."""
