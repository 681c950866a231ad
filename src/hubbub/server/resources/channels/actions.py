"""Making, changing and deleting guild channels and their overwrites, and closing private ones: write, audit, publish."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, TagId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import channels as wire
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import guilds, roles, users
from hubbub.server.resources.channels import rules, splitting, store, views
from hubbub.server.resources.channels.facts import ChannelsDeleted, LinkedChannelChanged
from hubbub.server.resources.channels.store import ChannelRow, GuildTraits, OverwriteRow

AUDITED: Final = (
    "name",
    "type",
    "topic",
    "position",
    "parent_id",
    "nsfw",
    "rate_limit_per_user",
    "bitrate",
    "user_limit",
    "rtc_region",
    "video_quality_mode",
    "default_auto_archive_duration",
    "default_thread_rate_limit_per_user",
    "default_reaction_emoji",
    "default_sort_order",
    "default_forum_layout",
    "default_tag_setting",
    "available_tags",
    "flags",
)
"""The fields whose changes the audit log shows; overwrites have entries of their own."""


def create(
    call: Call,
    guild_id: int,
    body: wire.CreateGuildChannel,
    *,
    guild: GuildTraits | None = None,
    channel_id: int | None = None,
    overwrites: Sequence[OverwriteRow] | None = None,
    form: FormErrors | None = None,
    quiet: bool = False,
) -> wire.Channel:
    """Make a channel, whoever asks. Without overwrites it takes those of its category; `quiet` (a guild that is just being
    made, a world that is loaded) leaves neither an audit entry nor an event."""
    form = form or FormErrors()
    guild = guild or store.guild_traits(call.tx, guild_id)
    if guild is None:
        raise errors.UNKNOWN_GUILD()
    kind = int(body.type or ChannelType.GUILD_TEXT)
    row = ChannelRow(
        id=channel_id or call.new_id(ChannelId), type=kind, guild_id=guild_id, parent_id=body.parent_id or None
    )
    rules.check_emojis(call, row, body, form)
    row = rules.settled(row, body, guild, form, lambda: call.new_id(TagId))
    form.raise_if_any()
    if store.count_of_guild(call.tx, guild_id) >= wire.GUILD_CHANNELS_MAX:
        raise errors.MAX_CHANNELS()
    if isinstance(body.position, int):
        row = row._replace(position=body.position)
    else:
        category = kind == ChannelType.GUILD_CATEGORY
        row = row._replace(position=store.next_position(call.tx, guild_id, category=category))
    if overwrites is None:
        overwrites = [] if row.parent_id is None else store.overwrites_of(call.tx, row.parent_id)
    call.tell(guilds.NamesDrafted((row.name or "",)))
    store.insert(call.tx, row)
    overwrites = [each._replace(channel_id=row.id) for each in overwrites]
    store.replace_overwrites(call.tx, row.id, overwrites)
    _require_room(call, guild_id, grown=len(overwrites))
    shown = views.channel(row, overwrites)
    if not quiet:
        changes = audit.differences(None, shown, (*AUDITED, "permission_overwrites"))
        audit.record(call, guild_id, AuditLogAction.CHANNEL_CREATE, target_id=row.id, changes=changes)
        publish(call, wire.CHANNEL_CREATE, row, shown)
    return shown


def publish(call: Call, event: Event[Any], row: ChannelRow, shown: wire.Channel) -> None:
    """Tell a guild of a channel. Every session hears it; the gateway obfuscates it where it must (gateway.md 5.1)."""
    call.tx.emit(event, shown, Audience.guild(row.guild_id or 0), refresh="channels", subject_id=row.id)


def change(
    call: Call,
    before: ChannelRow,
    after: ChannelRow,
    old: Sequence[OverwriteRow],
    new: Sequence[OverwriteRow] | None = None,
) -> wire.Channel:
    """Keep a channel's new state and its overwrites (None: as they were), and let synced children follow."""
    new = old if new is None else new
    shown = views.channel(after, new)
    guild_id = before.guild_id or 0
    if after.name != before.name:
        call.tell(guilds.NamesDrafted((after.name or "",)))
    if after != before:
        store.update(call.tx, before, after)
        changes = audit.differences(views.channel(before, old), shown, AUDITED)
        audit.record(call, guild_id, AuditLogAction.CHANNEL_UPDATE, target_id=after.id, changes=changes)
    rewritten = rules.bits_of(new) != rules.bits_of(old)
    if rewritten:
        store.replace_overwrites(call.tx, after.id, new)
        _record_overwrites(call, after, old, new)
    if after != before or rewritten:
        publish(call, wire.CHANNEL_UPDATE, after, shown)
    if after.linked_lobby is not None and after.name != before.name:
        call.tell(LinkedChannelChanged(after.id))
    if rewritten and after.type == ChannelType.GUILD_CATEGORY:
        _sync(call, after.id, old, new)
    if rewritten:
        _require_room(call, guild_id, grown=len(new) - len(old))
    return shown


