"""The causes of rejected requests: missing permissions, the role hierarchy and unknown interactions."""

from typing import Any

import pytest

from hubbub.server import worlds
from hubbub.server.control.causes import GENERAL_CAUSES
from tests.rehearsal import Rehearsal, start_rehearsal

WORLD: dict[str, Any] = {
    "users": {"alice": {}, "bob": {}, "carol": {}, "dora": {}},
    "applications": {"helper": {}},
    "guilds": {
        "Town": {
            "owner": "alice",
            "members": {"bob": {"roles": ["chiefs"]}, "carol": {}},
            "bots": {"helper": {"roles": ["helpers"]}},
            "roles": {
                "chiefs": {},
                "helpers": {"permissions": ["MANAGE_ROLES", "KICK_MEMBERS", "VIEW_CHANNEL"]},
                "players": {},
            },
            "channels": {
                "general": {"overwrites": {"@everyone": {"deny": ["SEND_MESSAGES"]}}},
                "staff": {"overwrites": {"@everyone": {"deny": ["VIEW_CHANNEL"]}}},
            },
        }
    },
}
"""A guild whose bot is below the chiefs and above the players."""


@pytest.mark.parametrize(
    ("caller", "method", "path", "cause"),
    [
        (
            "helper",
            "PUT",
            "/guilds/{guild}/members/{carol}/roles/{chiefs}",
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to give to carol.",
        ),
        (
            "helper",
            "DELETE",
            "/guilds/{guild}/members/{bob}/roles/{chiefs}",
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to remove from bob.",
        ),
        (
            "helper",
            "PATCH",
            "/guilds/{guild}/roles/{chiefs}",
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to change.",
        ),
        (
            "helper",
            "DELETE",
            "/guilds/{guild}/members/{bob}",
            "The highest role of helper, helpers, is not above the highest role of bob, chiefs.",
        ),
        (
            "helper",
            "DELETE",
            "/guilds/{guild}/members/{alice}",
            "alice owns the guild, so no other member can moderate alice.",
        ),
        (
            "helper",
            "PUT",
            "/guilds/{guild}/bans/{carol}",
            "helper lacks the permission BAN_MEMBERS in Town.",
        ),
        ("carol", "POST", "/channels/{general}/messages", "carol lacks the permission SEND_MESSAGES in #general."),
        ("carol", "POST", "/channels/{staff}/messages", "carol lacks the permission VIEW_CHANNEL in #staff."),
        ("dora", "POST", "/channels/{general}/messages", "dora is not a member of Town."),
        ("dora", "GET", "/guilds/{guild}/channels", "dora is not a member of Town."),
    ],
)
async def test_a_rejected_request_is_explained(caller: str, method: str, path: str, cause: str) -> None:
    async with start_rehearsal(worlds.read_mapping(WORLD)) as rehearsal:
        (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()
        built = rehearsal.control.built_world
        guild = built.guilds["Town"]
        user_ids = {name: user.id for name, user in built.users.items()}
        ids = {"guild": guild.id, **guild.channels, **guild.roles, **user_ids}
        body = None if method in ("GET", "DELETE") else {"content": "hello"}
        response = await rehearsal.actor(caller).request(method, path.format(**ids), json=body)

        assert response.status == 403
        [rejected] = (await rehearsal.control_request("GET", "/trace")).ok()["refused"]
        assert rejected["cause"] == cause


async def test_the_error_of_a_person_contains_the_cause(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("bob", "say", channel="staff", content="let me in")
    assert response.json["cause"] == "bob lacks the permission VIEW_CHANNEL in #staff."
    assert response.json["message"].endswith("\n  bob lacks the permission VIEW_CHANNEL in #staff.")


async def test_a_response_to_an_unknown_interaction_is_explained(rehearsal: Rehearsal) -> None:
    (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()
    bot = rehearsal.actor("demo-bot")
    assert (await bot.post("/interactions/1/unknown/callback", json={"type": 5})).json["code"] == 10062
    [rejected] = (await rehearsal.control_request("GET", "/trace")).ok()["refused"]
    assert rejected["cause"] == GENERAL_CAUSES[10062]
    # The token of the interaction is not part of the trace.
    assert rejected["parameters"] == {"interaction_id": "1"}
