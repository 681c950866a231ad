"""Application commands: storage, limits, validation, localization, and permissions."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import (
    AuditLogAction,
    CommandHandlerType,
    CommandOptionType,
    CommandPermissionType,
    CommandType,
)
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.commands import CommandPermission
from hubbub.server.core.config import Config
from hubbub.server.play import commands
from hubbub.server.play.commands import definitions
from tests.world import PRIVILEGED_INTENT_FLAGS, Actor, ApiResponse, Guild, World, small_config

USE_COMMANDS = Permissions.USE_APPLICATION_COMMANDS


def chat_command(name: str = "greet", **fields: Any) -> dict[str, Any]:
    """Return the body of a chat input command."""
    return {"name": name, "description": "says hello", **fields}


def option(option_type: int = CommandOptionType.STRING, name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"type": option_type, "name": name, "description": "x", **fields}


def global_path(bot: Actor) -> str:
    return f"/applications/{bot.application_id}/commands"


def guild_path(bot: Actor, guild: Guild) -> str:
    """Return the path of a guild's commands."""
    return f"/applications/{bot.application_id}/guilds/{guild.id}/commands"


# Storing


async def test_a_command_is_created_replaced_read_updated_and_deleted(world: World) -> None:
    bot = await world.bot()
    path = global_path(bot)

    response = await bot.post(
        path, json=chat_command(options=[option(required=True), option(CommandOptionType.INTEGER, "b", min_value=1)])
    )

    created_command = response.ok()
    assert response.status == 201
    assert created_command == {
        "id": created_command["id"],
        "application_id": str(bot.application_id),
        "version": created_command["version"],
        "default_member_permissions": None,
        "type": CommandType.CHAT_INPUT,
        "name": "greet",
        "name_localizations": None,
        "description": "says hello",
        "description_localizations": None,
        "dm_permission": True,
        "contexts": None,
        "integration_types": [0, 1],
        "options": [
            {"type": CommandOptionType.STRING, "name": "a", "description": "x", "required": True},
            {"type": CommandOptionType.INTEGER, "name": "b", "description": "x", "min_value": 1},
        ],
        "nsfw": False,
    }
    assert (await bot.get(f"{path}/{created_command['id']}")).ok() == created_command
    replaced_response = await bot.post(path, json=chat_command(description="new"))
    assert replaced_response.status == 200
    assert replaced_response.json["id"] == created_command["id"]
    assert int(replaced_response.json["version"]) > int(created_command["version"])
    assert "options" not in replaced_response.json
    unchanged_command = (await bot.post(path, json=chat_command(description="new"))).ok()
    assert unchanged_command["version"] == replaced_response.json["version"]
    updated_command = (await bot.patch(f"{path}/{created_command['id']}", json={"nsfw": True, "name": "hello"})).ok()
    assert (updated_command["name"], updated_command["nsfw"], updated_command["description"]) == ("hello", True, "new")
    (await bot.post(path, json=chat_command("taken"))).ok()
    (await bot.patch(f"{path}/{created_command['id']}", json={"name": "taken"})).rejected(400, 40041)
    assert (await bot.delete(f"{path}/{created_command['id']}")).status == 204
    (await bot.get(f"{path}/{created_command['id']}")).rejected(404, 10063)
    (await bot.patch(f"{path}/{created_command['id']}", json={})).rejected(404, 10063)
    (await bot.delete(f"{path}/{created_command['id']}")).rejected(404, 10063)


async def test_a_guild_has_its_own_commands(world: World) -> None:
    guild, other_guild = await world.guild(), await world.guild()
    bot = await world.bot(guild)
    path = guild_path(bot, guild)

    created_command = (await bot.post(path, json=chat_command(contexts=[1], integration_types=[1]))).ok()

    assert created_command["guild_id"] == str(guild.id)
    assert (created_command["contexts"], created_command["integration_types"]) == (None, [0])
    assert "dm_permission" not in created_command
    assert [command["id"] for command in (await bot.get(path)).ok()] == [created_command["id"]]
    assert (await bot.get(global_path(bot))).ok() == []
    assert (await bot.get(f"{path}/{created_command['id']}")).ok() == created_command
    assert (await bot.patch(f"{path}/{created_command['id']}", json={"description": "y"})).ok()["description"] == "y"
    (await bot.get(f"{global_path(bot)}/{created_command['id']}")).rejected(404, 10063)
    (await bot.get(guild_path(bot, other_guild))).rejected(403, 50001)
    (await bot.post(f"/applications/{bot.application_id}/guilds/1/commands", json=chat_command())).rejected(404, 10004)
    assert (await bot.delete(f"{path}/{created_command['id']}")).status == 204
    (await bot.post(path, json=chat_command())).ok()
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    command_count = await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM commands"))
    assert command_count == 0


async def test_commands_belong_to_their_application(world: World) -> None:
    guild = await world.guild()
    bot, other_bot = await world.bot(guild), await world.bot(guild)

    (await other_bot.get(global_path(bot))).rejected(403, 20012)
    (await other_bot.post(guild_path(bot, guild), json=chat_command())).rejected(403, 20012)
    (await other_bot.get("/applications/1/commands")).rejected(404, 10002)
    (await guild.owner.get(global_path(bot))).rejected(403, 20002)
    scoped_bearer = await world.bearer(guild.owner, bot.application_id, "applications.commands.update")
    assert (await scoped_bearer.post(global_path(bot), json=chat_command())).status == 201
    unscoped_bearer = await world.bearer(guild.owner, bot.application_id, "identify")
    (await unscoped_bearer.get(global_path(bot))).rejected(403, 50026)


