"""Permission bits and their arithmetic, tested with tables and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.protocol import codec
from hubbub.protocol.permissions import (
    PERMISSIONS_BY_NAME,
    Overwrite,
    Permissions,
    Rank,
    apply_implied_denials,
    base_permissions,
    can_act_on,
    can_grant,
    can_overwrite,
    can_see_thread,
    channel_permissions,
    effective_permissions,
    highest_role,
    outranks,
    permission_names,
    thread_permissions,
    timed_out_permissions,
)

READ = Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY
READ_AND_SEND = READ | Permissions.SEND_MESSAGES

permission_bits = st.integers(min_value=0, max_value=Permissions.ALL).map(lambda value: value & Permissions.ALL)
bits_without_administrator = permission_bits.map(lambda value: value & ~Permissions.ADMINISTRATOR)
overwrites = st.tuples(permission_bits, permission_bits)


def test_there_are_52_bits_and_all_is_their_union() -> None:
    assert len(PERMISSIONS_BY_NAME) == 52
    assert sum(PERMISSIONS_BY_NAME.values()) == Permissions.ALL
    # Bit 47 is not assigned.
    assert Permissions.ALL & 1 << 47 == 0


@pytest.mark.parametrize(
    ("bit", "number"),
    [
        (Permissions.ADMINISTRATOR, 3),
        (Permissions.VIEW_CHANNEL, 10),
        (Permissions.USE_APPLICATION_COMMANDS, 31),
        (Permissions.MODERATE_MEMBERS, 40),
        (Permissions.CREATE_GUILD_EXPRESSIONS, 43),
        (Permissions.CREATE_EVENTS, 44),
        (Permissions.SET_VOICE_CHANNEL_STATUS, 48),
        (Permissions.USE_EXTERNAL_APPS, 50),
        (Permissions.PIN_MESSAGES, 51),
        (Permissions.BYPASS_SLOWMODE, 52),
    ],
)
def test_bits_have_their_documented_positions(bit: int, number: int) -> None:
    assert bit == 1 << number


def test_names_are_listed_from_the_lowest_bit() -> None:
    assert permission_names(Permissions.BYPASS_SLOWMODE | Permissions.KICK_MEMBERS | Permissions.VIEW_CHANNEL) == [
        "KICK_MEMBERS",
        "VIEW_CHANNEL",
        "BYPASS_SLOWMODE",
    ]
    assert permission_names(0) == []


def test_guild_bits_have_no_effect_in_overwrites() -> None:
    assert not Permissions.CHANNEL & (
        Permissions.ADMINISTRATOR | Permissions.KICK_MEMBERS | Permissions.MANAGE_GUILD | Permissions.MODERATE_MEMBERS
    )
    assert Permissions.SPEAK & Permissions.VOICE
    assert not Permissions.SPEAK & (Permissions.TEXT | Permissions.STAGE)
    assert not Permissions.PIN_MESSAGES & (Permissions.VOICE | Permissions.STAGE)


def test_default_permissions_are_not_elevated() -> None:
    assert not Permissions.DEFAULT_EVERYONE & Permissions.ELEVATED


def test_permissions_are_strings_on_the_wire() -> None:
    assert codec.encode(Permissions(Permissions.ALL)) == f'"{Permissions.ALL}"'.encode()
    assert codec.decode('"1024"', Permissions) == Permissions.VIEW_CHANNEL
    assert codec.decode("1024", Permissions) == Permissions.VIEW_CHANNEL


@pytest.mark.parametrize(
    ("is_owner", "everyone", "roles", "expected"),
    [
        (False, READ, [], READ),
        (False, READ, [Permissions.SEND_MESSAGES], READ_AND_SEND),
        (
            False,
            0,
            [Permissions.KICK_MEMBERS, Permissions.BAN_MEMBERS],
            Permissions.KICK_MEMBERS | Permissions.BAN_MEMBERS,
        ),
        (False, Permissions.ADMINISTRATOR, [], Permissions.ALL),
        (False, READ, [Permissions.ADMINISTRATOR], Permissions.ALL),
        (True, 0, [], Permissions.ALL),
    ],
)
def test_base_permissions_combine_everyone_and_the_roles(
    is_owner: bool, everyone: int, roles: list[int], expected: int
) -> None:
    assert base_permissions(is_owner, everyone, roles) == expected


@pytest.mark.parametrize(
    ("base", "everyone", "roles", "member", "expected"),
    [
        pytest.param(READ_AND_SEND, None, [], None, READ_AND_SEND, id="no overwrites"),
        pytest.param(READ_AND_SEND, (0, Permissions.SEND_MESSAGES), [], None, READ, id="everyone denied"),
        pytest.param(READ, (Permissions.SEND_MESSAGES, 0), [], None, READ_AND_SEND, id="everyone allowed"),
        pytest.param(
            READ_AND_SEND,
            (0, Permissions.SEND_MESSAGES),
            [(Permissions.SEND_MESSAGES, 0)],
            None,
            READ_AND_SEND,
            id="role allow beats everyone deny",
        ),
        pytest.param(
            READ_AND_SEND,
            None,
            [(Permissions.SEND_MESSAGES, 0), (0, Permissions.SEND_MESSAGES)],
            None,
            READ_AND_SEND,
            id="role allow beats other role deny",
        ),
        pytest.param(
            READ_AND_SEND,
            None,
            [(Permissions.SEND_MESSAGES, 0)],
            (0, Permissions.SEND_MESSAGES),
            READ,
            id="member deny wins",
        ),
        pytest.param(
            READ_AND_SEND,
            None,
            [(0, Permissions.SEND_MESSAGES)],
            (Permissions.SEND_MESSAGES, 0),
            READ_AND_SEND,
            id="member allow wins",
        ),
        pytest.param(
            READ_AND_SEND,
            (Permissions.SEND_MESSAGES, Permissions.SEND_MESSAGES),
            [],
            None,
            READ_AND_SEND,
            id="allow beats deny in one overwrite",
        ),
        pytest.param(
            Permissions.ALL,
            (0, Permissions.ALL),
            [(0, Permissions.ALL)],
            (0, Permissions.ALL),
            Permissions.ALL,
            id="administrator ignores overwrites",
        ),
        pytest.param(
            READ,
            (Permissions.ADMINISTRATOR, 0),
            [],
            (Permissions.KICK_MEMBERS, 0),
            READ,
            id="guild bits cannot be allowed",
        ),
        pytest.param(
            READ | Permissions.KICK_MEMBERS,
            (0, Permissions.KICK_MEMBERS),
            [],
            None,
            READ | Permissions.KICK_MEMBERS,
            id="guild bits cannot be denied",
        ),
    ],
)
def test_overwrites_apply_in_the_order_everyone_roles_member(
    base: int, everyone: Overwrite | None, roles: list[Overwrite], member: Overwrite | None, expected: int
) -> None:
    assert channel_permissions(base, everyone, roles, member) == expected


@given(st.none() | overwrites, st.lists(overwrites, max_size=5), st.none() | overwrites)
def test_an_administrator_has_everything_everywhere(
    everyone: Overwrite | None, roles: list[Overwrite], member: Overwrite | None
) -> None:
    base = base_permissions(False, Permissions.ADMINISTRATOR, [])
    assert (
        effective_permissions(channel_permissions(base, everyone, roles, member), is_timed_out=True, is_voice=True)
        == Permissions.ALL
    )


@given(
    permission_bits,
    st.lists(permission_bits, max_size=5).flatmap(lambda roles: st.tuples(st.just(roles), st.permutations(roles))),
)
def test_the_order_of_roles_never_matters_in_the_guild(everyone: int, orders: tuple[list[int], list[int]]) -> None:
    assert base_permissions(False, everyone, orders[0]) == base_permissions(False, everyone, orders[1])


@given(
    bits_without_administrator,
    st.lists(overwrites, max_size=5).flatmap(lambda roles: st.tuples(st.just(roles), st.permutations(roles))),
)
def test_the_order_of_roles_never_matters_in_a_channel(
    base: int, orders: tuple[list[Overwrite], list[Overwrite]]
) -> None:
    assert channel_permissions(base, None, orders[0]) == channel_permissions(base, None, orders[1])


@given(bits_without_administrator, st.none() | overwrites, st.lists(overwrites, max_size=5), st.none() | overwrites)
def test_overwrites_never_grant_administrator(
    base: int, everyone: Overwrite | None, roles: list[Overwrite], member: Overwrite | None
) -> None:
    assert not channel_permissions(base, everyone, roles, member) & Permissions.ADMINISTRATOR


@given(permission_bits, st.booleans(), st.booleans())
def test_implied_denials_only_remove_permissions(value: int, is_timed_out: bool, is_voice: bool) -> None:
    remaining = effective_permissions(value, is_timed_out=is_timed_out, is_voice=is_voice)
    assert remaining & ~value == 0
    assert effective_permissions(remaining, is_timed_out=is_timed_out, is_voice=is_voice) == remaining


SEND_EXTRAS = (
    Permissions.MENTION_EVERYONE | Permissions.SEND_TTS_MESSAGES | Permissions.ATTACH_FILES | Permissions.EMBED_LINKS
)


@pytest.mark.parametrize(
    ("value", "is_voice", "expected"),
    [
        pytest.param(
            Permissions.ALL & ~(Permissions.VIEW_CHANNEL | Permissions.ADMINISTRATOR),
            False,
            0,
            id="without VIEW_CHANNEL",
        ),
        pytest.param(READ | SEND_EXTRAS, False, READ, id="without SEND_MESSAGES"),
        pytest.param(READ_AND_SEND | SEND_EXTRAS, False, READ_AND_SEND | SEND_EXTRAS, id="with SEND_MESSAGES"),
        pytest.param(
            READ_AND_SEND | Permissions.MANAGE_CHANNELS, True, Permissions.VIEW_CHANNEL, id="voice without CONNECT"
        ),
        pytest.param(
            READ_AND_SEND | Permissions.MANAGE_CHANNELS | Permissions.CONNECT,
            True,
            READ_AND_SEND | Permissions.MANAGE_CHANNELS | Permissions.CONNECT,
            id="voice with CONNECT",
        ),
        pytest.param(
            READ_AND_SEND | Permissions.MANAGE_CHANNELS,
            False,
            READ_AND_SEND | Permissions.MANAGE_CHANNELS,
            id="text without CONNECT",
        ),
        pytest.param(Permissions.ADMINISTRATOR, True, Permissions.ADMINISTRATOR, id="administrator"),
    ],
)
def test_a_missing_permission_denies_those_that_depend_on_it(value: int, is_voice: bool, expected: int) -> None:
    assert apply_implied_denials(value, is_voice=is_voice) == expected


def test_a_timeout_leaves_only_read_permissions() -> None:
    assert timed_out_permissions(READ_AND_SEND | Permissions.MANAGE_GUILD) == READ
    assert timed_out_permissions(Permissions.SEND_MESSAGES) == 0
    assert timed_out_permissions(Permissions.ALL) == Permissions.ALL


@pytest.mark.parametrize(
    ("parent_bits", "can_send"),
    [
        (READ_AND_SEND, False),
        (READ | Permissions.SEND_MESSAGES_IN_THREADS, True),
        (READ_AND_SEND | Permissions.SEND_MESSAGES_IN_THREADS, True),
        (READ, False),
    ],
)
def test_posting_in_a_thread_has_its_own_bit(parent_bits: int, can_send: bool) -> None:
    assert bool(thread_permissions(parent_bits) & Permissions.SEND_MESSAGES) is can_send


def test_send_messages_in_threads_allows_attaching_files_in_threads() -> None:
    parent_bits = READ | Permissions.ATTACH_FILES | Permissions.SEND_MESSAGES_IN_THREADS
    assert not effective_permissions(parent_bits) & Permissions.ATTACH_FILES
    assert effective_permissions(thread_permissions(parent_bits)) & Permissions.ATTACH_FILES


@pytest.mark.parametrize(
    ("parent_bits", "is_private", "is_member", "expected"),
    [
        (READ, False, False, True),
        (READ, True, False, False),
        (READ, True, True, True),
        (READ | Permissions.MANAGE_THREADS, True, False, True),
        (Permissions.MANAGE_THREADS, True, True, False),
        (0, False, True, False),
    ],
)
def test_private_threads_are_visible_to_members_and_managers(
    parent_bits: int, is_private: bool, is_member: bool, expected: bool
) -> None:
    assert can_see_thread(parent_bits, is_private=is_private, is_member=is_member) is expected


@pytest.mark.parametrize(
    ("actor", "target", "expected"),
    [
        ((2, 20), (1, 10), True),
        ((1, 10), (2, 20), False),
        ((1, 10), (1, 11), True),
        ((1, 11), (1, 10), False),
        ((1, 10), (1, 10), False),
    ],
)
def test_higher_roles_outrank_lower_ones(actor: Rank, target: Rank, expected: bool) -> None:
    assert outranks(actor, target) is expected


def test_the_highest_role_is_the_greatest_position_then_the_lowest_id() -> None:
    assert highest_role([(1, 5), (3, 9), (3, 7), (2, 1)]) == (3, 7)
    assert outranks(highest_role([(0, 100)]), highest_role([]))
    assert not outranks(highest_role([]), highest_role([]))


@given(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_exactly_one_of_two_roles_outranks_the_other(one: Rank, other: Rank) -> None:
    assert outranks(one, other) + outranks(other, one) == (one != other)


def test_owners_act_on_every_member_and_no_member_acts_on_them() -> None:
    assert can_act_on((0, 1), (9, 2), is_actor_owner=True)
    assert not can_act_on((9, 1), (0, 2), is_target_owner=True)
    assert can_act_on((9, 1), (0, 2))
    assert not can_act_on((1, 1), (1, 1))


def test_a_member_grants_only_permissions_they_have() -> None:
    assert can_grant(READ_AND_SEND, Permissions.SEND_MESSAGES)
    assert not can_grant(READ_AND_SEND, Permissions.SEND_MESSAGES | Permissions.KICK_MEMBERS)
    assert can_grant(base_permissions(False, Permissions.ADMINISTRATOR, []), Permissions.ALL)


@pytest.mark.parametrize(
    ("guild_bits", "channel_bits", "changed_bits", "has_manage_roles_overwrite", "expected"),
    [
        pytest.param(READ_AND_SEND, 0, Permissions.SEND_MESSAGES, False, True, id="held in the guild"),
        pytest.param(0, READ_AND_SEND, Permissions.SEND_MESSAGES, False, True, id="held in the channel"),
        pytest.param(READ, READ, Permissions.SEND_MESSAGES, False, False, id="not held"),
        pytest.param(READ, READ, Permissions.SEND_MESSAGES, True, True, id="manages roles by an overwrite"),
        pytest.param(
            Permissions.MANAGE_ROLES,
            Permissions.MANAGE_ROLES,
            Permissions.MANAGE_ROLES,
            False,
            False,
            id="MANAGE_ROLES cannot be granted",
        ),
        pytest.param(
            Permissions.ALL,
            Permissions.ALL,
            Permissions.MANAGE_ROLES,
            False,
            True,
            id="administrators can grant MANAGE_ROLES",
        ),
    ],
)
def test_overwrites_change_only_permissions_that_the_caller_may_grant(
    guild_bits: int, channel_bits: int, changed_bits: int, has_manage_roles_overwrite: bool, expected: bool
) -> None:
    assert (
        can_overwrite(guild_bits, channel_bits, changed_bits, has_manage_roles_overwrite=has_manage_roles_overwrite)
        is expected
    )
