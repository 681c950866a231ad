"""Ports of the administration slice: deletion and export of what a user wrote."""

from hubbub.protocol.ids import UserId
from hubbub.protocol.resources.data_exports import DataExportMessage, ListDataExportMessages
from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port, port


@port
def delete_messages(call: Call, user_id: UserId) -> bool:
    """Delete a batch of a user's messages in all channels. Return whether the user has more messages."""


@multi_port
def delete_written(call: Call, user_id: UserId) -> bool:
    """Delete a batch of other content that a user wrote, whose messages are deleted. Return whether there may be more."""


@port
def list_messages(call: Call, user_id: UserId, query: ListDataExportMessages) -> list[DataExportMessage]:
    """Return a page of a user's messages for a data export, by ascending ID."""