async def test_bulk_overwrite_replaces_all_global_commands(world: World) -> None:
    bot = await world.bot()
    path = global_path(bot)
    unchanged_command = (await bot.post(path, json=chat_command("kept"))).ok()
    renamed_command = (await bot.post(path, json=chat_command("before"))).ok()
    (await bot.post(path, json=chat_command("gone"))).ok()

    response = await bot.put(
        path,
        json=[
            {"name": "Menu", "type": CommandType.USER},
            {**chat_command("after"), "id": renamed_command["id"]},
            chat_command("kept", description="says hello"),
            chat_command("menu"),
        ],
    )

    commands = response.ok()
    assert response.status == 200
    assert [command["name"] for command in commands] == ["Menu", "after", "kept", "menu"]
    assert (commands[1]["id"], commands[2]["id"]) == (renamed_command["id"], unchanged_command["id"])
    assert commands[2]["version"] == unchanged_command["version"]
    assert commands[1]["version"] != renamed_command["version"]
    stored_commands = (await bot.get(f"{path}?with_localizations=true")).ok()
    assert stored_commands == commands
    duplicate = await bot.put(path, json=[chat_command("a"), chat_command("b"), chat_command("a")])
    assert duplicate.errors("2") == ["APPLICATION_COMMANDS_DUPLICATE_NAME"]
    invalid_response = await bot.put(path, json=[chat_command("a"), chat_command("B")])
    assert invalid_response.errors("1.name") == ["APPLICATION_COMMAND_INVALID_NAME"]
    assert len((await bot.get(path)).ok()) == 4
    assert (await bot.put(path, json=[])).ok() == []
    assert (await bot.get(path)).ok() == []


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        ([(1, "c"), (2, "a")], [1, 2]),
        ([(2, "a"), (1, "c")], [2, 1]),
        ([(1, "b"), (2, "a")], [1, 2]),
        ([(1, "c"), (None, "a")], [1, None]),
        ([(None, "a"), (1, "c")], [None, 1]),
        ([(1, "b")], [2]),
        ([(1, "b"), (None, "a")], [2, 1]),
        ([(1, "b"), (2, "c")], [1, 2]),
        ([(1, "a"), (1, "c")], [1, None]),
        ([(1, "c"), (1, "d"), (2, "b")], [1, None, 2]),
        ([(99, "a"), (99, "b")], [1, 2]),
    ],
    ids=str,
)
async def test_ids_in_a_bulk_overwrite_rename_commands(
    world: World, requested: list[tuple[int | None, str]], expected: list[int | None]
) -> None:
    bot = await world.bot()
    existing = (await bot.put(global_path(bot), json=[chat_command("a"), chat_command("b")])).ok()
    ids_by_number: dict[int | None, str] = {1: existing[0]["id"], 2: existing[1]["id"], 99: "99"}

    bodies = [
        chat_command(name) if number is None else {**chat_command(name), "id": ids_by_number[number]}
        for number, name in requested
    ]
    commands = (await bot.put(global_path(bot), json=bodies)).ok()

    assert [command["name"] for command in commands] == [name for _, name in requested]
    numbers_by_id: dict[str, int | None] = {command_id: number for number, command_id in ids_by_number.items()}
    assert [numbers_by_id.get(command["id"]) for command in commands] == expected
    assert (await bot.get(f"{global_path(bot)}?with_localizations=true")).ok() == commands


async def test_an_id_of_a_command_of_another_type_is_ignored(world: World) -> None:
    bot = await world.bot()
    [created_command] = (await bot.put(global_path(bot), json=[chat_command("a")])).ok()

    [menu] = (
        await bot.put(global_path(bot), json=[{"name": "a", "type": CommandType.USER, "id": created_command["id"]}])
    ).ok()

    assert menu["id"] != created_command["id"]


async def test_bulk_overwrite_replaces_all_guild_commands(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)

    commands = (await bot.put(guild_path(bot, guild), json=[chat_command("a"), chat_command("b")])).ok()

    assert {command["guild_id"] for command in commands} == {str(guild.id)}
    rejected_response = await bot.put(
        guild_path(bot, guild), json=[{"name": "x", "type": CommandType.PRIMARY_ENTRY_POINT}]
    )
    assert rejected_response.errors("0.type") == ["BASE_TYPE_CHOICES"]


async def test_the_number_of_commands_per_type_is_limited(world: World) -> None:
    bot = await world.bot()
    path = global_path(bot)

    (await bot.put(path, json=[chat_command(f"c{number}") for number in range(100)])).ok()
    (await bot.post(path, json=chat_command("more"))).rejected(400, 30032)
    (await bot.post(path, json=chat_command("c5", description="replaced"))).ok()
    (await bot.put(path, json=[{"name": f"M{number}", "type": CommandType.MESSAGE} for number in range(15)])).ok()
    (await bot.post(path, json={"name": "more", "type": CommandType.MESSAGE})).rejected(400, 30032)
    (await bot.post(path, json={"name": "more", "type": CommandType.USER})).ok()
    (await bot.put(path, json=[{"name": f"M{number}", "type": CommandType.USER} for number in range(16)])).rejected(
        400, 30032
    )


