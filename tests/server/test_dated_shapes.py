"""Both sides of dated changes that have no test beside their resource: what is shown, and what is taken."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.server.resources.messages import components
from tests.media import png, uri
from tests.world import Actor, World

ROW = {"type": 1, "components": [{"type": 2, "style": 6, "sku_id": "123"}]}


class Bearer(Actor):
    """An application acting for somebody."""

    @property
    def header(self) -> str:
        """The Authorization header."""
        return f"Bearer {self.token}"


async def bearer(world: World, person: Actor, *scopes: str) -> Bearer:
    """Somebody's token in the hands of an application."""
    bot = await world.bot()
    token = await world.access_token(person, bot.application_id, *scopes)
    return Bearer(world, person.id, token, person.name, application_id=bot.application_id)


@pytest.mark.dated(changes.EMBED_FIELDS_REFUSED)
async def test_too_many_fields_of_an_embed_were_cut_off_until_its_day(world: World) -> None:
    guild = await world.guild()
    fields = [{"name": str(number), "value": "x"} for number in range(26)]
    body = {"embeds": [{"fields": fields}]}
    path = f"/channels/{guild.general}/messages"

    world.clock.set(changes.EMBED_FIELDS_REFUSED.at_ms - 1)
    shown = (await guild.owner.post(path, json=body)).ok()
    world.clock.set(changes.EMBED_FIELDS_REFUSED.at_ms)
    refused = await guild.owner.post(path, json=body)

    assert [field["name"] for field in shown["embeds"][0]["fields"]] == [str(number) for number in range(25)]
    assert refused.errors("embeds.0.fields") == ["BASE_TYPE_BAD_LENGTH"]


@pytest.mark.dated(changes.MEMBER_FLAGS_PERMISSIONS)
async def test_who_edits_a_members_flags_changed_on_its_day(world: World) -> None:
    target = await world.user()
    guild = await world.guild(None, target)
    silencer = await world.bot(guild, permissions=Permissions.MODERATE_MEMBERS)
    manager = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    path = f"/guilds/{guild.id}/members/{target.id}"

    async def statuses() -> list[int]:
        return [(await bot.patch(path, json={"flags": 4})).status for bot in (silencer, manager)]

    world.clock.set(changes.MEMBER_FLAGS_PERMISSIONS.at_ms - 1)
    assert await statuses() == [200, 403]
    world.clock.set(changes.MEMBER_FLAGS_PERMISSIONS.at_ms)
    assert await statuses() == [403, 200]


@pytest.mark.dated(changes.MEMBER_BANNER)
async def test_members_have_banners_from_its_day(world: World) -> None:
    guild = await world.guild()
    banners = []
    for moment in (-1, 0):
        world.clock.set(changes.MEMBER_BANNER.at_ms + moment)
        body = {"banner": uri(png())}
        banners.append((await guild.owner.patch(f"/guilds/{guild.id}/members/@me", json=body)).ok()["banner"])

    assert banners[0] is None
    assert banners[1] is not None


@pytest.mark.dated(changes.PREMIUM_BUTTONS)
async def test_premium_buttons_have_their_day(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)

    async def send() -> Any:
        return await bot.post(f"/channels/{guild.general}/messages", json={"content": "x", "components": [ROW]})

    world.clock.set(changes.PREMIUM_BUTTONS.at_ms - 1)
    assert (await send()).errors("components.0.components.0.style") == ["BASE_TYPE_CHOICES"]
    world.clock.set(changes.PREMIUM_BUTTONS.at_ms)
    assert (await send()).errors("components.0.components.0.sku_id") == ["BUTTON_COMPONENT_INVALID_SKU"]


@pytest.mark.dated(changes.FLAGS_NEW)
async def test_applications_carry_all_their_flags_from_its_day(world: World) -> None:
    bot = await world.bot()
    await world.write(
        lambda call: call.tx.run("UPDATE applications SET flags = ? WHERE id = ?", 1 << 34, bot.application_id)
    )
    for moment in (-1, 0):
        world.clock.set(changes.FLAGS_NEW.at_ms + moment)
        expected = {} if moment else {"flags_new": str(1 << 34)}
        asked = (await bot.get("/applications/@me")).ok()
        ready = (await bot.connect(intents=0)).ready["application"]
        for shown in (asked, ready):
            assert shown["flags"] == 0
            assert {key: value for key, value in shown.items() if key == "flags_new"} == expected


