"""What the threads slice tells others, inside the transaction."""

import msgspec

from hubbub.server.core.access import ChannelAccess


class TitleDrafted(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody is about to open a thread or a post, or to rename one. Nothing is kept yet: whoever hears it may refuse."""

    access: ChannelAccess
    """The channel it is opened in, or the thread itself."""
    title: str
