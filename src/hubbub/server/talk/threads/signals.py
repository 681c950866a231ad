"""Signals that the threads slice raises inside the transaction."""

import msgspec

from hubbub.server.places.standing import ChannelAccess


class TitleDrafted(msgspec.Struct, frozen=True, kw_only=True):
    """Raised before a thread or post is created or renamed; a listener may reject it with an error."""

    access: ChannelAccess
    """The parent channel of a new thread, or the thread itself."""
    title: str