def _require_room(call: Call, guild_id: int, *, grown: int) -> None:
    """Raise when a guild's channels have more overwrites together than it may have: what was written is not kept then."""
    if grown > 0 and store.count_overwrites(call.tx, guild_id) > wire.GUILD_OVERWRITES_MAX:
        raise errors.GUILD_CHANNELS_TOO_LARGE()


def link_lobby(call: Call, channel_id: int, lobby: wire.LinkedLobby | None) -> wire.Channel:
    """Let a channel share what is said with a lobby, or no longer."""
    row = store.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    after = row._replace(linked_lobby=None if lobby is None else json.encode(lobby).decode())
    return change(call, row, after, store.overwrites_of(call.tx, channel_id))


def _sync(call: Call, category_id: int, old: Sequence[OverwriteRow], new: Sequence[OverwriteRow]) -> None:
    """http.md 2.2: a category's change rewrites the children that had the same overwrites."""
    children = store.list_children(call.tx, category_id)
    theirs = store.overwrites_of_many(call.tx, [child.id for child in children])
    for child in children:
        if rules.bits_of(theirs.get(child.id, [])) == rules.bits_of(old):
            rows = [each._replace(channel_id=child.id) for each in new]
            store.replace_overwrites(call.tx, child.id, rows)
            publish(call, wire.CHANNEL_UPDATE, child, views.channel(child, rows))


def _record_overwrites(call: Call, row: ChannelRow, old: Sequence[OverwriteRow], new: Sequence[OverwriteRow]) -> None:
    """One audit entry for each overwrite made, changed or deleted."""
    before, after = {each.target_id: each for each in old}, {each.target_id: each for each in new}
    differing = [target for target in before.keys() | after.keys() if before.get(target) != after.get(target)]
    named = roles.find_many(call.tx, row.guild_id or 0, differing)
    for target in sorted(differing):
        was, now = before.get(target), after.get(target)
        action = (
            AuditLogAction.CHANNEL_OVERWRITE_CREATE
            if was is None
            else AuditLogAction.CHANNEL_OVERWRITE_DELETE
            if now is None
            else AuditLogAction.CHANNEL_OVERWRITE_UPDATE
        )
        some = now or was
        options: dict[str, object] = {"id": target, "type": some.type if some else 0}
        if target in named:
            options["role_name"] = named[target].name
        audit.record(
            call,
            row.guild_id or 0,
            action,
            target_id=row.id,
            changes=audit.differences(was and views.overwrite(was), now and views.overwrite(now)),
            options=options,
        )


def put_overwrite(call: Call, row: ChannelRow, old: Sequence[OverwriteRow], one: OverwriteRow) -> None:
    """Set what a role or member may do in a channel."""
    new = sorted([*(each for each in old if each.target_id != one.target_id), one], key=lambda each: each.target_id)
    change(call, row, row, old, new)


def drop_overwrite(call: Call, row: ChannelRow, old: Sequence[OverwriteRow], target_id: int) -> None:
    """Let a role or member be in a channel what they are in the guild."""
    change(call, row, row, old, [each for each in old if each.target_id != target_id])


def split_permissions(call: Call, guild_id: int) -> tuple[int, int]:
    """Give a guild's roles and overwrites the newer bits beside the older; answers how many of each changed."""
    given = changed_roles = changed_overwrites = 0
    for role in roles.list_of_guild(call.tx, guild_id):
        bits = role.permissions | splitting.allowed(role.permissions)
        if bits != role.permissions:
            roles.change(call, role, role._replace(permissions=bits))
            given |= bits & ~role.permissions
            changed_roles += 1
    for channel in store.list_of_guild(call.tx, guild_id):
        # Read one by one: what follows its category is changed with it.
        old = store.overwrites_of(call.tx, channel.id)
        new = [splitting.split(each) for each in old]
        if new != old:
            change(call, channel, channel, old, new)
            changed_overwrites += sum(was != now for was, now in zip(old, new, strict=True))
            for was, now in zip(old, new, strict=True):
                given |= (now.allow & ~was.allow) | (now.deny & ~was.deny)
    for bit, action in splitting.WRITTEN:
        if given & bit:
            audit.record(call, guild_id, action, target_id=guild_id)
    return changed_roles, changed_overwrites