@pytest.mark.dated(changes.PREMIUM_TYPE_SCOPE)
async def test_what_somebody_pays_for_is_told_with_its_own_scope_from_its_day(world: World) -> None:
    person = await world.user()
    await world.give_premium(person)
    world.clock.set(changes.PREMIUM_TYPE_SCOPE.at_ms - 1)
    plain = await bearer(world, person, "identify")
    partner = await bearer(world, person, "identify", "identify.premium")

    async def told() -> list[int]:
        return [(await each.get("/users/@me")).ok()["premium_type"] for each in (plain, partner)]

    assert await told() == [2, 2]
    world.clock.set(changes.PREMIUM_TYPE_SCOPE.at_ms)
    assert await told() == [0, 2]


@pytest.mark.dated(changes.CHANNEL_APPLICATION_ID_NULLABLE)
async def test_channels_made_from_its_day_carry_a_null_application(world: World) -> None:
    guild = await world.guild()
    change = changes.CHANNEL_APPLICATION_ID_NULLABLE
    world.clock.set(change.at_ms - 1)
    old = await guild.channel("old")
    world.clock.set(change.at_ms)
    new = await guild.channel("new")

    assert "application_id" not in (await guild.owner.get(f"/channels/{old}")).ok()
    assert (await guild.owner.get(f"/channels/{new}")).ok()["application_id"] is None
    assert Snowflake(old).created_ms < change.at_ms <= Snowflake(new).created_ms


@pytest.mark.dated(changes.CHANNEL_APPLICATION_ID_NULLABLE)
def test_files_are_asked_for_by_type_from_the_same_day() -> None:
    def kept(now: int) -> dict[str, Any]:
        upload = {"type": 19, "custom_id": "f", "file_types": [".png"]}
        modal = [{"type": 18, "label": "a file", "component": upload}]
        components.check_modal(modal, FormErrors(), now=now)
        return upload

    assert "file_types" not in kept(changes.CHANNEL_APPLICATION_ID_NULLABLE.at_ms - 1)
    assert kept(changes.CHANNEL_APPLICATION_ID_NULLABLE.at_ms)["file_types"] == [".png"]


@pytest.mark.dated(changes.VOICE_STATUS)
async def test_voice_channels_have_a_status_from_its_day(world: World) -> None:
    guild = await world.guild()
    voice = await guild.channel("voice", type=2)

    async def answer() -> int:
        return (await guild.owner.put(f"/channels/{voice}/voice-status", json={"status": "singing"})).status

    world.clock.set(changes.VOICE_STATUS.at_ms - 1)
    assert await answer() == 404
    world.clock.set(changes.VOICE_STATUS.at_ms)
    assert await answer() == 204


@pytest.mark.dated(changes.ACTIVITY_URLS)
async def test_activities_lead_somewhere_from_its_day(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    watcher = await (await world.bot(guild)).connect()
    activity = {
        "name": "chess",
        "type": 0,
        "details": "a game",
        "details_url": "https://example.com/game",
        "status_display_type": 2,
        "assets": {"large_image": "board", "large_url": "https://example.com/board"},
    }
    session = await alice.connect()
    for moment in (-1, 0):
        world.clock.set(changes.ACTIVITY_URLS.at_ms + moment)
        name = f"chess{moment}"
        sent = {"since": None, "status": "online", "afk": False, "activities": [{**activity, "name": name}]}
        await session.send(3, sent)

        told = await watcher.next(
            "PRESENCE_UPDATE", lambda data, name=name: [each["name"] for each in data["activities"]] == [name]
        )

        shown = told["activities"][0]
        assert ("details_url" in shown, "status_display_type" in shown, "large_url" in shown["assets"]) == (
            moment == 0,
        ) * 3