@pytest.mark.dated(changes.CONTEXT_MENU_LIMIT_15)
async def test_before_march_2026_five_context_menu_commands_are_allowed(world: World) -> None:
    bot = await world.bot()
    world.clock.set(changes.CONTEXT_MENU_LIMIT_15.at_ms - 1)

    (
        await bot.put(global_path(bot), json=[{"name": f"M{number}", "type": CommandType.USER} for number in range(5)])
    ).ok()
    (await bot.post(global_path(bot), json={"name": "sixth", "type": CommandType.USER})).rejected(400, 30032)
    world.clock.set(changes.CONTEXT_MENU_LIMIT_15.at_ms)
    (await bot.post(global_path(bot), json={"name": "sixth", "type": CommandType.USER})).ok()


class TestLimits:
    @pytest.fixture
    def store_config(self) -> Config:
        """A configuration with real rate limits."""
        return small_config(rate_limits="real")

    async def test_at_most_200_commands_are_created_in_a_day(self, world: World) -> None:
        bot = await world.bot()

        async def replace_commands(numbers: range) -> ApiResponse:
            world.clock.advance(20_000)
            return await bot.put(global_path(bot), json=[chat_command(f"c{number}") for number in numbers])

        (await replace_commands(range(100))).ok()
        (await replace_commands(range(100, 200))).ok()
        (await replace_commands(range(200, 201))).rejected(429, 30034)
        (await replace_commands(range(100, 150))).ok()
        world.clock.advance(86_400_000)
        (await replace_commands(range(200, 201))).ok()


# Validation


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"name": "Big"}, "name", "APPLICATION_COMMAND_INVALID_NAME"),
        ({"name": "two words"}, "name", "APPLICATION_COMMAND_INVALID_NAME"),
        ({"name": "x" * 33}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"name": ""}, "name", "BASE_TYPE_BAD_LENGTH"),
        ({"description": ""}, "description", "BASE_TYPE_REQUIRED"),
        ({"description": "x" * 101}, "description", "BASE_TYPE_MAX_LENGTH"),
        ({"type": 9}, "type", "BASE_TYPE_CHOICES"),
        ({"type": CommandType.USER}, "description", "CONTEXT_MENU_COMMAND_DESCRIPTION_NOT_ALLOWED"),
        (
            {"type": CommandType.MESSAGE, "description": "", "options": [option()]},
            "options",
            "CONTEXT_MENU_COMMAND_OPTIONS_NOT_ALLOWED",
        ),
        ({"type": CommandType.PRIMARY_ENTRY_POINT}, "type", "BASE_TYPE_CHOICES"),
        ({"handler": 1}, "handler", "APPLICATION_COMMAND_HANDLER_NOT_ALLOWED"),
        ({"contexts": [0, 0]}, "contexts.1", "SET_TYPE_ALREADY_CONTAINS_VALUE"),
        ({"contexts": []}, "contexts", "BASE_TYPE_MIN_LENGTH"),
        ({"contexts": [7]}, "contexts.0", "BASE_TYPE_CHOICES"),
        ({"integration_types": [5]}, "integration_types.0", "BASE_TYPE_CHOICES"),
        ({"name_localizations": {"xx": "a"}}, "name_localizations.xx", "BASE_TYPE_CHOICES"),
        ({"name_localizations": {"de": "Groß"}}, "name_localizations.de", "APPLICATION_COMMAND_INVALID_NAME"),
        ({"description_localizations": {"de": ""}}, "description_localizations.de", "BASE_TYPE_BAD_LENGTH"),
        ({"options": [option()] * 26}, "options", "BASE_TYPE_BAD_LENGTH"),
        ({"options": [option(name="Big")]}, "options.0.name", "APPLICATION_COMMAND_INVALID_NAME"),
        ({"options": [option(description="")]}, "options.0.description", "BASE_TYPE_BAD_LENGTH"),
        ({"options": [option(99)]}, "options.0.type", "BASE_TYPE_CHOICES"),
        (
            {"options": [option(), option(name="b", required=True)]},
            "options.1.required",
            "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        ),
        ({"options": [option(), option()]}, "options.1.name", "APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATE"),
        ({"options": [option(CommandOptionType.SUB_COMMAND, "s"), option()]}, "options.1.type", "UNION_TYPE_CHOICES"),
        ({"options": [option(), option(CommandOptionType.SUB_COMMAND, "s")]}, "options.1.type", "UNION_TYPE_CHOICES"),
        (
            {
                "options": [
                    option(CommandOptionType.SUB_COMMAND, "s", options=[option(CommandOptionType.SUB_COMMAND, "t")])
                ]
            },
            "options.0.options.0.type",
            "UNION_TYPE_CHOICES",
        ),
        (
            {"options": [option(CommandOptionType.SUB_COMMAND_GROUP, "g", options=[option()])]},
            "options.0.options.0.type",
            "UNION_TYPE_CHOICES",
        ),
        (
            {
                "options": [
                    option(
                        CommandOptionType.SUB_COMMAND_GROUP,
                        "g",
                        options=[option(CommandOptionType.SUB_COMMAND_GROUP, "h")],
                    )
                ]
            },
            "options.0.options.0.type",
            "UNION_TYPE_CHOICES",
        ),
        (
            {"options": [option(choices=[{"name": "x", "value": 1}])]},
            "options.0.choices.0.value",
            "STRING_TYPE_CONVERT",
        ),
        (
            {"options": [option(choices=[{"name": "x", "value": "x" * 101}])]},
            "options.0.choices.0.value",
            "BASE_TYPE_MAX_LENGTH",
        ),
        (
            {"options": [option(choices=[{"name": "", "value": "x"}])]},
            "options.0.choices.0.name",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"options": [option(choices=[{"name": "x", "value": "x"}, {"name": "x", "value": "y"}])]},
            "options.0.choices.1.name",
            "SET_TYPE_ALREADY_CONTAINS_VALUE",
        ),
        (
            {"options": [option(type=CommandOptionType.INTEGER, min_value=1, choices=[{"name": "x", "value": 0}])]},
            "options.0.choices.0.value",
            "NUMBER_TYPE_MIN",
        ),
        (
            {"options": [option(type=CommandOptionType.NUMBER, max_value=1, choices=[{"name": "x", "value": 1.5}])]},
            "options.0.choices.0.value",
            "NUMBER_TYPE_MAX",
        ),
        (
            {"options": [option(choices=[{"name": "x", "value": "x"}] * 26)]},
            "options.0.choices",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"options": [option(choices=[{"name": "x", "value": "x"}], autocomplete=True)]},
            "options.0.choices",
            "APPLICATION_COMMAND_OPTIONS_CHOICES_AUTOCOMPLETE",
        ),
        (
            {"options": [option(CommandOptionType.INTEGER, choices=[{"name": "x", "value": "1"}])]},
            "options.0.choices.0.value",
            "NUMBER_TYPE_COERCE",
        ),
        (
            {"options": [option(CommandOptionType.INTEGER, choices=[{"name": "x", "value": 1 << 53}])]},
            "options.0.choices.0.value",
            "NUMBER_TYPE_MAX",
        ),
        (
            {"options": [option(CommandOptionType.INTEGER, min_value=-(1 << 53))]},
            "options.0.min_value",
            "NUMBER_TYPE_MIN",
        ),
        ({"options": [option(CommandOptionType.INTEGER, min_value=1.5)]}, "options.0.min_value", "NUMBER_TYPE_COERCE"),
        (
            {"options": [option(CommandOptionType.NUMBER, min_value=5, max_value=4.5)]},
            "options.0.max_value",
            "NUMBER_TYPE_MIN",
        ),
        ({"options": [option(min_length=6001)]}, "options.0.min_length", "NUMBER_TYPE_MAX"),
        ({"options": [option(max_length=0)]}, "options.0.max_length", "NUMBER_TYPE_MIN"),
        ({"options": [option(min_length=5, max_length=4)]}, "options.0.max_length", "NUMBER_TYPE_MIN"),
        (
            {"options": [option(CommandOptionType.CHANNEL, channel_types=[99])]},
            "options.0.channel_types.0",
            "BASE_TYPE_CHOICES",
        ),
        ({"options": [option(CommandOptionType.SUB_COMMAND_GROUP)]}, "options.0.options", "BASE_TYPE_BAD_LENGTH"),
        (
            {"options": [option(CommandOptionType.SUB_COMMAND_GROUP, options=[])]},
            "options.0.options",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"options": [option(CommandOptionType.ATTACHMENT, file_types=["x"] * 11)]},
            "options.0.file_types",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"options": [option(CommandOptionType.ATTACHMENT, file_types=["video", "png"])]},
            "options.0.file_types.1",
            "STRING_TYPE_REGEX",
        ),
        (
            {"options": [option(CommandOptionType.ATTACHMENT, file_types=[""])]},
            "options.0.file_types.0",
            "STRING_TYPE_REGEX",
        ),
        (
            {"options": [option(), option(name="b", name_localizations={"de": "a"})]},
            "options.1.name_localizations.de",
            "APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATE",
        ),
        (
            {
                "options": [
                    option(name_localizations={"de": "c"}),
                    option(name="b", name_localizations={"de": "c"}),
                ]
            },
            "options.1.name_localizations.de",
            "APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATE",
        ),
    ],
)
async def test_an_invalid_command_names_the_invalid_field(
    world: World, body: dict[str, Any], path: str, code: str
) -> None:
    bot = await world.bot()

    assert (await bot.post(global_path(bot), json=chat_command() | body)).errors(path) == [code]


