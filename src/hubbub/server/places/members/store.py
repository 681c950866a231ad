"""SQL for the members and departed_members tables.

Members are loaded in batches, with three queries for each batch: rows, role IDs and users."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from hubbub.protocol.ids import GuildId, RoleId, UserId
from hubbub.protocol.permissions import Rank, highest_role
from hubbub.server.core.batches import batches, distinct_batches
from hubbub.server.core.personal_data import GUILD_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.identity import users
from hubbub.server.identity.users import UserRow
from hubbub.server.places import guilds, roles

TABLES: Final = ("members", "departed_members")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="departed_members.user_id", erasure=Erasure.DELETED, omission=GUILD_RECORD),
    PersonalColumn(column="members.user_id", erasure=Erasure.DELETED, export="guilds"),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "bans": "a banned user cannot join",
    "guilds": "the owner, who is never pruned",
    "member_roles": "roles of members, read with each member",
    "roles": "positions that decide who outranks a member",
    "users": "search by user name; bots of a guild, which are never pruned",
    "voice_states": "members who are connected to voice, and their channels",
}
"""Tables of other slices that this slice reads, with the reason."""


class MemberRow(NamedTuple):
    """A member of a guild. The columns that `VIEW_COLUMNS` leaves out come last."""

    guild_id: GuildId
    user_id: UserId
    nick: str | None
    avatar: str | None
    banner: str | None
    joined_ms: int
    premium_since_ms: int | None
    deaf: int
    mute: int
    pending: int
    flags: int
    timed_out_until_ms: int
    """End of the timeout in Unix milliseconds; 0 without a timeout, in the past if it is over."""
    bio: str = ""
    temporary: int = 0
    """1 if the member joined by a temporary invite: they are removed when their last session ends, unless they have a role."""


class Membership(NamedTuple):
    """A member with everything that the wire model needs."""

    row: MemberRow
    role_ids: tuple[RoleId, ...]
    """Role IDs in ascending order, without @everyone."""
    user: UserRow


COLUMNS: Final = ", ".join(MemberRow._fields)
VIEW_COLUMNS: Final = MemberRow._fields[: MemberRow._fields.index("bio")]
"""The columns needed to show a member, for example as a message author."""


def find_row(tx: Tx, guild_id: int, user_id: int) -> MemberRow | None:
    return tx.find(MemberRow, f"SELECT {COLUMNS} FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id)


def find_rows(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, MemberRow]:
    """Return the rows of the members among `user_ids`, by user ID."""
    rows_by_user: dict[int, MemberRow] = {}
    for batch in distinct_batches(user_ids):
        rows = tx.all(
            f"SELECT {COLUMNS} FROM members WHERE guild_id = ? AND user_id IN ({placeholders(batch)})", guild_id, *batch
        )
        rows_by_user |= {row[1]: MemberRow(*row) for row in rows}
    return rows_by_user


def find_role_ids(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, tuple[RoleId, ...]]:
    """Return the role IDs of members, by user ID; members without roles are absent."""
    role_ids_by_user: dict[int, tuple[RoleId, ...]] = {}
    for batch in distinct_batches(user_ids):
        rows = tx.all(
            f"SELECT user_id, role_id FROM member_roles WHERE guild_id = ? AND user_id IN ({placeholders(batch)}) "
            "ORDER BY user_id, role_id",
            guild_id,
            *batch,
        )
        for user_id, user_rows in groupby(rows, key=lambda row: row[0]):
            role_ids_by_user[user_id] = tuple(RoleId(role_id) for _, role_id in user_rows)
    return role_ids_by_user


def _with_roles_and_users(tx: Tx, guild_id: int, rows: Sequence[MemberRow]) -> list[Membership]:
    """Return a `Membership` for each row, in the order of the rows; rows without a user are left out."""
    user_ids = [row.user_id for row in rows]
    role_ids_by_user = find_role_ids(tx, guild_id, user_ids)
    users_by_id = users.find_many(tx, user_ids)
    return [
        Membership(row, role_ids_by_user.get(row.user_id, ()), users_by_id[row.user_id])
        for row in rows
        if row.user_id in users_by_id
    ]


def find(tx: Tx, guild_id: int, user_id: int) -> Membership | None:
    """Return a member with roles and user, or None."""
    return find_many(tx, guild_id, (user_id,)).get(user_id)


def find_many(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, Membership]:
    """Return the members among `user_ids` with roles and users, by user ID."""
    rows = list(find_rows(tx, guild_id, user_ids).values())
    return {membership.row.user_id: membership for membership in _with_roles_and_users(tx, guild_id, rows)}


def list_page(tx: Tx, guild_id: int, *, after: int = 0, limit: int) -> list[Membership]:
    """Return at most `limit` members with a user ID above `after`, by ascending user ID."""
    rows = tx.fetch(
        MemberRow,
        f"SELECT {COLUMNS} FROM members WHERE guild_id = ? AND user_id > ? ORDER BY user_id LIMIT ?",
        guild_id,
        after,
        limit,
    )
    return _with_roles_and_users(tx, guild_id, rows)


def list_user_ids(tx: Tx, guild_id: int) -> list[int]:
    """List the user IDs of all members in ascending order."""
    return [
        user_id for (user_id,) in tx.all("SELECT user_id FROM members WHERE guild_id = ? ORDER BY user_id", guild_id)
    ]


def iterate_memberships(tx: Tx, user_id: int) -> Iterator[Membership]:
    """Iterate over a user's memberships in all guilds."""
    user = users.find(tx, user_id)
    if user is None:
        return
    rows = tx.fetch(MemberRow, f"SELECT {COLUMNS} FROM members WHERE user_id = ? ORDER BY guild_id", user_id)
    for batch in batches(rows):
        role_ids_by_guild: dict[int, list[RoleId]] = {}
        for guild_id, role_id in tx.all(
            f"SELECT guild_id, role_id FROM member_roles WHERE user_id = ? AND guild_id IN ({placeholders(batch)}) "
            "ORDER BY role_id",
            user_id,
            *(row.guild_id for row in batch),
        ):
            role_ids_by_guild.setdefault(guild_id, []).append(RoleId(role_id))
        for row in batch:
            yield Membership(row, tuple(role_ids_by_guild.get(row.guild_id, ())), user)


