"""Tests of a bot that uses a deprecated route. `test_plugin.py` runs this file and reads the findings report."""

from hubbub.testing import Platform


def test_a_deprecated_route(hubbub: Platform) -> None:
    hubbub.bots["demo-bot"].connect()
    general_channel_id = hubbub.guilds["Town Square"].channels["general"]
    hubbub.bots["demo-bot"].request("GET", f"/channels/{general_channel_id}/pins")
    assert [finding["rule"] for finding in hubbub.report()["findings"]][:1] == ["deprecated_route"]


def test_the_same_deprecated_route_in_another_test(hubbub: Platform) -> None:
    hubbub.bots["demo-bot"].connect()
    hubbub.users["alice"].send_message("general", "hello")
    hubbub.bots["demo-bot"].expect("MESSAGE_CREATE")
    general_channel_id = hubbub.guilds["Town Square"].channels["general"]
    hubbub.bots["demo-bot"].request("GET", f"/channels/{general_channel_id}/pins")