async def test_the_total_text_of_a_command_is_limited(world: World) -> None:
    bot = await world.bot()
    choices = [{"name": f"{number}" * 10, "value": "x" * 90} for number in range(25)]
    large_command = chat_command(options=[option(name=f"o{number}", choices=choices) for number in range(4)])

    rejected_response = await bot.post(global_path(bot), json=large_command)

    assert rejected_response.errors("") == ["APPLICATION_COMMAND_TOO_LARGE"]
    assert (await bot.put(global_path(bot), json=[large_command])).errors("0") == ["APPLICATION_COMMAND_TOO_LARGE"]
    large_command["options"] = large_command["options"][:2]
    (await bot.post(global_path(bot), json=large_command)).ok()


def test_the_longest_localization_counts_toward_the_size() -> None:
    definition = commands.Definition(description="ab", description_localizations={"de": "abcdef", "fr": "a"})

    assert definitions.command_size("xyz", definition) == 3 + 6


@pytest.mark.parametrize(
    "name", ["ping", "d'accord", "snake_case", "kebab-case", "日本語", "नमस्ते", "สวัสดี", "größe", "٤"]
)
def test_names_in_many_scripts_are_valid(name: str) -> None:
    assert definitions.is_typed_name(name)


@pytest.mark.parametrize("name", ["Ping", "GRÖSSE", "a b", "a.b", "", "x" * 33, "👍", "a/b"])
def test_invalid_names_are_rejected(name: str) -> None:
    assert not definitions.is_typed_name(name)


