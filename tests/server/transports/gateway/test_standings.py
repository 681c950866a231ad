"""Standings in a gateway hub: sharing between members, visible channels, timeouts and restrictions."""

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.gateway_queries import ChannelState, GuildState, MemberState
from hubbub.server.transports.gateway.standings import Standings

VIEW_CHANNEL = Permissions.VIEW_CHANNEL
BAN_MEMBERS = Permissions.BAN_MEMBERS


def make_channel(channel_id: int, overwrites: dict[int, tuple[int, int]] | None = None) -> ChannelState:
    return ChannelState(
        id=channel_id,
        type=ChannelType.GUILD_TEXT,
        parent_id=None,
        overwrites=overwrites or {},
        body=b"{}",
        obfuscated_body=b"{}",
    )


GUILD = GuildState(
    id=1,
    owner_id=9,
    roles={1: VIEW_CHANNEL, 2: BAN_MEMBERS},
    channels={
        10: make_channel(10),
        11: make_channel(11, {1: (0, VIEW_CHANNEL), 5: (VIEW_CHANNEL, 0)}),
        12: make_channel(12, {2: (0, VIEW_CHANNEL)}),
    },
    member_count=1,
    shared_fields={},
)
"""A guild of user 9, who sees all channels. Everyone sees channel 10. Of the others, only user 5 sees channel 11, and
members with role 2 do not see channel 12."""


def make_member(user_id: int, *roles: int, timed_out_until_ms: int = 0, is_restricted: bool = False) -> MemberState:
    return MemberState(user_id=user_id, roles=roles, timed_out_until_ms=timed_out_until_ms, is_restricted=is_restricted)


def test_same_roles_share_a_standing_unless_a_channel_names_the_member() -> None:
    standings = Standings(GUILD)
    assert standings.standing_of(make_member(3), 0) is standings.standing_of(make_member(4), 0)
    assert standings.standing_of(make_member(3, 2), 0) is not standings.standing_of(make_member(4), 0)
    assert standings.standing_of(make_member(5), 0) is not standings.standing_of(make_member(3), 0)


def test_unused_standings_are_discarded() -> None:
    standings = Standings(GUILD)
    standing_in_use = standings.standing_of(make_member(3), 0)
    for role in range(100, 200):
        standings.standing_of(make_member(3, role), 0)
    assert len(standings) == 1
    assert standings.standing_of(make_member(4), 0) is standing_in_use


def test_a_standing_has_the_channels_that_its_members_can_view() -> None:
    standings = Standings(GUILD)
    assert standings.standing_of(make_member(3), 0).visible == {10, 12}
    assert standings.standing_of(make_member(5), 0).visible == {10, 11, 12}
    assert standings.standing_of(make_member(3, 2), 0).visible == {10}
    assert standings.standing_of(make_member(9), 0).visible == {10, 11, 12}
    assert standings.standing_of(make_member(3), 0).permissions(99) == 0


def test_a_timeout_removes_permissions_but_not_visibility() -> None:
    standings = Standings(GUILD)
    standing_during_timeout, standing_after_timeout = (
        standings.standing_of(make_member(3, 2, timed_out_until_ms=100), 99),
        standings.standing_of(make_member(3, 2, timed_out_until_ms=100), 100),
    )
    assert (
        standing_during_timeout.guild_permissions & BAN_MEMBERS,
        standing_after_timeout.guild_permissions & BAN_MEMBERS,
    ) == (0, BAN_MEMBERS)
    assert (
        standing_during_timeout.permissions(10) & BAN_MEMBERS,
        standing_after_timeout.permissions(10) & BAN_MEMBERS,
    ) == (0, BAN_MEMBERS)
    assert standing_during_timeout.visible == standing_after_timeout.visible == {10}


def test_restricted_members_share_the_standing_of_timed_out_members() -> None:
    standings = Standings(GUILD)
    restricted_standing = standings.standing_of(make_member(3, 2, is_restricted=True), 0)
    assert restricted_standing is standings.standing_of(make_member(4, 2, timed_out_until_ms=100), 99)
    assert restricted_standing is not standings.standing_of(make_member(4, 2), 0)
    assert (restricted_standing.guild_permissions & BAN_MEMBERS, restricted_standing.visible) == (0, {10})
    assert standings.standing_of(make_member(9, is_restricted=True), 0).guild_permissions & BAN_MEMBERS
