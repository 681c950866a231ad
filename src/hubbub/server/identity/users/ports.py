"""Ports of the users slice, each implemented by several slices: checks before the deletion of an account, and data export."""

from typing import Any

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port


@multi_port
def check_deletion(call: Call, user_id: UserId) -> None:
    """Raise an error if the account of a user may not be deleted, by the user or by an operator."""


@multi_port
def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the records that a slice stores about a user, by section of the data export."""