async def test_options_of_every_type_are_stored(world: World) -> None:
    bot = await world.bot()
    options = [
        option(CommandOptionType.STRING, "a", required=True, min_length=0, max_length=6000),
        option(CommandOptionType.STRING, "b", autocomplete=True),
        option(CommandOptionType.INTEGER, "c", choices=[{"name": "one", "value": 1}]),
        option(CommandOptionType.BOOLEAN, "d", min_value=5),
        option(CommandOptionType.USER, "e"),
        option(CommandOptionType.CHANNEL, "f", channel_types=[0, 5]),
        option(CommandOptionType.ROLE, "g"),
        option(CommandOptionType.MENTIONABLE, "h"),
        option(CommandOptionType.NUMBER, "i", min_value=0.5, max_value=9),
        option(CommandOptionType.ATTACHMENT, "j", file_types=[".png", "Audio"]),
    ]

    created_command = (await bot.post(global_path(bot), json=chat_command(options=options))).ok()

    del options[3]["min_value"]
    assert created_command["options"] == options
    nested_options = [
        option(
            CommandOptionType.SUB_COMMAND_GROUP,
            "g",
            options=[option(CommandOptionType.SUB_COMMAND, "s", options=[option()])],
        ),
        option(CommandOptionType.SUB_COMMAND, "t"),
    ]
    created_command = (await bot.post(global_path(bot), json=chat_command("n", options=nested_options))).ok()
    assert created_command["options"][0]["options"][0]["options"][0]["name"] == "a"
    assert created_command["options"][1]["options"] == []


async def test_integers_are_stored_as_integers(world: World) -> None:
    bot = await world.bot()
    integer_option = option(
        CommandOptionType.INTEGER, "a", min_value=1.0, max_value=9.0, choices=[{"name": "two", "value": 2.0}]
    )
    number_option = option(CommandOptionType.NUMBER, "b", min_value=0.5, choices=[{"name": "two", "value": 2.0}])

    response_body = (await bot.post(global_path(bot), json=chat_command(options=[integer_option, number_option]))).body

    # Python treats 1.0 and 1 as equal, so the encoded JSON is compared.
    assert b'"value":2}' in response_body
    assert b'"min_value":1,"max_value":9' in response_body
    assert b'"value":2.0}' in response_body
    rejected_response = await bot.post(
        global_path(bot), json=chat_command("n", options=[option(CommandOptionType.INTEGER, max_value=1e300)])
    )
    assert rejected_response.errors("options.0.max_value") == ["NUMBER_TYPE_MAX"]


async def test_contexts_and_dm_permission_determine_each_other(world: World) -> None:
    bot = await world.bot()
    path = global_path(bot)

    command_without_contexts = (
        await bot.post(path, json=chat_command("a", dm_permission=False, default_permission=False))
    ).ok()
    command_with_contexts = (
        await bot.post(path, json=chat_command("b", contexts=[1, 2], default_member_permissions="8"))
    ).ok()

    assert (
        command_without_contexts["contexts"],
        command_without_contexts["dm_permission"],
        command_without_contexts["default_member_permissions"],
    ) == ([0, 2], False, "0")
    assert (
        command_with_contexts["contexts"],
        command_with_contexts["dm_permission"],
        command_with_contexts["default_member_permissions"],
    ) == (
        [1, 2],
        True,
        "8",
    )
    reset_command = (
        await bot.patch(
            f"{path}/{command_without_contexts['id']}", json={"dm_permission": True, "default_member_permissions": None}
        )
    ).ok()
    assert (reset_command["contexts"], reset_command["dm_permission"], reset_command["default_member_permissions"]) == (
        None,
        True,
        None,
    )
    command_without_dm = (await bot.patch(f"{path}/{command_with_contexts['id']}", json={"dm_permission": False})).ok()
    assert (command_without_dm["contexts"], command_without_dm["dm_permission"]) == ([2], False)
    command_with_dm = (await bot.patch(f"{path}/{command_with_contexts['id']}", json={"dm_permission": True})).ok()
    assert (command_with_dm["contexts"], command_with_dm["dm_permission"]) == ([1, 2], True)
    command_with_explicit_contexts = (
        await bot.patch(f"{path}/{command_with_contexts['id']}", json={"dm_permission": False, "contexts": [0, 1]})
    ).ok()
    assert (command_with_explicit_contexts["contexts"], command_with_explicit_contexts["dm_permission"]) == (
        [0, 1],
        True,
    )
    command_with_null_contexts = (
        await bot.patch(f"{path}/{command_with_contexts['id']}", json={"dm_permission": False, "contexts": None})
    ).ok()
    assert (command_with_null_contexts["contexts"], command_with_null_contexts["dm_permission"]) == ([0, 2], False)
    guild_only = (await bot.post(path, json=chat_command("d", dm_permission=False, integration_types=[0]))).ok()
    assert (guild_only["contexts"], guild_only["dm_permission"]) == ([0], False)
    (await bot.patch("/applications/@me", json={"integration_types_config": {"0": {}}})).ok()
    rejected_response = await bot.post(path, json=chat_command("c", integration_types=[1]))
    assert rejected_response.errors("integration_types.0") == ["BASE_TYPE_CHOICES"]
    assert (await bot.post(path, json=chat_command("c"))).ok()["integration_types"] == [0]


