"""Examples of the SDK: the asyncio and game loop programs of docs/sdk.md run, and the names in docstring examples exist."""

import ast
import asyncio
import inspect
import re
import time
import webbrowser
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import hubbub.sdk
from hubbub.sdk import Client, ClientStatus, api, client, compat
from tests.sdk import sdk_threads
from tests.sdk.browsers import ConsentBrowser
from tests.sdk.players import create_game, create_player
from tests.world import World

FRAME_COUNT_MAX = 6000
"""Maximum number of frames of a test's game loop; a test that needs more has failed."""
PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)


def compile_programs() -> list[Any]:
    """Return the page's programs: shared names, then one for asyncio, one for a game loop and one for a call."""
    code_blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    return [compile(text, str(PAGE), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT) for text in code_blocks]


async def test_the_documented_asyncio_program_works(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, asyncio_program, *_ = compile_programs()
    application, mary = await create_game(world), await world.user("mary")
    monkeypatch.setattr(webbrowser, "open", ConsentBrowser(mary))
    zoe = await create_player(world, application, "zoe")
    lobby_id = await zoe.client.create_or_join_lobby("secret")

    await eval(asyncio_program, vars(hubbub.sdk) | {"APPLICATION": application.id, "PLATFORM": world.url})

    [message] = await zoe.client.get_lobby_messages_with_limit(lobby_id, 5)
    assert (message.author_id, message.content) == (mary.id, "hello")
    await zoe.client.close()


async def test_the_documented_game_loop_program_works(world: World) -> None:
    _, _, game_loop_program, _ = compile_programs()
    mary = await create_player(world, await create_game(world), connect=False)
    frames = 0

    class LoopCondition:
        def __bool__(self) -> bool:
            game_client: Client = namespace["client"]
            return game_client.get_status() is not ClientStatus.READY and frames < FRAME_COUNT_MAX

    def draw() -> None:
        nonlocal frames
        frames += 1
        time.sleep(0.01)

    namespace: dict[str, Any] = vars(hubbub.sdk) | {
        "PLATFORM": world.url,
        "token": mary.tokens["access_token"],
        "playing": LoopCondition(),
        "draw": draw,
    }
    await asyncio.to_thread(exec, game_loop_program, namespace)

    assert 0 < frames < FRAME_COUNT_MAX
    assert sdk_threads.network_threads() == set()
    await mary.client.close()


@pytest.mark.parametrize("module", [client, compat, api])
def test_names_used_in_docstring_examples_exist(module: Any, store_config: Any) -> None:
    """The examples in docstrings are fragments, so their calls are looked up, not run."""
    text = inspect.getdoc(module) or ""
    documented_class: Any = {client: Client, api: hubbub.sdk.Api}.get(module) or compat.Client
    used_names = set(re.findall(r"\b(?:client|api)\.(\w+)\(", dedent(text))) | set(
        re.findall(r"\bClient\.(\w+)\(", text)
    )

    assert used_names
    assert [name for name in used_names if not hasattr(documented_class, name)] == []
