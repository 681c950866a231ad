"""Permissions in older API versions.

Versions 6 and 7 send numbers and additional string fields (`permissions_new`), later versions only strings."""

from typing import Any

import pytest

from hubbub.protocol.enums import OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.legacy_permissions import convert_permissions
from tests.world import World

WIDE_PERMISSIONS = Permissions.KICK_MEMBERS | Permissions.PIN_MESSAGES
"""One permission in the lower 31 bits, which a number can hold, and one above them."""
STRING_FIELDS = {"permissions": str(int(WIDE_PERMISSIONS))}
NUMBER_FIELDS = {"permissions": int(Permissions.KICK_MEMBERS), "permissions_new": str(int(WIDE_PERMISSIONS))}


def permission_fields(role: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in role.items() if name.startswith("permissions")}


@pytest.mark.parametrize(
    ("version", "expected"),
    [(6, NUMBER_FIELDS), (7, NUMBER_FIELDS), (8, STRING_FIELDS), (9, STRING_FIELDS), (10, STRING_FIELDS)],
)
async def test_responses_and_events_have_the_permissions_of_their_version(
    world: World, version: int, expected: dict[str, Any]
) -> None:
    guild = await world.guild()
    role_id = await guild.role("wide", WIDE_PERMISSIONS)
    await guild.overwrite(
        guild.general, role_id, allow=WIDE_PERMISSIONS, deny=Permissions.BYPASS_SLOWMODE, target_type=OverwriteType.ROLE
    )
    base = f"{world.url}/api/v{version}"

    roles = (await guild.owner.get(f"{base}/guilds/{guild.id}/roles")).ok()
    channel = (await guild.owner.get(f"{base}/channels/{guild.general}")).ok()
    my_guild = (await guild.owner.get(f"{base}/users/@me/guilds")).ok()[0]
    session = await guild.owner.connect(version=version)
    current_session = await guild.owner.connect()

    assert permission_fields(next(role for role in roles if role["id"] == str(role_id))) == expected
    assert isinstance(my_guild["permissions"], int) is (version < 8)
    overwrite = next(entry for entry in channel["permission_overwrites"] if entry["id"] == str(role_id))
    if version < 8:
        assert (overwrite["allow"], overwrite["allow_new"]) == (
            NUMBER_FIELDS["permissions"],
            NUMBER_FIELDS["permissions_new"],
        )
        assert (overwrite["deny"], overwrite["deny_new"]) == (0, str(Permissions.BYPASS_SLOWMODE))
    else:
        assert (overwrite["allow"], overwrite.keys()) == (STRING_FIELDS["permissions"], {"id", "type", "allow", "deny"})
    ready_roles = session.guilds[str(guild.id)]["roles"]
    assert permission_fields(next(role for role in ready_roles if role["id"] == str(role_id))) == expected

    # Every version accepts a number in a request. Each session receives the form of its own version.
    created_response = await guild.owner.post(
        f"{base}/guilds/{guild.id}/roles", json={"name": "new", "permissions": int(WIDE_PERMISSIONS)}
    )
    assert permission_fields(created_response.ok()) == expected
    assert permission_fields((await session.next("GUILD_ROLE_CREATE"))["role"]) == expected
    assert permission_fields((await current_session.next("GUILD_ROLE_CREATE"))["role"]) == STRING_FIELDS


def test_free_form_fields_and_other_values_are_unchanged() -> None:
    body = b'{"metadata":{"allow":"1"},"permissions":[{"permission":true}],"deny":"x","options":[{"allow":"3"}]}'

    converted_body = convert_permissions(body)

    assert converted_body == (
        b'{"metadata":{"allow":"1"},"permissions":[{"permission":true}],"deny":"x",'
        b'"options":[{"allow":3,"allow_new":"3"}]}'
    )