@pytest.mark.dated(changes.ENTRY_POINT_COMMANDS)
async def test_an_app_with_activities_has_one_entry_point(world: World) -> None:
    bot = await world.bot(flags=PRIVILEGED_INTENT_FLAGS | ApplicationFlags.EMBEDDED)
    path = global_path(bot)

    created_command = (await bot.post(path, json={"name": "launch", "type": CommandType.PRIMARY_ENTRY_POINT})).ok()

    assert created_command["handler"] == CommandHandlerType.APP_HANDLER
    assert (
        await bot.patch(
            f"{path}/{created_command['id']}", json={"handler": CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY}
        )
    ).ok()["handler"] == CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY
    (await bot.post(path, json={"name": "second", "type": CommandType.PRIMARY_ENTRY_POINT})).rejected(400, 30032)
    (await bot.put(path, json=[chat_command()])).ok()
    assert [command["type"] for command in (await bot.get(path)).ok()] == [CommandType.CHAT_INPUT]
    world.clock.set(changes.ENTRY_POINT_COMMANDS.at_ms - 1)
    assert (await bot.post(path, json={"name": "launch", "type": CommandType.PRIMARY_ENTRY_POINT})).errors("type") == [
        "BASE_TYPE_CHOICES"
    ]


# Localization


async def test_a_list_is_localized_for_the_caller(world: World) -> None:
    bot = await world.bot()
    path = global_path(bot)
    names = {"de": "grüße", "en-GB": "greet"}
    choice = {"name": "one", "value": "1", "name_localizations": {"de": "eins", "fr": "un"}}
    body = chat_command(
        name_localizations=names,
        description_localizations={"de": "sagt hallo"},
        options=[option(name_localizations={"de": "b"}, choices=[choice])],
    )
    created_command = (await bot.post(path, json=body)).ok()
    # A localization equal to the default text is not stored.
    assert created_command["name_localizations"] == {"de": "grüße"}

    (command_with_localizations,) = (await bot.get(f"{path}?with_localizations=true")).ok()
    (default_command,) = (await bot.get(path)).ok()
    (german_command,) = (await bot.get(path, headers={"X-Discord-Locale": "de"})).ok()
    (french_command,) = (await bot.get(path, headers={"Accept-Language": "xx, fr;q=0.9"})).ok()
    (austrian_german_command,) = (await bot.get(path, headers={"Accept-Language": "de-AT, en-US;q=0.9"})).ok()

    assert command_with_localizations == created_command
    assert not {"name_localizations", "name_localized"} & set(default_command)
    assert (german_command["name_localized"], german_command["description_localized"]) == ("grüße", "sagt hallo")
    german_option = german_command["options"][0]
    assert (german_option["name_localized"], german_option["choices"][0]["name_localized"]) == ("b", "eins")
    assert not {"name_localizations", "description_localizations"} & set(german_command)
    assert french_command["options"][0]["choices"][0]["name_localized"] == "un"
    assert austrian_german_command["name_localized"] == "grüße"
    cleared_command = (await bot.patch(f"{path}/{created_command['id']}", json={"name_localizations": None})).ok()
    assert cleared_command["name_localizations"] is None


@pytest.mark.parametrize(
    ("localizations", "locale", "expected"),
    [
        ({"en-US": "hi"}, "en-GB", "hi"),
        ({"en-GB": "oi"}, "en-US", "oi"),
        ({"en-GB": "oi", "en-US": "hi"}, "en-GB", "oi"),
        ({"es-ES": "hola"}, "es-419", "hola"),
        ({"es-419": "buenas"}, "es-ES", None),
        ({"es-ES": "hola", "es-419": "buenas"}, "es-419", "buenas"),
        ({"de": "hallo"}, "fr", None),
        ({"pt-BR": "oi"}, "es-ES", None),
    ],
)
async def test_missing_localizations_fall_back_to_related_locales(
    world: World, localizations: dict[str, str], locale: str, expected: str | None
) -> None:
    bot = await world.bot()
    choice = {"name": "one", "value": "1", "name_localizations": localizations}
    body = chat_command(
        name_localizations=localizations, options=[option(name_localizations=localizations, choices=[choice])]
    )
    (await bot.post(global_path(bot), json=body)).ok()

    (command,) = (await bot.get(global_path(bot), headers={"X-Discord-Locale": locale})).ok()

    command_option = command["options"][0]
    assert [item.get("name_localized") for item in (command, command_option, command_option["choices"][0])] == [
        expected
    ] * 3


# Permissions


