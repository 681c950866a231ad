"""`hubbub world`: world files from guild templates, and commands of other applications."""

import asyncio
import json
from pathlib import Path
from typing import Final

import pytest

from hubbub.protocol.permissions import Permissions
from hubbub.server import ready_document, worlds
from hubbub.server.cli import main
from tests.rehearsal import Rehearsal, start_rehearsal


async def run_world(*arguments: str) -> int:
    """Run `hubbub world` and return its exit code."""
    return await asyncio.to_thread(main, ["world", *arguments])


GUILD_SETTINGS: Final = {
    "verification_level": 3,
    "default_message_notifications": 1,
    "explicit_content_filter": 2,
    "preferred_locale": "de",
    "afk_timeout": 900,
    "system_channel_flags": 5,
}
"""Settings of the guild of `create_yard_template`, without its channels."""


async def create_yard_template(rehearsal: Rehearsal) -> str:
    """Create a template of a guild with roles, categories and overwrites; return its code."""
    alice = rehearsal.actor("alice")
    guild = (await alice.post("/guilds", json={"name": "My “Yard”"})).ok()
    guild_id = guild["id"]
    role = (
        await alice.post(
            f"/guilds/{guild_id}/roles",
            json={"name": "crew", "permissions": str(Permissions.MANAGE_MESSAGES), "color": 255, "hoist": True},
        )
    ).ok()
    category = (await alice.post(f"/guilds/{guild_id}/channels", json={"name": "Inside", "type": 4})).ok()
    overwrites = [
        {"id": guild_id, "type": 0, "allow": "0", "deny": str(Permissions.VIEW_CHANNEL)},
        {"id": role["id"], "type": 0, "allow": str(Permissions.VIEW_CHANNEL), "deny": "0"},
    ]
    body = {"name": "plans", "type": 0, "parent_id": category["id"], "topic": "A topic"}
    (await alice.post(f"/guilds/{guild_id}/channels", json={**body, "permission_overwrites": overwrites})).ok()
    forum = {
        "name": "ideas",
        "type": 15,
        "rate_limit_per_user": 30,
        "default_auto_archive_duration": 4320,
        "default_thread_rate_limit_per_user": 5,
        "default_reaction_emoji": {"emoji_name": "👍"},
        "default_sort_order": 1,
        "default_forum_layout": 2,
        "default_tag_setting": "match_all",
        "available_tags": [{"name": "new", "emoji_name": "✨"}, {"name": "done", "moderated": True}],
    }
    (await alice.post(f"/guilds/{guild_id}/channels", json=forum)).ok()
    afk_channel = (await alice.post(f"/guilds/{guild_id}/channels", json={"name": "Idle", "type": 2})).ok()
    settings = GUILD_SETTINGS | {"afk_channel_id": afk_channel["id"]}
    (await alice.patch(f"/guilds/{guild_id}", json=settings)).ok()
    code: str = (await alice.post(f"/guilds/{guild_id}/templates", json={"name": "Yard"})).ok()["code"]
    return code


async def test_a_world_file_has_the_roles_and_channels_of_a_template(rehearsal: Rehearsal, tmp_path: Path) -> None:
    code = await create_yard_template(rehearsal)
    output = tmp_path / "world.toml"

    assert await run_world("from-template", code, "--api", rehearsal.api, "--output", str(output)) == 0

    async with start_rehearsal(worlds.read_file(output)) as loaded_rehearsal:
        guild = loaded_rehearsal.control.built_world.guilds["My “Yard”"]
        assert {"Inside", "plans"} <= set(guild.channels)
        bob, bot = loaded_rehearsal.actor("bob"), loaded_rehearsal.actor("my-app")
        (await bob.get(f"/channels/{guild.channels['plans']}")).rejected(403, 50001)
        channel = (await bot.get(f"/channels/{guild.channels['plans']}")).ok()
        assert (channel["topic"], channel["parent_id"]) == ("A topic", str(int(guild.channels["Inside"])))
        roles = (await bot.get(f"/guilds/{guild.id}/roles")).ok()
        [crew] = [role for role in roles if role["name"] == "crew"]
        assert (int(crew["permissions"]), crew["color"], crew["hoist"]) == (Permissions.MANAGE_MESSAGES, 255, True)


