"""Members with the same roles share their computed permissions."""

from hubbub.protocol.permissions import Permissions
from hubbub.server.core.gateway_queries import ChannelState, GuildState, MemberState
from hubbub.server.transports.gateway.standings import Standings

VIEW = Permissions.VIEW_CHANNEL
BAN = Permissions.BAN_MEMBERS


def channel(channel_id: int, overwrites: dict[int, tuple[int, int]] | None = None) -> ChannelState:
    return ChannelState(
        id=channel_id, type=0, parent_id=None, overwrites=overwrites or {}, body=b"{}", obfuscated_body=b"{}"
    )


GUILD = GuildState(
    id=1,
    owner_id=9,
    roles={1: VIEW, 2: BAN},
    channels={10: channel(10), 11: channel(11, {1: (0, VIEW), 5: (VIEW, 0)}), 12: channel(12, {2: (0, VIEW)})},
    member_count=1,
    shared_fields={},
)


def member(user_id: int, *roles: int, until: int = 0, restricted: bool = False) -> MemberState:
    return MemberState(user_id=user_id, roles=roles, timed_out_until_ms=until, restricted=restricted)


def test_same_roles_share_a_standing_unless_a_channel_names_the_member() -> None:
    standings = Standings(GUILD)
    assert standings.standing_of(member(3), 0) is standings.standing_of(member(4), 0)
    assert standings.standing_of(member(3, 2), 0) is not standings.standing_of(member(4), 0)
    assert standings.standing_of(member(5), 0) is not standings.standing_of(member(3), 0)


def test_unused_standings_are_forgotten() -> None:
    standings = Standings(GUILD)
    held = standings.standing_of(member(3), 0)
    for role in range(100, 200):
        standings.standing_of(member(3, role), 0)
    assert len(standings) == 1
    assert standings.standing_of(member(4), 0) is held


def test_visible_channels_of_a_standing() -> None:
    standings = Standings(GUILD)
    assert standings.standing_of(member(3), 0).visible == {10, 12}
    assert standings.standing_of(member(5), 0).visible == {10, 11, 12}
    assert standings.standing_of(member(3, 2), 0).visible == {10}
    assert standings.standing_of(member(9), 0).visible == {10, 11, 12}
    assert standings.standing_of(member(3), 0).permissions(99) == 0


def test_a_timeout_removes_permissions_but_not_visibility() -> None:
    standings = Standings(GUILD)
    during, after = (
        standings.standing_of(member(3, 2, until=100), 99),
        standings.standing_of(member(3, 2, until=100), 100),
    )
    assert (during.base & BAN, after.base & BAN) == (0, BAN)
    assert (during.permissions(10) & BAN, after.permissions(10) & BAN) == (0, BAN)
    assert during.visible == after.visible == {10}


def test_restricted_members_share_the_standing_of_timed_out_members() -> None:
    standings = Standings(GUILD)
    restricted = standings.standing_of(member(3, 2, restricted=True), 0)
    assert restricted is standings.standing_of(member(4, 2, until=100), 99)
    assert restricted is not standings.standing_of(member(4, 2), 0)
    assert (restricted.base & BAN, restricted.visible) == (0, {10})
    assert standings.standing_of(member(9, restricted=True), 0).base & BAN
