"""Who may open, change and enter threads, and what a post must wear."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ApplicationFlags, ChannelFlags
from hubbub.protocol.ids import TagId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import threads as wire
from hubbub.protocol.resources.channels import PINNED_POSTS_MAX, UpdateChannel
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import channels
from hubbub.server.resources.channels import FORUMS, ChannelRow
from hubbub.server.resources.threads import store

SPOKEN: Final = frozenset({0, 19, 20, 23})
"""Message types that people send; the others are the platform's own words."""

# http.md 2.4: what let a person ignore slowmode before BYPASS_SLOWMODE stood alone.
_OLD_BYPASS: Final = Permissions.MANAGE_MESSAGES | Permissions.MANAGE_CHANNELS | Permissions.MANAGE_THREADS

_BY_CREATOR: Final = ("name", "archived", "auto_archive_duration")
_BY_MODERATOR: Final = ("locked", "invitable", "rate_limit_per_user", "flags", "applied_tags")


def require_thread(call: Call, channel_id: int) -> ChannelAccess:
    """The caller's standing in a thread; any other channel is of the wrong type."""
    here = access.channel(call, channel_id)
    if here.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if not here.channel.is_thread:
        raise errors.WRONG_CHANNEL_TYPE()
    return here


def require_acting(here: ChannelAccess) -> None:
    """Whom a timeout, the guild's form or auto moderation holds back comes to no thread, and changes none (http.md 2.2)."""
    if here.guild is not None and here.guild.only_reads:
        raise errors.MISSING_PERMISSIONS()


def require_open(here: ChannelAccess) -> None:
    """Nobody comes to an archived thread, nor leaves it."""
    if here.channel.archived:
        raise errors.THREAD_ARCHIVED()


def require_parent(call: Call, channel_id: int, kinds: frozenset[int]) -> tuple[ChannelAccess, ChannelRow]:
    """The caller's standing in a channel that has threads."""
    here = access.channel(call, channel_id)
    if here.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    if row.type not in kinds:
        raise errors.WRONG_CHANNEL_TYPE()
    return here, row


def kind_without_message(parent: ChannelRow, wanted: ChannelType | None) -> int:
    """The type of a thread that starts at no message: private unless said otherwise; announcements have but one kind."""
    if parent.type == ChannelType.GUILD_ANNOUNCEMENT:
        possible, usual = [ChannelType.ANNOUNCEMENT_THREAD], ChannelType.ANNOUNCEMENT_THREAD
    else:
        possible = [ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD]
        usual = ChannelType.PRIVATE_THREAD
    kind = usual if wanted is None else wanted
    if kind not in possible:
        raise errors.invalid("type", *errors.choices(int(each) for each in possible))
    return int(kind)


def require_creation(here: ChannelAccess, kind: int) -> None:
    """Public and private threads each ask for their bit."""
    private = kind == ChannelType.PRIVATE_THREAD
    here.require(Permissions.CREATE_PRIVATE_THREADS if private else Permissions.CREATE_PUBLIC_THREADS)


def require_room(call: Call, guild_id: int, kind: int) -> None:
    """A guild has so many active threads and no more."""
    if store.count_active(call.tx, guild_id) >= wire.ACTIVE_THREADS_MAX:
        if kind == ChannelType.ANNOUNCEMENT_THREAD:
            raise errors.MAX_ACTIVE_ANNOUNCEMENT_THREADS()
        raise errors.MAX_ACTIVE_THREADS()


def is_slowed(call: Call, here: ChannelAccess) -> bool:
    """Whether slowmode concerns the caller: bots never, people unless they may bypass it (http.md 2.4)."""
    if call.actor.is_bot:
        return False
    if changes.BYPASS_SLOWMODE_INTRODUCED.active(call.now) and here.can(Permissions.BYPASS_SLOWMODE):
        return False
    return changes.PERMISSION_SPLITS.active(call.now) or not here.allowed & _OLD_BYPASS