async def test_a_world_file_has_the_settings_of_a_template(rehearsal: Rehearsal, tmp_path: Path) -> None:
    code = await create_yard_template(rehearsal)
    template = (await rehearsal.actor("bob").get(f"/guilds/templates/{code}")).ok()["serialized_source_guild"]
    output = tmp_path / "world.toml"
    assert await run_world("from-template", code, "--api", rehearsal.api, "--output", str(output)) == 0

    async with start_rehearsal(worlds.read_file(output)) as loaded_rehearsal:
        built_guild = loaded_rehearsal.control.built_world.guilds["My “Yard”"]
        alice = loaded_rehearsal.actor("alice")
        guild = (await alice.get(f"/guilds/{built_guild.id}")).ok()
        assert {name: guild[name] for name in GUILD_SETTINGS} == GUILD_SETTINGS
        assert guild["afk_channel_id"] == str(int(built_guild.channels["Idle"]))
        # Members have a verified address and joined long ago, so they meet the verification level.
        path = f"/channels/{built_guild.channels['general']}/messages"
        (await loaded_rehearsal.actor("bob").post(path, json={"content": "hi"})).ok()
        # A template of the new guild has the same content, because managed roles are not part of it.
        copy_code = (await alice.post(f"/guilds/{built_guild.id}/templates", json={"name": "Copy"})).ok()["code"]
        copy = (await alice.get(f"/guilds/templates/{copy_code}")).ok()["serialized_source_guild"]
        for channel in (*copy["channels"], *template["channels"]):
            del channel["position"]  # Positions may differ; the order of the list must not.
        assert copy == template