def list_memberships(tx: Tx, user_id: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return the guilds of a user: guild ID, time of joining in Unix milliseconds, and role IDs without @everyone."""
    role_ids_by_guild: dict[tuple[int, int], list[int]] = {}
    for guild_id, joined_ms, role_id in tx.all(
        "SELECT m.guild_id, m.joined_ms, r.role_id FROM members m LEFT JOIN member_roles r "
        "ON r.guild_id = m.guild_id AND r.user_id = m.user_id WHERE m.user_id = ? ORDER BY m.guild_id, r.role_id",
        user_id,
    ):
        guild_role_ids = role_ids_by_guild.setdefault((guild_id, joined_ms), [])
        if role_id is not None:
            guild_role_ids.append(role_id)
    return [
        (guild_id, joined_ms, tuple(joined_role_ids))
        for (guild_id, joined_ms), joined_role_ids in role_ids_by_guild.items()
    ]


def search(tx: Tx, guild_id: int, prefix: str, limit: int) -> list[Membership]:
    """Return at most `limit` members whose username, global name or nickname begins with `prefix`, by ascending user ID.

    The comparison ignores case."""
    if prefix.isascii():
        pattern = _like_pattern(prefix.lower())
        rows = tx.all(
            "SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id WHERE m.guild_id = ? AND ("
            "LOWER(u.username) LIKE ? ESCAPE '!' OR LOWER(m.nick) LIKE ? ESCAPE '!' OR LOWER(u.global_name) LIKE ? ESCAPE '!'"
            ") ORDER BY m.user_id LIMIT ?",
            guild_id,
            pattern,
            pattern,
            pattern,
            limit,
        )
        user_ids = [row[0] for row in rows]
    else:
        # SQLite's LOWER handles ASCII only and PostgreSQL's depends on the locale, so other letters are compared in Python.
        folded_prefix = prefix.casefold()
        rows = tx.all(
            "SELECT m.user_id, u.username, m.nick, u.global_name FROM members m JOIN users u ON u.id = m.user_id "
            "WHERE m.guild_id = ? ORDER BY m.user_id",
            guild_id,
        )
        matching_ids = [
            row[0] for row in rows if any(name and name.casefold().startswith(folded_prefix) for name in row[1:])
        ]
        user_ids = matching_ids[:limit]
    memberships_by_user = find_many(tx, guild_id, user_ids)
    return [memberships_by_user[user_id] for user_id in user_ids if user_id in memberships_by_user]


def _like_pattern(text: str) -> str:
    """Return the LIKE pattern for texts that begin with `text`; the escape character is `!`."""
    for character in "!%_":
        text = text.replace(character, "!" + character)
    return text + "%"


def list_pending_ids(tx: Tx, guild_id: int) -> list[int]:
    rows = tx.all("SELECT user_id FROM members WHERE guild_id = ? AND pending = 1 ORDER BY user_id", guild_id)
    return [row[0] for row in rows]


def list_ids_with_prominence(tx: Tx, guild_id: int) -> list[tuple[int, bool]]:
    """Return each member's ID, and whether the member is prominent: has a role, a nickname or a voice channel."""
    rows = tx.all(
        "SELECT m.user_id, CASE WHEN m.nick IS NOT NULL "
        "OR EXISTS (SELECT 1 FROM member_roles r WHERE r.guild_id = m.guild_id AND r.user_id = m.user_id) "
        "OR EXISTS (SELECT 1 FROM voice_states v WHERE v.guild_id = m.guild_id AND v.user_id = m.user_id) "
        "THEN 1 ELSE 0 END FROM members m WHERE m.guild_id = ? ORDER BY m.user_id",
        guild_id,
    )
    return [(row[0], bool(row[1])) for row in rows]


def list_connected_ids(tx: Tx, guild_id: int) -> list[int]:
    """Return the IDs of members connected to voice."""
    return [row[0] for row in tx.all("SELECT user_id FROM voice_states WHERE guild_id = ? ORDER BY user_id", guild_id)]


def find_voice_channel_id(tx: Tx, guild_id: int, user_id: int) -> int | None:
    """Return the ID of the voice channel that a member is connected to, or None."""
    channel_id: int | None = tx.value(
        "SELECT channel_id FROM voice_states WHERE guild_id = ? AND user_id = ?", guild_id, user_id
    )
    return channel_id


def find_ranks(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, Rank]:
    """Return members' highest role ranks, by user ID; users who are not members are absent."""
    ranks_by_user: dict[int, Rank] = {}
    for batch in distinct_batches(user_ids):
        rows = tx.all(
            "SELECT m.user_id, r.position, r.id FROM members m "
            "LEFT JOIN member_roles mr ON mr.guild_id = m.guild_id AND mr.user_id = m.user_id "
            f"LEFT JOIN roles r ON r.id = mr.role_id WHERE m.guild_id = ? AND m.user_id IN ({placeholders(batch)}) "
            "ORDER BY m.user_id",
            guild_id,
            *batch,
        )
        for user_id, user_rows in groupby(rows, key=lambda row: row[0]):
            held_roles = [(position, role_id) for _, position, role_id in user_rows if role_id is not None]
            ranks_by_user[user_id] = highest_role([*held_roles, (0, guild_id)])
    return ranks_by_user


def is_banned(tx: Tx, guild_id: int, user_id: int) -> bool:
    return tx.value("SELECT 1 FROM bans WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None


def list_temporary_membership_guild_ids(tx: Tx, user_id: int) -> list[int]:
    """Return the IDs of guilds in which a user is a temporary member without a role."""
    rows = tx.all(
        "SELECT m.guild_id FROM members m WHERE m.user_id = ? AND m.temporary = 1 AND NOT EXISTS "
        "(SELECT 1 FROM member_roles r WHERE r.guild_id = m.guild_id AND r.user_id = m.user_id) ORDER BY m.guild_id",
        user_id,
    )
    return [row[0] for row in rows]


def have_mutual_guild(tx: Tx, user_id: int, other_id: int) -> bool:
    sql = "SELECT 1 FROM members a JOIN members b ON b.guild_id = a.guild_id WHERE a.user_id = ? AND b.user_id = ? LIMIT 1"
    return tx.value(sql, user_id, other_id) is not None


def filter_member_guilds(tx: Tx, user_id: int, guild_ids: Collection[int]) -> set[int]:
    """Return the IDs of the given guilds that a user is a member of."""
    if not guild_ids:
        return set()
    sql = f"SELECT guild_id FROM members WHERE user_id = ? AND guild_id IN ({placeholders(guild_ids)})"
    return {guild_id for (guild_id,) in tx.all(sql, user_id, *guild_ids)}


def count_guilds(tx: Tx, user_id: int) -> int:
    """Return the number of guilds a user or bot is in."""
    return int(tx.value("SELECT COUNT(*) FROM members WHERE user_id = ?", user_id))


def count_reachable_users(tx: Tx, user_id: int) -> int:
    """Return the number of distinct users in the guilds of a bot."""
    sql = (
        "SELECT COUNT(DISTINCT m.user_id) FROM members b JOIN members m ON m.guild_id = b.guild_id WHERE b.user_id = ?"
    )
    return int(tx.value(sql, user_id))


def list_bot_ids(tx: Tx, guild_id: int, limit: int) -> list[int]:
    """List the user IDs of at most `limit` bots in a guild, in the order in which they joined."""
    rows = tx.all(
        "SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id WHERE m.guild_id = ? AND u.bot = 1 "
        "ORDER BY m.joined_ms, m.user_id LIMIT ?",
        guild_id,
        limit,
    )
    return [row[0] for row in rows]


def list_prune_candidate_ids(
    tx: Tx, guild_id: int, joined_before_ms: int, included_role_ids: Sequence[int]
) -> list[int]:
    """Return the IDs of members who joined before `joined_before_ms` (Unix milliseconds). They may have sent messages since then.

    Members with a role that is not in `included_role_ids`, the owner and bots are left out."""
    role_condition = f" AND mr.role_id NOT IN ({placeholders(included_role_ids)})" if included_role_ids else ""
    rows = tx.all(
        "SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id JOIN guilds g ON g.id = m.guild_id "
        "WHERE m.guild_id = ? AND m.joined_ms < ? AND u.bot = 0 AND m.user_id <> g.owner_id "
        f"AND NOT EXISTS (SELECT 1 FROM member_roles mr WHERE mr.guild_id = m.guild_id AND mr.user_id = m.user_id{role_condition}) "
        "ORDER BY m.user_id",
        guild_id,
        joined_before_ms,
        *included_role_ids,
    )
    return [row[0] for row in rows]


def insert(tx: Tx, row: MemberRow, role_ids: Iterable[int] = ()) -> bool:
    """Insert a member with the roles `role_ids` and increment the member count; return False if they are already a member."""
    if not tx.run(f"INSERT INTO members ({COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT DO NOTHING", *row):
        return False
    guilds.membership.adjust_member_count(tx, row.guild_id, 1)
    roles.assignments.assign(tx, row.guild_id, row.user_id, role_ids)
    return True


def update(tx: Tx, row: MemberRow) -> None:
    """Update the mutable columns of a member."""
    tx.run(
        "UPDATE members SET nick = ?, avatar = ?, banner = ?, bio = ?, deaf = ?, mute = ?, pending = ?, flags = ?, "
        "timed_out_until_ms = ?, temporary = ? WHERE guild_id = ? AND user_id = ?",
        row.nick,
        row.avatar,
        row.banner,
        row.bio,
        row.deaf,
        row.mute,
        row.pending,
        row.flags,
        row.timed_out_until_ms,
        row.temporary,
        row.guild_id,
        row.user_id,
    )


def delete(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> None:
    """Delete members and their roles, and decrement the member count."""
    deleted_count = 0
    for batch in distinct_batches(user_ids):
        where = f"WHERE guild_id = ? AND user_id IN ({placeholders(batch)})"
        roles.assignments.unassign_all(tx, guild_id, batch)
        deleted_count += tx.run(f"DELETE FROM members {where}", guild_id, *batch)
    guilds.membership.adjust_member_count(tx, guild_id, -deleted_count)


class DepartedMemberRow(NamedTuple):
    """The moderation of a user who left a guild, which applies again when they join."""

    guild_id: int
    user_id: int
    timed_out_until_ms: int = 0
    mute: int = 0
    deaf: int = 0

    @property
    def is_moderated(self) -> bool:
        """Whether the user left with a timeout, a mute or a deafening."""
        return bool(self.timed_out_until_ms or self.mute or self.deaf)


def insert_departed_members(tx: Tx, rows: Iterable[DepartedMemberRow]) -> None:
    """Store the moderation of users who left a guild."""
    tx.run_many(
        "INSERT INTO departed_members (guild_id, user_id, timed_out_until_ms, mute, deaf) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        list(rows),
    )


def take_departed_member(tx: Tx, guild_id: int, user_id: int) -> DepartedMemberRow:
    """Return and delete the moderation of a user who left a guild; a row without moderation if there is none."""
    where = "WHERE guild_id = ? AND user_id = ?"
    columns = ", ".join(DepartedMemberRow._fields)
    row = tx.find(DepartedMemberRow, f"SELECT {columns} FROM departed_members {where}", guild_id, user_id)
    if row is None:
        return DepartedMemberRow(guild_id, user_id)
    tx.run(f"DELETE FROM departed_members {where}", guild_id, user_id)
    return row


def delete_departed_memberships(tx: Tx, user_id: int) -> None:
    """Delete the moderation of a deleted account in the guilds it left."""
    tx.run("DELETE FROM departed_members WHERE user_id = ?", user_id)


def insert_owner(tx: Tx, guild_id: int, user_id: int, joined_ms: int) -> None:
    """Insert the owner of a new guild, whose member count includes them already."""
    tx.run("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, ?)", guild_id, user_id, joined_ms)


def delete_guild_members(tx: Tx, guild_id: int) -> None:
    """Delete all members of a guild, and the moderation of users who left it."""
    tx.run("DELETE FROM members WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM departed_members WHERE guild_id = ?", guild_id)
