"""Events for bots without the message content intent contain nothing that requires it (spec/gateway.md#5.2)."""

import copy
import json
import re
from typing import Any

import pytest
from msgspec import UNSET

from hubbub.protocol.enums import ButtonStyle, ComponentType, MessageReferenceType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources import messages as wire
from hubbub.server.talk.messages import views
from tests.contract.language import ROOT
from tests.server.play.interaction_setup import InteractionSetup
from tests.world import Actor, Guild, Session, World

INTENTS_WITHOUT_CONTENT = Intents.GUILDS | Intents.GUILD_MESSAGES
SECRET = "xylophone"
"""A text that only message content contains."""

UNUSUAL_CONTENTS = [
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
CONTENTS_EQUAL_TO_OTHER_FIELDS = ["0", "alice", "null", "false", "[]", '""', "content", "general"]

FIELDS_WITHOUT_CONTENT = {
    "activity",
    "application",
    "application_id",
    "author",
    "call",
    "channel_id",
    "channel_type",
    "edited_timestamp",
    "flags",
    "guild_id",
    "id",
    "interaction",
    "interaction_metadata",
    "lobby_member",
    "member",
    "mention_channels",
    "mention_everyone",
    "mention_roles",
    "mentions",
    "message_reference",
    "nonce",
    "pinned",
    "position",
    "reactions",
    "resolved",
    "role_subscription_data",
    "shared_client_theme",
    "sticker_items",
    "stickers",
    "thread",
    "timestamp",
    "tts",
    "type",
    "webhook_id",
}
"""Fields of an event about a message that do not require the message content intent."""


class RedactionSetup:
    """A guild with an author, and sessions of two bots, one of them without the message content intent."""

    def __init__(
        self, guild: Guild, author: Actor, bot: Actor, full_session: Session, redacted_session: Session
    ) -> None:
        self.guild = guild
        self.author = author
        self.bot = bot
        self._full_session = full_session
        self._redacted_session = redacted_session
        self.path = f"/channels/{guild.general}/messages"

    async def assert_redacted(self, message: dict[str, Any], event: str = "MESSAGE_CREATE") -> dict[str, Any]:
        """Assert that the bot without the intent receives the message without content; return the received payload."""
        full_events, redacted_events = [
            await session.next(event, lambda data: data["id"] == message["id"])
            for session in (self._full_session, self._redacted_session)
        ]
        assert redacted_events == strip_content(full_events)
        assert SECRET not in json.dumps(redacted_events)
        return redacted_events

    async def send(self, author: Actor, **body: Any) -> dict[str, Any]:
        message: dict[str, Any] = (await author.post(self.path, json=body)).ok()
        return message


def strip_content(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without content, as spec/gateway.md#5.2 describes it."""
    redacted_message = copy.deepcopy(message)
    redacted_message |= {"content": "", "embeds": [], "attachments": [], "components": []}
    redacted_message.pop("poll", None)
    if redacted_message.get("referenced_message"):
        redacted_message["referenced_message"] = strip_content(redacted_message["referenced_message"])
    for snapshot in redacted_message.get("message_snapshots", ()):
        snapshot["message"] = strip_content(snapshot["message"])
    return redacted_message


@pytest.fixture
async def setup(world: World) -> RedactionSetup:
    """A guild with an author, and connected sessions of two bots."""
    author = await world.user("alice")
    guild = await world.guild(author)
    bot, bot_without_intent = await world.bot(guild), await world.bot(guild, flags=0)
    return RedactionSetup(
        guild, author, bot, await bot.connect(), await bot_without_intent.connect(INTENTS_WITHOUT_CONTENT)
    )


@pytest.mark.parametrize("content", UNUSUAL_CONTENTS + CONTENTS_EQUAL_TO_OTHER_FIELDS)
async def test_content_of_new_and_edited_messages_is_removed(setup: RedactionSetup, content: str) -> None:
    message = await setup.send(setup.author, content=content)
    assert message["content"] == content.strip()
    await setup.assert_redacted(message)

    edited_message = (await setup.author.patch(f"{setup.path}/{message['id']}", json={"content": content + "!"})).ok()
    await setup.assert_redacted(edited_message, "MESSAGE_UPDATE")


@pytest.mark.parametrize("content", UNUSUAL_CONTENTS)
async def test_content_of_a_message_with_a_nonce_and_mentions_is_removed(setup: RedactionSetup, content: str) -> None:
    await setup.assert_redacted(
        await setup.send(setup.author, content=f"{content} <@{setup.author.id}>", nonce="content")
    )


async def test_embeds_attachments_and_components_are_removed(setup: RedactionSetup) -> None:
    embed = {"title": SECRET, "fields": [{"name": SECRET, "value": SECRET}], "footer": {"text": SECRET}}
    button = {"type": ComponentType.BUTTON, "style": ButtonStyle.PRIMARY, "label": SECRET, "custom_id": SECRET}

    await setup.assert_redacted(await setup.send(setup.bot, embeds=[embed]))
    await setup.assert_redacted(await setup.send(setup.bot, content=SECRET, embeds=[]))
    await setup.assert_redacted(
        await setup.send(
            setup.bot, content=SECRET, components=[{"type": ComponentType.ACTION_ROW, "components": [button]}]
        )
    )
    text = {"type": ComponentType.TEXT_DISPLAY, "content": SECRET}
    await setup.assert_redacted(
        await setup.send(setup.bot, flags=int(MessageFlags.IS_COMPONENTS_V2), components=[text])
    )


async def test_a_poll_is_removed(setup: RedactionSetup) -> None:
    answers = [{"poll_media": {"text": SECRET}}, {"poll_media": {"text": "other"}}]
    poll = {"question": {"text": SECRET}, "answers": answers, "duration": 1}

    redacted_message = await setup.assert_redacted(await setup.send(setup.author, poll=poll))

    assert "poll" not in redacted_message


async def test_content_of_referenced_and_forwarded_messages_is_removed(setup: RedactionSetup) -> None:
    embed = {"title": SECRET, "description": f'"content":"{SECRET}"'}
    button = {"type": ComponentType.BUTTON, "style": ButtonStyle.PRIMARY, "label": SECRET, "custom_id": SECRET}
    original_message = await setup.send(
        setup.bot,
        content=f'"{SECRET}"',
        embeds=[embed],
        components=[{"type": ComponentType.ACTION_ROW, "components": [button]}],
    )
    reference = {"message_id": original_message["id"], "channel_id": str(setup.guild.general)}

    reply = await setup.send(setup.author, content=SECRET, message_reference=reference)
    assert (await setup.assert_redacted(reply))["referenced_message"]["content"] == ""
    empty_reply = await setup.send(setup.bot, embeds=[embed], message_reference=reference)
    await setup.assert_redacted(empty_reply)
    forward = await setup.send(setup.author, message_reference={"type": MessageReferenceType.FORWARD, **reference})
    assert (await setup.assert_redacted(forward))["message_snapshots"][0]["message"]["content"] == ""
    forward_reference = {"message_id": forward["id"], "channel_id": str(setup.guild.general)}
    nested_message = await setup.send(setup.author, content="see", message_reference=forward_reference)
    assert (await setup.assert_redacted(nested_message))["referenced_message"]["message_snapshots"][0]["message"][
        "embeds"
    ] == []
    second_forward = await setup.send(
        setup.author, message_reference={"type": MessageReferenceType.FORWARD, **forward_reference}
    )
    await setup.assert_redacted(second_forward)


@pytest.mark.parametrize("content", UNUSUAL_CONTENTS)
async def test_content_of_an_interaction_response_is_removed(setup: RedactionSetup, world: World, content: str) -> None:
    app = await world.bot(setup.guild, name="responder")
    interactions = InteractionSetup(world, setup.guild, setup.author, app)
    interactions.app_session = await app.connect()
    command = (
        await app.post(f"{interactions.application_path}/commands", json={"name": "hi", "description": "x"})
    ).ok()

    message = await (await interactions.run_command(command)).respond_with_message(content=content)

    redacted_message = await setup.assert_redacted(message)
    assert redacted_message["interaction"]["name"] == "hi"


def test_every_field_of_a_message_is_declared_as_content_or_not() -> None:
    fields = set(wire.DispatchedMessage.__struct_fields__)

    assert fields == views.MESSAGE_CONTENT_FIELDS.keys() | set(views.SHOWN_MESSAGE_FIELDS) | FIELDS_WITHOUT_CONTENT
    assert views.MESSAGE_CONTENT_FIELDS.keys() & FIELDS_WITHOUT_CONTENT == set()
    snapshot_fields = set(wire.MessageContent.__struct_fields__)
    assert views.CONTENT_FIELDS.keys() == views.MESSAGE_CONTENT_FIELDS.keys() & snapshot_fields


def test_the_specification_lists_the_content_fields() -> None:
    section = (ROOT / "docs" / "spec" / "gateway.md").read_text(encoding="utf-8").partition("### 5.2 ")[2]
    table = section.partition("\n\n| A bot")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `") and " of " not in line]

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == views.MESSAGE_CONTENT_FIELDS.keys()


@pytest.mark.parametrize("name", [*views.MESSAGE_CONTENT_FIELDS, *views.SHOWN_MESSAGE_FIELDS])
def test_a_message_with_one_content_field_is_redacted(name: str) -> None:
    values: dict[str, Any] = dict.fromkeys(wire.Message.__struct_fields__)
    values |= {field: build_empty_value() for field, build_empty_value in views.MESSAGE_CONTENT_FIELDS.items()}
    values |= dict.fromkeys(views.SHOWN_MESSAGE_FIELDS, UNSET)
    empty_message = wire.Message(**values)
    assert not views.has_content(empty_message)
    message = wire.Message(**values | {name: [SECRET]})

    assert views.has_content(message)
    if name in views.MESSAGE_CONTENT_FIELDS:
        assert views.redact(message) == empty_message