def require_patience(call: Call, here: ChannelAccess) -> None:
    """A channel's slowmode also counts the threads one opens (http.md 3.2), and remembers this one."""
    seconds = here.channel.rate_limit_per_user
    if not seconds or not is_slowed(call, here):
        return
    last_ms = store.last_opened(call.tx, here.channel.id, call.user_id)
    if last_ms is not None and last_ms <= call.now < last_ms + seconds * 1000:
        wait = (last_ms + seconds * 1000 - call.now) / 1000
        raise errors.SLOWMODE_RATE_LIMIT(retry_after=wait, **{"global": False})
    store.opened(call.tx, here.channel.id, call.user_id, call.now)


def require_tags(forum: ChannelRow, wanted: Iterable[TagId], worn: Iterable[TagId], *, moderates: bool) -> list[TagId]:
    """The tags a post shall wear: the forum's own, each once; moderated ones change only by moderators' hands."""
    tags = list(dict.fromkeys(wanted))
    available = {tag.id: tag for tag in channels.tags(forum)}
    if any(tag not in available for tag in tags):
        raise errors.UNKNOWN_TAG()
    changed = set(tags) ^ {tag for tag in worn if tag in available}
    if not moderates and any(available[tag].moderated for tag in changed):
        raise errors.MISSING_PERMISSIONS()
    if not tags and forum.flags & ChannelFlags.REQUIRE_TAG:
        if not moderates and all(tag.moderated for tag in available.values()):
            raise errors.NO_TAGS_FOR_NON_MODERATORS()
        raise errors.TAG_REQUIRED()
    return tags


def require_edit(call: Call, here: ChannelAccess, row: ChannelRow, body: UpdateChannel) -> None:
    """Who may change what of a thread (http.md 3.3)."""
    named = [key for key in (*_BY_CREATOR, *_BY_MODERATOR) if getattr(body, key) is not UNSET]
    if named:
        require_acting(here)
    if row.locked and named and not here.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()
    if (row.locked and named) or not _is_free_to(call, here, row, body, named):
        access.require_channel(call, row.id, Permissions.MANAGE_THREADS)
    opens = body.archived is False and bool(row.archived)
    if row.archived and not opens and named and named != ["archived"]:
        raise errors.THREAD_ARCHIVED()


def _is_free_to(call: Call, here: ChannelAccess, row: ChannelRow, body: UpdateChannel, named: Iterable[str]) -> bool:
    """Whether the caller may make these changes without being a moderator."""
    if row.owner_id == call.user_id:
        return all(key in _BY_CREATOR for key in named)
    if any(key != "archived" for key in named) or body.archived is True:
        return False
    # To open it again one is in it, or may speak in it.
    return here.can(Permissions.SEND_MESSAGES) or channels.find_thread_member(call.tx, row.id, call.user_id) is not None


def require_pinnable(call: Call, row: ChannelRow, forum: ChannelRow | None) -> None:
    """A forum pins one post."""
    if forum is None or forum.type not in FORUMS:
        raise errors.WRONG_CHANNEL_TYPE()
    pinned = store.pinned_post(call.tx, forum.id, ChannelFlags.PINNED)
    if pinned is not None and pinned != row.id and PINNED_POSTS_MAX == 1:
        raise errors.MAX_PINNED_THREADS()


def require_adding(here: ChannelAccess, row: ChannelRow) -> None:
    """One who can speak in a thread brings others, unless a private thread is closed to that."""
    here.require(Permissions.SEND_MESSAGES)
    if here.can(Permissions.MANAGE_THREADS):
        return
    if row.locked:
        raise errors.THREAD_LOCKED()
    if row.type == ChannelType.PRIVATE_THREAD and row.invitable == 0:
        raise errors.MISSING_PERMISSIONS()


def require_removing(call: Call, row: ChannelRow) -> None:
    """Moderators send others away, and so does who made a private thread."""
    require_acting(access.channel(call, row.id))
    made = row.type == ChannelType.PRIVATE_THREAD and row.owner_id == call.user_id
    if not made:
        access.require_channel(call, row.id, Permissions.MANAGE_THREADS)


def require_members_intent(call: Call) -> None:
    """An app lists members only with the GUILD_MEMBERS intent (http.md 4.2)."""
    either = ApplicationFlags.GATEWAY_GUILD_MEMBERS | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
    if call.actor.is_bot and not call.actor.application_flags & either:
        raise errors.MISSING_ACCESS()