def delete(call: Call, row: ChannelRow, overwrites: Sequence[OverwriteRow]) -> wire.Channel:
    """Delete a guild channel; what was in a category stays, without it."""
    guild_id = row.guild_id or 0
    shown = views.channel(row, overwrites)
    orphans = store.list_children(call.tx, row.id) if row.type == ChannelType.GUILD_CATEGORY else []
    call.tell(ChannelsDeleted(guild_id=guild_id, channel_ids=(row.id,)))
    store.delete(call.tx, row.id)
    had_place = store.forget_in_guild(call.tx, guild_id, row.id)
    changes = audit.differences(shown, None, (*AUDITED, "permission_overwrites"))
    audit.record(call, guild_id, AuditLogAction.CHANNEL_DELETE, target_id=row.id, changes=changes)
    publish(call, wire.CHANNEL_DELETE, row, shown)
    guild = guilds.find(call.tx, guild_id) if had_place else None
    if guild is not None:
        guilds.announce(call, guilds.guild(call.tx, guild, roles.list_of_guild(call.tx, guild_id), now=call.now))
    theirs = store.overwrites_of_many(call.tx, [orphan.id for orphan in orphans])
    for orphan in orphans:
        freed = orphan._replace(parent_id=None)
        store.update(call.tx, orphan, freed)
        publish(call, wire.CHANNEL_UPDATE, freed, views.channel(freed, theirs.get(freed.id, [])))
    return shown


def private_for(call: Call, row: ChannelRow, user_id: int) -> wire.PrivateChannel:
    """A private channel as one of the people in it sees it: with the others."""
    others = [each for each in store.recipients_of(call.tx, row.id) if each != user_id]
    found = users.find_many(call.tx, others)
    return views.private(row, [users.user(found[each]) if each in found else users.gone(each) for each in others])


def close(call: Call, row: ChannelRow) -> wire.PrivateChannel:
    """Close a private channel for the caller; it opens again with the next message."""
    store.hide_for(call.tx, row.id, call.user_id)
    shown = private_for(call, row, call.user_id)
    call.tx.emit(wire.CHANNEL_DELETE, shown, Audience.of_users(call.user_id))
    return shown


def change_group(call: Call, before: ChannelRow, body: wire.UpdateChannel) -> ChannelRow:
    """Give a group another name or picture; each in it is told, with the others."""
    if before.type != ChannelType.GROUP_DM:
        raise errors.CANNOT_EXECUTE_ON_DM()
    after = before
    if body.name is not UNSET:
        after = after._replace(name=(body.name or "").strip() or None)
    if body.icon is not UNSET:
        after = after._replace(icon=body.icon.hash if body.icon else None)
    if after != before:
        store.update(call.tx, before, after)
        for user_id in store.recipients_of(call.tx, after.id):
            call.tx.emit(wire.CHANNEL_UPDATE, private_for(call, after, user_id), Audience.of_users(user_id))
    return after


def forget_role(call: Call, fact: roles.RoleDeleted) -> None:
    """A role is gone, and with it what channels say of it."""
    channel_ids = store.channels_with_overwrite(call.tx, fact.guild_id, fact.role_id)
    if not channel_ids:
        return
    store.delete_overwrites(call.tx, channel_ids, fact.role_id)
    rows = store.find_many(call.tx, channel_ids)
    left = store.overwrites_of_many(call.tx, channel_ids)
    for row in rows.values():
        publish(call, wire.CHANNEL_UPDATE, row, views.channel(row, left.get(row.id, [])))


def forget_guild(call: Call, fact: guilds.GuildDeleted) -> None:
    """A guild is going, and its channels and threads with it."""
    channel_ids = store.ids_of_guild(call.tx, fact.guild_id)
    if channel_ids:
        call.tell(ChannelsDeleted(guild_id=fact.guild_id, channel_ids=tuple(channel_ids)))
    store.delete_of_guild(call.tx, fact.guild_id)
