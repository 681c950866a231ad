"""Functions that open private channels and send messages to them."""

from typing import Any

from tests.world import Actor

MY_CHANNELS_PATH = "/users/@me/channels"
"""Path of the private channels of the caller."""


async def open_dm(actor: Actor, recipient: Actor) -> Any:
    """Open a direct message channel with another user."""
    return (await actor.post(MY_CHANNELS_PATH, json={"recipient_id": str(recipient.id)})).ok()


async def create_group(owner: Actor, *recipients: Actor) -> Any:
    return (await owner.post(MY_CHANNELS_PATH, json={"recipients": [str(user.id) for user in recipients]})).ok()


async def send_message(actor: Actor, channel_id: object, content: str = "hello") -> Any:
    return (await actor.post(f"/channels/{channel_id}/messages", json={"content": content})).ok()
