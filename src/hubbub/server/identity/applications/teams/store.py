"""SQL for the teams and team_members tables."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.protocol.enums import TeamMembershipState, TeamRole
from hubbub.protocol.ids import TeamId
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("teams", "team_members")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="team_members.user_id", erasure=Erasure.DELETED, export="teams"),
    PersonalColumn(column="teams.owner_id", erasure=Erasure.DELETED, export="teams"),
)
"""Columns of these tables that contain IDs of users."""

_ROLE_RANKS: Final = {TeamRole.READ_ONLY: 1, TeamRole.DEVELOPER: 2, TeamRole.ADMIN: 3}
"""Order of the roles; a role includes the rights of lower roles."""


class TeamRow(NamedTuple):
    """A team of developers."""

    id: TeamId
    name: str
    icon: str | None
    """Hash of the icon, or None."""
    owner_id: int


class TeamMemberRow(NamedTuple):
    """A member of a team who is not its owner, or an invitation."""

    team_id: TeamId
    user_id: int
    state: int
    """Value of `TeamMembershipState`."""
    role: str
    """Value of `TeamRole`."""
    created_ms: int
    """Unix milliseconds of the invitation, or of the transfer for a former owner."""


_TEAM_COLUMNS = ", ".join(TeamRow._fields)
_MEMBER_COLUMNS = ", ".join(TeamMemberRow._fields)


def find(tx: Tx, team_id: int) -> TeamRow | None:
    return tx.find(TeamRow, f"SELECT {_TEAM_COLUMNS} FROM teams WHERE id = ?", team_id)


def list_user_teams(tx: Tx, user_id: int) -> list[TeamRow]:
    """List the teams that a user owns, is a member of or is invited to, oldest first."""
    return tx.fetch(
        TeamRow,
        f"SELECT {_TEAM_COLUMNS} FROM teams WHERE owner_id = ? "
        "OR id IN (SELECT team_id FROM team_members WHERE user_id = ?) ORDER BY id",
        user_id,
        user_id,
    )


def save(tx: Tx, row: TeamRow) -> None:
    """Insert a team or update it."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in TeamRow._fields[1:])
    tx.run(
        f"INSERT INTO teams ({_TEAM_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (id) DO UPDATE SET {assignments}",
        *row,
    )


def delete(tx: Tx, team_id: int) -> None:
    """Delete a team and its members."""
    tx.run("DELETE FROM team_members WHERE team_id = ?", team_id)
    tx.run("DELETE FROM teams WHERE id = ?", team_id)


# Members


def find_member(tx: Tx, team_id: int, user_id: int) -> TeamMemberRow | None:
    """Return a member or an invitation, or None. The owner of the team has no row."""
    sql = f"SELECT {_MEMBER_COLUMNS} FROM team_members WHERE team_id = ? AND user_id = ?"
    return tx.find(TeamMemberRow, sql, team_id, user_id)


def list_members(tx: Tx, team_ids: Sequence[int]) -> list[TeamMemberRow]:
    """List the members and invitations of teams, oldest first."""
    if not team_ids:
        return []
    return tx.fetch(
        TeamMemberRow,
        f"SELECT {_MEMBER_COLUMNS} FROM team_members WHERE team_id IN ({placeholders(team_ids)}) "
        "ORDER BY created_ms, user_id",
        *team_ids,
    )


def save_member(tx: Tx, row: TeamMemberRow) -> None:
    """Insert a member or an invitation, or update its state and role."""
    tx.run(
        f"INSERT INTO team_members ({_MEMBER_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (team_id, user_id) DO UPDATE SET state = excluded.state, role = excluded.role",
        *row,
    )


def delete_member(tx: Tx, team_id: int, user_id: int) -> bool:
    """Delete a member or an invitation. Return False if there was none."""
    return bool(tx.run("DELETE FROM team_members WHERE team_id = ? AND user_id = ?", team_id, user_id))


def delete_user(tx: Tx, user_id: int) -> None:
    """Delete the memberships of a user and the teams that the user owns.

    The caller has checked that these teams own no applications."""
    tx.run("DELETE FROM team_members WHERE user_id = ?", user_id)
    for row in tx.fetch(TeamRow, f"SELECT {_TEAM_COLUMNS} FROM teams WHERE owner_id = ?", user_id):
        delete(tx, row.id)


def has_role(tx: Tx, team_id: int | None, user_id: int, role: TeamRole) -> bool:
    """Return whether a user is an accepted member of a team with at least this role; False if `team_id` is None.

    The owner of the team is not a member."""
    row = None if team_id is None else find_member(tx, team_id, user_id)
    return (
        row is not None
        and row.state == TeamMembershipState.ACCEPTED
        and _ROLE_RANKS[TeamRole(row.role)] >= _ROLE_RANKS[role]
    )