async def test_permissions_are_written_read_and_published(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()
    created_command = (await bot.post(guild_path(bot, guild), json=chat_command())).ok()
    path = f"{guild_path(bot, guild)}/{created_command['id']}/permissions"
    (await bot.get(path)).rejected(404, 10066)
    role_id = await guild.role("mods")
    entries = [
        {"id": str(role_id), "type": CommandPermissionType.ROLE, "permission": True},
        {"id": str(guild.id), "type": CommandPermissionType.ROLE, "permission": False},
        {"id": str(guild.owner.id), "type": CommandPermissionType.USER, "permission": True},
        {"id": str(guild.general), "type": CommandPermissionType.CHANNEL, "permission": False},
        {"id": str(guild.id - 1), "type": CommandPermissionType.CHANNEL, "permission": True},
    ]
    bearer = await world.bearer(guild.owner, bot.application_id, "applications.commands.permissions.update")

    response = await bearer.put(path, json={"permissions": entries})

    expected = {
        "id": created_command["id"],
        "application_id": str(bot.application_id),
        "guild_id": str(guild.id),
        "permissions": entries,
    }
    assert response.ok() == expected
    assert (await session.next("APPLICATION_COMMAND_PERMISSIONS_UPDATE")) == expected
    assert (await bot.get(path)).ok() == expected
    assert (await bearer.get(path)).ok() == expected
    application_path = f"{guild_path(bot, guild)}/{bot.application_id}/permissions"
    (await guild.owner.put(application_path, json={"permissions": entries[:1]})).ok()
    all_permissions = (await bot.get(f"{guild_path(bot, guild)}/permissions")).ok()
    assert {command["id"] for command in all_permissions} == {created_command["id"], str(bot.application_id)}
    log = (
        await guild.owner.get(
            f"/guilds/{guild.id}/audit-logs?action_type={AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE:d}"
        )
    ).ok()
    audit_entry = log["audit_log_entries"][-1]
    assert (audit_entry["target_id"], audit_entry["options"]) == (
        created_command["id"],
        {"application_id": str(bot.application_id)},
    )
    assert {change["key"] for change in audit_entry["changes"]} == {permission["id"] for permission in entries}
    assert audit_entry["changes"][0]["new_value"] == entries[0]
    assert [application_command["id"] for application_command in log["application_commands"]] == [created_command["id"]]
    (await guild.owner.put(path, json={"permissions": []})).ok()
    (await bot.get(path)).rejected(404, 10066)


async def test_members_who_manage_a_guild_list_the_commands_and_permissions_of_an_integration(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    global_command = (await bot.post(global_path(bot), json=chat_command("everywhere"))).ok()
    # A command for direct messages only is not a command of the guild.
    (await bot.post(global_path(bot), json=chat_command("private", contexts=[1, 2]))).ok()
    guild_command = (await bot.post(guild_path(bot, guild), json=chat_command("here"))).ok()
    other_guild = await world.guild(guild.owner)
    entries = [{"id": str(guild.id), "type": CommandPermissionType.ROLE, "permission": False}]
    (
        await guild.owner.put(
            f"{guild_path(bot, guild)}/{guild_command['id']}/permissions", json={"permissions": entries}
        )
    ).ok()
    path = f"/guilds/{guild.id}/integrations/{bot.application_id}/commands"
    manager, member = await guild.member(Permissions.MANAGE_GUILD), await guild.member(Permissions.MANAGE_ROLES)

    listed_commands = (await manager.get(path)).ok()

    assert [command["id"] for command in listed_commands["application_commands"]] == [
        global_command["id"],
        guild_command["id"],
    ]
    assert listed_commands["permissions"] == [
        {
            "id": guild_command["id"],
            "application_id": str(bot.application_id),
            "guild_id": str(guild.id),
            "permissions": entries,
        }
    ]
    (await member.get(path)).rejected(403, 50013)
    (await (await world.user()).get(path)).rejected(403, 50001)
    unknown_paths = (f"/guilds/{guild.id}/integrations/1/commands", path.replace(str(guild.id), str(other_guild.id)))
    for other_path in unknown_paths:
        (await guild.owner.get(other_path)).rejected(404, 10005)


async def test_renaming_or_deleting_a_command_deletes_its_permissions(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    guild_command = (await bot.post(guild_path(bot, guild), json=chat_command("a"))).ok()
    global_command = (await bot.post(global_path(bot), json=chat_command("b"))).ok()
    body = {"permissions": [{"id": str(guild.id), "type": CommandPermissionType.ROLE, "permission": False}]}
    for created_command in (guild_command, global_command):
        (await guild.owner.put(f"{guild_path(bot, guild)}/{created_command['id']}/permissions", json=body)).ok()

    (await bot.patch(f"{guild_path(bot, guild)}/{guild_command['id']}", json={"name": "c"})).ok()
    (await bot.delete(f"{global_path(bot)}/{global_command['id']}")).ok()

    assert (await bot.get(f"{guild_path(bot, guild)}/permissions")).ok() == []


async def test_setting_permissions_requires_permissions_and_known_targets(world: World) -> None:
    member = await world.user()
    guild = await world.guild(None, member)
    bot, other_bot = await world.bot(guild), await world.bot(guild)
    created_command = (await bot.post(guild_path(bot, guild), json=chat_command())).ok()
    path = f"{guild_path(bot, guild)}/{created_command['id']}/permissions"
    higher_role_id = await guild.role("above")
    body = {"permissions": [{"id": str(guild.id), "type": CommandPermissionType.ROLE, "permission": True}]}

    (await bot.put(path, json=body)).rejected(403, 20001)
    (await member.put(path, json=body)).rejected(403, 50013)
    other_bearer = await world.bearer(guild.owner, other_bot.application_id, "applications.commands.permissions.update")
    (await other_bearer.put(path, json=body)).rejected(403, 20012)
    await guild.allow_permissions(member, Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES)
    (await member.put(path, json=body)).ok()
    (await member.put(f"{guild_path(bot, guild)}/1/permissions", json=body)).rejected(404, 10063)

    async def put_permissions(actor: Actor, *entries: tuple[int, int]) -> ApiResponse:
        permissions = [
            {"id": str(target), "type": permission_type, "permission": True} for target, permission_type in entries
        ]
        return await actor.put(path, json={"permissions": permissions})

    position_change = {"id": str(higher_role_id), "position": 5}
    (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=[position_change])).ok()
    (await put_permissions(member, (higher_role_id, CommandPermissionType.ROLE))).rejected(403, 50013)
    (await put_permissions(member, (guild.owner.id, CommandPermissionType.USER))).rejected(403, 50013)
    unknown_target_code = "APPLICATION_COMMAND_PERMISSIONS_UNKNOWN_TARGET"
    assert (await put_permissions(guild.owner, (1, CommandPermissionType.ROLE))).errors("permissions.0.id") == [
        unknown_target_code
    ]
    assert (await put_permissions(guild.owner, (1, CommandPermissionType.USER))).errors("permissions.0.id") == [
        unknown_target_code
    ]
    assert (await put_permissions(guild.owner, (1, CommandPermissionType.CHANNEL))).errors("permissions.0.id") == [
        unknown_target_code
    ]
    duplicate = await put_permissions(
        guild.owner, (guild.id, CommandPermissionType.ROLE), (guild.id, CommandPermissionType.ROLE)
    )
    assert duplicate.errors("permissions.1.id") == ["SET_TYPE_ALREADY_CONTAINS_VALUE"]
    too_many = await put_permissions(guild.owner, *((guild.id, CommandPermissionType.ROLE) for _ in range(101)))
    assert too_many.errors("permissions") == ["BASE_TYPE_BAD_LENGTH"]
    (
        await bot.patch(f"{guild_path(bot, guild)}/{created_command['id']}", json={"default_member_permissions": "0"})
    ).ok()
    (await put_permissions(guild.owner)).ok()
    (await put_permissions(member, (member.id, CommandPermissionType.USER))).rejected(403, 50013)
    batch_path = f"{guild_path(bot, guild)}/permissions"
    (await guild.owner.put(batch_path, json=[])).rejected(403, 20001)


GUILD_ID, USER_ID, ROLE_ID, CHANNEL_ID = 1000, 1, 7, 50
"""IDs in the test of `can_use`. An entry for the channel `GUILD_ID - 1` applies to all channels of the guild."""


def permission_entry(target_id: int, permission_type: CommandPermissionType, is_allowed: bool) -> CommandPermission:
    return CommandPermission(id=Snowflake(target_id), type=permission_type, permission=is_allowed)


def role_entry(role_id: int, is_allowed: bool) -> CommandPermission:
    return permission_entry(role_id, CommandPermissionType.ROLE, is_allowed)


def user_entry(is_allowed: bool) -> CommandPermission:
    return permission_entry(USER_ID, CommandPermissionType.USER, is_allowed)


def channel_entry(channel_id: int, is_allowed: bool) -> CommandPermission:
    return permission_entry(channel_id, CommandPermissionType.CHANNEL, is_allowed)


@pytest.mark.parametrize(
    ("permissions", "required", "command_entries", "application_entries", "expected"),
    [
        (0, None, [], [], False),
        (USE_COMMANDS, None, [], [], True),
        (Permissions.ADMINISTRATOR, 0, [user_entry(False)], [user_entry(False)], True),
        (USE_COMMANDS, 0, [], [], False),
        (USE_COMMANDS, Permissions.BAN_MEMBERS, [], [], False),
        (USE_COMMANDS | Permissions.BAN_MEMBERS, Permissions.BAN_MEMBERS, [], [], True),
        (USE_COMMANDS, Permissions.BAN_MEMBERS, [user_entry(True)], [], True),
        (USE_COMMANDS, 0, [role_entry(ROLE_ID, True)], [], True),
        (USE_COMMANDS, None, [role_entry(GUILD_ID, False)], [], False),
        (USE_COMMANDS, None, [role_entry(GUILD_ID, False), role_entry(ROLE_ID, True)], [], True),
        (USE_COMMANDS, None, [role_entry(ROLE_ID, True), role_entry(8, False)], [], True),
        (USE_COMMANDS, None, [role_entry(ROLE_ID, True), user_entry(False)], [], False),
        (USE_COMMANDS, None, [role_entry(99, False)], [], True),
        (USE_COMMANDS, None, [], [user_entry(False)], False),
        (USE_COMMANDS, None, [], [role_entry(GUILD_ID, False)], False),
        (USE_COMMANDS, Permissions.BAN_MEMBERS, [], [user_entry(True)], False),
        (USE_COMMANDS, None, [user_entry(True)], [user_entry(False)], True),
        (USE_COMMANDS, None, [channel_entry(CHANNEL_ID, False)], [], False),
        (USE_COMMANDS, None, [channel_entry(GUILD_ID - 1, False)], [], False),
        (USE_COMMANDS, None, [channel_entry(GUILD_ID - 1, False), channel_entry(CHANNEL_ID, True)], [], True),
        (USE_COMMANDS, None, [], [channel_entry(CHANNEL_ID, False)], False),
        (USE_COMMANDS, None, [channel_entry(GUILD_ID - 1, True)], [channel_entry(CHANNEL_ID, False)], True),
        (USE_COMMANDS, None, [user_entry(True), channel_entry(CHANNEL_ID, False)], [], False),
    ],
)
def test_permissions_decide_which_members_can_use_a_command(
    permissions: int,
    required: int | None,
    command_entries: list[CommandPermission],
    application_entries: list[CommandPermission],
    expected: bool,
) -> None:
    is_allowed = commands.can_use(
        guild_id=GUILD_ID,
        user_id=USER_ID,
        role_ids={GUILD_ID, ROLE_ID, 8},
        channel_id=CHANNEL_ID,
        permissions=permissions,
        required_permissions=required,
        command_entries=command_entries,
        application_entries=application_entries,
    )

    assert is_allowed is expected