async def test_a_template_is_read_from_a_file(
    rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = await create_yard_template(rehearsal)
    template = (await rehearsal.actor("bob").get(f"/guilds/templates/{code}")).ok()
    file = tmp_path / "template.json"
    file.write_text(json.dumps(template))

    assert await run_world("from-template", str(file), "--application", "helper") == 0

    assert "[applications.helper]" in capsys.readouterr().out


async def test_problems_are_explained(rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.json"
    file.write_text("{}")
    assert await run_world("from-template", str(file)) == 1
    assert "not a guild template" in capsys.readouterr().err
    assert await run_world("from-template", "aBcDeF") == 1
    assert "--api URL" in capsys.readouterr().err
    assert await run_world("from-template", "aBcDeF", "--api", rehearsal.api) == 1
    assert "responded with 404" in capsys.readouterr().err


async def test_the_commands_of_another_application_are_registered(
    rehearsal: Rehearsal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot, game = rehearsal.actor("demo-bot"), rehearsal.actor("demo-game")
    applications = rehearsal.control.built_world.applications
    source_id, target_id = applications["demo-bot"].id, applications["demo-game"].id
    commands = [
        {"name": "roll", "description": "Roll dice", "options": [{"type": 4, "name": "sides", "description": "x"}]}
    ]
    (await bot.put(f"/applications/{source_id}/commands", json=commands)).ok()
    ready_file = tmp_path / "ready.json"
    ready_document.write(str(ready_file), await rehearsal.control.get_ready_document())
    options = ("--ready-file", str(ready_file), "--application", "demo-game")

    assert await run_world("copy-commands", str(int(source_id)), "--api", rehearsal.api, *options) == 1
    assert "BOT_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("BOT_TOKEN", bot.token)
    assert await run_world("copy-commands", str(int(source_id)), "--api", rehearsal.api, *options) == 0
    [copied_commands] = (await game.get(f"/applications/{target_id}/commands")).ok()
    assert (copied_commands["name"], copied_commands["options"][0]["name"]) == ("roll", "sides")

    file = tmp_path / "commands.json"
    file.write_text(json.dumps([{"name": "stop", "description": "Stop", "id": "1", "version": "2"}]))
    assert await run_world("copy-commands", str(file), *options) == 0
    assert [command["name"] for command in (await game.get(f"/applications/{target_id}/commands")).ok()] == ["stop"]
    assert await run_world("copy-commands", str(file), *options[:3], "nobot") == 1
    assert "it has: demo-bot" in capsys.readouterr().err


async def test_commands_of_a_guild_are_registered(
    rehearsal: Rehearsal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = rehearsal.actor("demo-bot")
    built_world = rehearsal.control.built_world
    application_id, guild_id = built_world.applications["demo-bot"].id, built_world.guilds["Town Square"].id
    ready_file, file = tmp_path / "ready.json", tmp_path / "commands.json"
    ready_document.write(str(ready_file), await rehearsal.control.get_ready_document())
    file.write_text(json.dumps([{"name": "stop", "description": "Stop"}]))
    options = ("--ready-file", str(ready_file), "--application", "demo-bot", "--guild")

    assert await run_world("copy-commands", str(file), *options, "Nowhere") == 1
    assert "it has: Town Square" in capsys.readouterr().err
    assert await run_world("copy-commands", str(file), *options, "Town Square") == 0
    guild_path = f"/applications/{application_id}/guilds/{guild_id}/commands"
    assert [command["name"] for command in (await bot.get(guild_path)).ok()] == ["stop"]
    assert (await bot.get(f"/applications/{application_id}/commands")).ok() == []

    monkeypatch.setenv("BOT_TOKEN", bot.token)
    world_file = tmp_path / "world.toml"
    world_file.write_text("[users.ann]\n\n[applications.app]  # mine\n")
    source = (str(int(application_id)), "--api", rehearsal.api, "--guild-id", str(int(guild_id)))
    assert await run_world("copy-commands", *source, "--world", str(world_file), "--application", "app") == 0
    assert "[applications.app]  # mine\n\n[[applications.app.commands]]" in world_file.read_text()
    [command] = worlds.read_file(world_file).applications["app"].commands
    assert command.name == "stop"


async def test_commands_are_added_to_a_world_file(
    rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world_file, file = tmp_path / "world.toml", tmp_path / "commands.json"
    code = await create_yard_template(rehearsal)
    assert await run_world("from-template", code, "--api", rehearsal.api, "--output", str(world_file)) == 0
    roll_options = [{"type": 4, "name": "sides", "description": "Sides", "choices": [{"name": "six", "value": 6}]}]
    file.write_text(json.dumps([{"name": "roll", "description": "Roll", "options": roll_options, "nsfw": False}]))
    options = ("--world", str(world_file), "--application", "my-app")

    assert await run_world("copy-commands", str(file), *options) == 0
    assert await run_world("copy-commands", str(file), *options, "--guild", "My “Yard”") == 0
    capsys.readouterr()
    assert await run_world("copy-commands", str(file), *options) == 1
    assert "applications.my-app.commands: already present" in capsys.readouterr().err
    assert await run_world("copy-commands", str(file), "--world", str(world_file), "--application", "other") == 1
    assert "applications.other: the file has no such application" in capsys.readouterr().err
    assert await run_world("copy-commands", str(file), *options, "--guild", "Nowhere") == 1
    assert "guilds.Nowhere: the file has no such guild" in capsys.readouterr().err

    async with start_rehearsal(worlds.read_file(world_file)) as loaded_rehearsal:
        bot, application_id = (
            loaded_rehearsal.actor("my-app"),
            loaded_rehearsal.control.built_world.applications["my-app"].id,
        )
        guild_id = loaded_rehearsal.control.built_world.guilds["My “Yard”"].id
        for path in (f"/applications/{application_id}", f"/applications/{application_id}/guilds/{guild_id}"):
            [command] = (await bot.get(f"{path}/commands")).ok()
            assert command["options"][0]["choices"] == [{"name": "six", "value": 6}]


async def test_a_table_in_one_line_cannot_be_extended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world_file, file = tmp_path / "world.toml", tmp_path / "commands.json"
    world_file.write_text("users = { ann = {} }\napplications = { app = {} }\n")
    file.write_text(json.dumps([{"name": "stop", "description": "Stop"}]))
    assert await run_world("copy-commands", str(file), "--world", str(world_file), "--application", "app") == 1
    assert "write this table with a header, [applications.app]" in capsys.readouterr().err
