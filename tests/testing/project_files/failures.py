"""Tests that fail or end with an error, each for a different reason. `test_plugin.py` runs this file and reads the output."""

import pytest

from hubbub.testing import Platform


def test_a_bot_without_permission_to_send(hubbub: Platform) -> None:
    bot, bob = hubbub.bots["demo-bot"], hubbub.users["bob"]
    bot.connect()
    bob.connect()
    hubbub.users["alice"].send_message("staff", "hello")
    staff_channel_id = hubbub.guilds["Town Square"].channels["staff"]
    hubbub.faults.fail("POST", "/channels/{channel_id}/messages", times=2, user=bob)
    bot.request("POST", f"/channels/{staff_channel_id}/messages", {"content": "hello"})


def test_an_unrelated_failure(hubbub: Platform) -> None:
    raise ValueError("by itself")


@pytest.mark.asyncio
async def test_an_action_that_is_not_awaited(hubbub: Platform) -> None:
    hubbub.users["bob"].send_message("staff", "hello")


@pytest.mark.hubbub(world="nowhere.toml")
def test_an_unknown_world_file(hubbub: Platform) -> None: ...


@pytest.mark.hubbub(world={"guilds": {"Home": {"owner": "ann"}}})
def test_a_world_without_its_owner(hubbub: Platform) -> None: ...


@pytest.mark.hubbub(world=7)
def test_a_world_of_an_unknown_type(hubbub: Platform) -> None: ...


@pytest.mark.hubbub(now="tomorrow")
def test_a_bad_date(hubbub: Platform) -> None: ...


@pytest.mark.hubbub(now="1999-01-01")
def test_a_date_outside_the_id_range(hubbub: Platform) -> None: ...


@pytest.mark.hubbub(rate_limits="sometimes")
def test_a_bad_mode(hubbub: Platform) -> None: ...


@pytest.mark.hubbub(seed="seven")
def test_a_bad_seed(hubbub: Platform) -> None: ...


@pytest.mark.hubbub(wrold="town.toml")
def test_a_misspelt_argument(hubbub: Platform) -> None: ...


@pytest.mark.hubbub("town.toml")
def test_an_argument_without_a_name(hubbub: Platform) -> None: ...
