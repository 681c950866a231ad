"""Events for bots without the message content intent contain nothing that requires it (spec/gateway.md#5.2)."""

import copy
import json
from typing import Any

import pytest

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.intents import Intents
from tests.server.play.test_interactions import InteractionStage
from tests.world import Actor, Guild, Session, World

NO_CONTENT = Intents.GUILDS | Intents.GUILD_MESSAGES
SECRET = "xylophone"
"""A text that only message content contains."""

TRICKY_CONTENTS = [
    SECRET,
    f'"{SECRET}"',
    f'"content":"{SECRET}"',
    f'"content":"","embeds":[],"{SECRET}":"',
    f'{{"type":0,"content":"{SECRET}"}}',
    f"\\{SECRET}\\\\",
    f"\\u0078ylophone {SECRET}",
    f"line\n\ttab {SECRET} \u2028 \u00e9 \U0001f600 \x7f",
    f"{SECRET}</script>",
]
EQUAL_TO_OTHER_FIELDS = ["0", "alice", "null", "false", "[]", '""', "content", "general"]


class Stage:
    """A guild with an author, and sessions of two bots, one of them without the message content intent."""

    def __init__(self, guild: Guild, author: Actor, bot: Actor, wide: Session, narrow: Session) -> None:
        self.guild = guild
        self.author = author
        self.bot = bot
        self._wide = wide
        self._narrow = narrow
        self.path = f"/channels/{guild.general}/messages"

    async def check(self, message: dict[str, Any], event: str = "MESSAGE_CREATE") -> dict[str, Any]:
        """Assert that the second bot receives the message without content; return what it received."""
        full, redacted = [
            await session.next(event, lambda data: data["id"] == message["id"])
            for session in (self._wide, self._narrow)
        ]
        assert redacted == stripped(full)
        assert SECRET not in json.dumps(redacted)
        return redacted

    async def send(self, author: Actor, **body: Any) -> dict[str, Any]:
        """Send a message."""
        message: dict[str, Any] = (await author.post(self.path, json=body)).ok()
        return message


def stripped(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without content, as spec/gateway.md#5.2 describes it."""
    found = copy.deepcopy(message)
    found |= {"content": "", "embeds": [], "attachments": [], "components": []}
    found.pop("poll", None)
    if found.get("referenced_message"):
        found["referenced_message"] = stripped(found["referenced_message"])
    for snapshot in found.get("message_snapshots", ()):
        snapshot["message"] = stripped(snapshot["message"])
    return found


@pytest.fixture
async def stage(world: World) -> Stage:
    author = await world.user("alice")
    guild = await world.guild(author)
    bot, limited = await world.bot(guild), await world.bot(guild, flags=0)
    return Stage(guild, author, bot, await bot.connect(), await limited.connect(NO_CONTENT))


@pytest.mark.parametrize("content", TRICKY_CONTENTS + EQUAL_TO_OTHER_FIELDS)
async def test_content_of_new_and_edited_messages_is_removed(stage: Stage, content: str) -> None:
    message = await stage.send(stage.author, content=content)
    assert message["content"] == content.strip()
    await stage.check(message)

    changed = (await stage.author.patch(f"{stage.path}/{message['id']}", json={"content": content + "!"})).ok()
    await stage.check(changed, "MESSAGE_UPDATE")


@pytest.mark.parametrize("content", TRICKY_CONTENTS)
async def test_content_of_a_message_with_a_nonce_and_mentions_is_removed(stage: Stage, content: str) -> None:
    await stage.check(await stage.send(stage.author, content=f"{content} <@{stage.author.id}>", nonce="content"))


async def test_embeds_attachments_and_components_are_removed(stage: Stage) -> None:
    embed = {"title": SECRET, "fields": [{"name": SECRET, "value": SECRET}], "footer": {"text": SECRET}}
    button = {"type": 2, "style": 1, "label": SECRET, "custom_id": SECRET}

    await stage.check(await stage.send(stage.bot, embeds=[embed]))
    await stage.check(await stage.send(stage.bot, content=SECRET, embeds=[]))
    await stage.check(await stage.send(stage.bot, content=SECRET, components=[{"type": 1, "components": [button]}]))
    text = {"type": 10, "content": SECRET}
    await stage.check(await stage.send(stage.bot, flags=int(MessageFlags.IS_COMPONENTS_V2), components=[text]))


async def test_a_poll_is_removed(stage: Stage) -> None:
    answers = [{"poll_media": {"text": SECRET}}, {"poll_media": {"text": "other"}}]
    poll = {"question": {"text": SECRET}, "answers": answers, "duration": 1}

    redacted = await stage.check(await stage.send(stage.author, poll=poll))

    assert "poll" not in redacted


async def test_content_of_referenced_and_forwarded_messages_is_removed(stage: Stage) -> None:
    embed = {"title": SECRET, "description": f'"content":"{SECRET}"'}
    button = {"type": 2, "style": 1, "label": SECRET, "custom_id": SECRET}
    original = await stage.send(
        stage.bot, content=f'"{SECRET}"', embeds=[embed], components=[{"type": 1, "components": [button]}]
    )
    here = {"message_id": original["id"], "channel_id": str(stage.guild.general)}

    reply = await stage.send(stage.author, content=SECRET, message_reference=here)
    assert (await stage.check(reply))["referenced_message"]["content"] == ""
    empty_reply = await stage.send(stage.bot, embeds=[embed], message_reference=here)
    await stage.check(empty_reply)
    forward = await stage.send(stage.author, message_reference={"type": 1, **here})
    assert (await stage.check(forward))["message_snapshots"][0]["message"]["content"] == ""
    to_forward = {"message_id": forward["id"], "channel_id": str(stage.guild.general)}
    nested = await stage.send(stage.author, content="see", message_reference=to_forward)
    assert (await stage.check(nested))["referenced_message"]["message_snapshots"][0]["message"]["embeds"] == []
    again = await stage.send(stage.author, message_reference={"type": 1, **to_forward})
    await stage.check(again)


@pytest.mark.parametrize("content", TRICKY_CONTENTS)
async def test_content_of_an_interaction_response_is_removed(stage: Stage, world: World, content: str) -> None:
    app = await world.bot(stage.guild, name="answerer")
    interactions = InteractionStage(world, stage.guild, stage.author, app)
    interactions.app_session = await app.connect()
    command = (
        await app.post(f"{interactions.application_path}/commands", json={"name": "hi", "description": "x"})
    ).ok()

    message = await (await interactions.run_command(command)).respond_with_message(content=content)

    redacted = await stage.check(message)
    assert redacted["interaction"]["name"] == "hi"
