"""The administration of applications in the API and with commands: search, disabling and deletion."""

from typing import Any

import pytest

from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.commands.admin_actions import AdminError
from tests.server.admin_commands import run_admin_command
from tests.server.identity.operators import create_operator
from tests.world import Actor, World


async def search_applications(operator: Actor, **query: Any) -> list[str]:
    """Return the names of the applications that a search finds."""
    found_applications = (await operator.get("/admin/applications", params=query)).ok()
    return [application["name"] for application in found_applications]


async def act_on_application(operator: Actor, bot: Actor, action: str, **body: Any) -> Any:
    """Perform an action on the application of a bot."""
    return (await operator.post(f"/admin/applications/{bot.application_id}/{action}", json=body)).ok()


async def test_applications_are_found_by_name_and_id(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    chess = await world.bot(name="Chess_Bot")
    await world.bot(name="Weather")

    assert await search_applications(ann) == ["Chess_Bot", "Weather"]
    for text in ("chess_", "BOT", str(chess.application_id)):
        assert await search_applications(ann, query=text) == ["Chess_Bot"], text
    assert await search_applications(ann, query="s%b") == []
    assert await search_applications(ann, after=str(chess.application_id)) == ["Weather"]
    assert await search_applications(ann, disabled="true") == []


async def test_an_application_is_shown_with_its_use(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    guild = await world.guild()
    bot = await world.bot(guild)
    command = {"name": "greet", "description": "Says hello"}
    (await bot.post(f"/applications/{bot.application_id}/commands", json=command)).ok()
    await world.bearer(await world.user(), bot.application_id, "identify")

    application_details = (await ann.get(f"/admin/applications/{bot.application_id}")).ok()

    assert (application_details["name"], application_details["bot_id"], application_details["disabled"]) == (
        bot.name,
        str(bot.id),
        None,
    )
    assert (
        application_details["guild_count"],
        application_details["command_count"],
        application_details["token_count"],
    ) == (1, 1, 2)
    (await ann.get("/admin/applications/1")).rejected(404, 10002)


async def test_the_tokens_of_a_disabled_application_are_refused(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    bot = await world.bot(guild)
    user = await world.user()
    game = await world.bearer(user, bot.application_id, "identify")
    session = await bot.connect()
    (await game.get("/users/@me")).ok()

    disabled_application = await act_on_application(ann, bot, "disable", reason="Spam")

    assert disabled_application["disabled"]["reason"] == "Spam"
    assert await session.wait_closed() == 4004
    assert (await bot.get("/users/@me")).status == 401
    assert (await game.get("/users/@me")).status == 401
    (await user.get("/users/@me")).ok()
    query = {"client_id": str(bot.application_id), "scope": "bot", "permissions": "0"}
    assert (await user.get("/oauth2/authorize", params=query)).status == 400
    assert await search_applications(ann, disabled="true") == [bot.name]

    assert (await act_on_application(ann, bot, "enable"))["disabled"] is None
    (await bot.get("/users/@me")).ok()
    (await game.get("/users/@me")).ok()
    await bot.connect()
    audit_entries = (await ann.get("/admin/audit-log", params={"target_id": str(bot.application_id)})).ok()
    assert [(audit_entry["action"], audit_entry["reason"]) for audit_entry in audit_entries] == [
        ("application.enable", None),
        ("application.disable", "Spam"),
    ]


async def test_a_disabled_application_receives_no_interactions(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    bot = await world.bot(guild)
    path = f"/applications/{bot.application_id}/guilds/{guild.id}/commands"
    command = (await bot.post(path, json={"name": "greet", "description": "Says hello"})).ok()
    index_path = f"/channels/{guild.general}/application-command-index"
    assert (await guild.owner.get(index_path)).ok()["application_commands"]
    await act_on_application(ann, bot, "disable", reason="Spam")

    interaction = {
        "type": 2,
        "application_id": str(bot.application_id),
        "channel_id": str(guild.general),
        "nonce": "n1",
        "data": {"id": command["id"], "name": "greet"},
    }
    response = await guild.owner.post("/interactions", json=interaction)

    assert response.status >= 400
    assert (await guild.owner.get(index_path)).ok()["application_commands"] == []


@pytest.mark.parametrize("deletes_messages", [False, True])
async def test_an_application_is_deleted_after_the_grace_period(world: World, deletes_messages: bool) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    guild = await world.guild()
    bot = await world.bot(guild)
    message = await guild.send_message(bot, "Buy now")
    question = await guild.send_message(guild.owner, "Why?")
    reaction_path = f"/channels/{guild.general}/messages/{question['id']}/reactions/👍/@me"
    (await bot.put(reaction_path)).ok()

    path = f"/admin/applications/{bot.application_id}"
    assert (await ann.post(f"{path}/delete", json={})).errors("reason")
    body = {"reason": "Spam", "grace_days": 7, "delete_messages": deletes_messages}
    assert (await ann.post(f"{path}/delete", json=body)).ok()["deletion"]["reason"] == "Spam"
    assert (await bot.get("/users/@me")).status == 401
    (await ann.post(f"{path}/enable")).rejected(403, 0)
    world.clock.advance(7 * 24 * 3_600_000)
    await world.run_due_jobs()

    (await ann.get(path)).rejected(404, 10002)
    response = await guild.owner.get(f"/channels/{guild.general}/messages/{message['id']}")
    assert response.status == (404 if deletes_messages else 200)
    remaining_question = (await guild.owner.get(f"/channels/{guild.general}/messages/{question['id']}")).ok()
    assert ("reactions" in remaining_question) is not deletes_messages


async def test_a_restored_application_is_enabled_unless_an_operator_disabled_it(world: World) -> None:
    ann = await create_operator(world, "ann", OperatorRole.MODERATOR)
    bot, disabled_bot = await world.bot(), await world.bot()
    await act_on_application(ann, disabled_bot, "disable", reason="Spam")
    (await ann.post(f"/admin/applications/{bot.application_id}/restore")).rejected(403, 0)

    for deleted_bot in (bot, disabled_bot):
        (await ann.post(f"/admin/applications/{deleted_bot.application_id}/delete", json={"reason": "Spam"})).ok()
        restored_application = (await ann.post(f"/admin/applications/{deleted_bot.application_id}/restore")).ok()
        assert restored_application["deletion"] is None

    assert (await bot.get("/users/@me")).status == 200
    assert (await disabled_bot.get("/users/@me")).status == 401


@pytest.mark.parametrize("action", ["disable", "enable", "delete", "restore"])
async def test_auditors_cannot_change_applications(world: World, action: str) -> None:
    ann = await create_operator(world, "ann", OperatorRole.AUDITOR)
    bot = await world.bot()

    path = f"/admin/applications/{bot.application_id}/{action}"
    (await ann.post(path, json={"reason": "x"})).rejected(403, 0)
    (await (await world.user()).post(path, json={"reason": "x"})).rejected(403, 0)


async def test_commands_manage_applications(world: World) -> None:
    bot = await world.bot(name="Weather")
    application_id = str(int(bot.application_id or 0))

    assert await run_admin_command(world, "list-applications", "weath") == f"{application_id} Weather"
    assert "tokens: 1" in await run_admin_command(world, "show-application", application_id)
    assert "Disabled Weather" in await run_admin_command(
        world, "disable-application", application_id, "--reason", "Spam"
    )
    assert (await bot.get("/users/@me")).status == 401
    assert await run_admin_command(world, "list-applications", "--disabled") == f"{application_id} Weather (disabled)"
    assert "Enabled Weather" in await run_admin_command(world, "enable-application", application_id)
    with pytest.raises(AdminError, match="is not disabled"):
        await run_admin_command(world, "enable-application", application_id)
    assert "restore-application" in await run_admin_command(
        world, "delete-application", application_id, "--reason", "Spam", "--delete-messages"
    )
    assert "deleted at: " in await run_admin_command(world, "show-application", application_id)
    assert await run_admin_command(world, "restore-application", application_id) == "Restored Weather."
    with pytest.raises(AdminError, match="is not being deleted"):
        await run_admin_command(world, "restore-application", application_id)
