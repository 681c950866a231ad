"""Fast paths of messages: they store and encode the same as the general paths.

A message can be encoded once for response and event, inserted with few columns, and shown from a template in a history."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType, InteractionType, MessageReferenceType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import AttachmentId, ChannelId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import messages as wire
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Call, Upload
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import actions, store
from hubbub.server.talk.messages.reads import history_pages
from tests.server.places.expressions import upload_sticker
from tests.world import Actor, Guild, World

MESSAGE_ID = MessageId(Snowflake.at(1_900_000_000_000))
ENCODED_ONCE_SENDERS = ("user", "webhook", "response")
"""Senders whose messages with content alone are encoded once."""
SENDERS = (*ENCODED_ONCE_SENDERS, "ephemeral", "lobby", "player")
"""Senders of messages; a player sends a direct message, the others write in a channel of a guild."""
UPLOAD = Upload(
    field="files",
    index=0,
    filename="a.txt",
    content_type="text/plain",
    size=5,
    attachment_id=AttachmentId(Snowflake.at(1_900_000_000_000)),
    key="attachments/1",
    data=b"hello",
)
"""A file that a request uploaded."""

MESSAGE_BODIES = st.fixed_dictionaries(
    {"content": st.text(max_size=20) | st.sampled_from(["@everyone", "<@{member}>", "<@&{role}> hi", '"content":"x"'])},
    optional={
        "tts": st.booleans(),
        "flags": st.sampled_from([0, MessageFlags.SUPPRESS_EMBEDS, MessageFlags.SUPPRESS_NOTIFICATIONS]),
        "embeds": st.lists(st.fixed_dictionaries({"title": st.text("ab<@\"'", min_size=1)}), max_size=2),
        "poll": st.just({"question": {"text": "why"}, "answers": [{"poll_media": {"text": "because"}}]}),
        "message_reference": st.sampled_from(
            [
                {"message_id": "{replied}"},
                {"type": MessageReferenceType.FORWARD, "message_id": "{replied}", "channel_id": "{channel}"},
            ]
        ),
        "attachments": st.just([{"id": "0", "description": "a file"}]),
        "components": st.just([{"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": "c"}]}]),
        "sticker_ids": st.just(["{sticker}"]),
        "allowed_mentions": st.sampled_from([{"parse": []}, {"parse": ["users"]}]),
    },
)


class RolledBack(Exception):
    """Raised with the outcome of a transaction to roll it back."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome


def decode_dispatches(call: Call) -> list[dict[str, Any]]:
    """Return the events of a transaction with decoded bodies, without the order of JSON fields."""
    return [
        {
            "event": dispatch.event,
            "body": json.loads(dispatch.body),
            "redacted": None if dispatch.redacted is None else json.loads(dispatch.redacted),
            "partial": [(users, json.loads(body)) for users, body in dispatch.partial_bodies],
            "audience": dispatch.audience,
            "unredacted_for": dispatch.unredacted_for,
            "intents": dispatch.intents,
        }
        for dispatch in call.tx.dispatches
    ]


class CreationSetup:
    """A guild with a bot, a thread, a sticker, a second channel, a message to reply to, and a member who has a role."""

    def __init__(self, world: World, guild: Guild, member: Actor, bot: Actor, ids_by_name: dict[str, int]) -> None:
        self.world = world
        self.guild = guild
        self.member = member
        self.bot = bot
        self.ids_by_name = ids_by_name
        """IDs that replace names in braces in a body, and the IDs of the thread and of the channel of announcements."""

    async def create(self, body: dict[str, Any], sender: str, channel_id: int) -> Any:
        """Create a message and roll the transaction back.

        Return the row, the events and the response, or the type and the text of the error."""
        text = json.dumps(body)
        for name, value in self.ids_by_name.items():
            text = text.replace(f"{{{name}}}", str(value))

        def unit(call: Call) -> None:
            if "attachments" in body:
                call.files = [UPLOAD]
            target_id = self.ids_by_name["direct"] if sender == "player" else channel_id
            channel_access = access.get_channel_standing(call, target_id)
            author, response, origin = self._build_author(call, sender), None, None
            if sender in {"response", "ephemeral"}:
                interaction = messages.content.StoredInteraction(
                    id=Snowflake(5),
                    type=InteractionType.APPLICATION_COMMAND,
                    user_id=UserId(self.member.id),
                    name="run",
                )
                response = messages.content.InteractionResponse(interaction, MessageType.CHAT_INPUT_COMMAND)
            if sender == "ephemeral" and response is not None:
                response = response._replace(flags=int(MessageFlags.EPHEMERAL), seen_by=(self.member.id,))
            if sender in {"lobby", "player"}:
                assert self.bot.application_id is not None
                metadata = {"mood": "good"} if sender == "player" else {}
                origin = messages.content.ApplicationOrigin(self.bot.application_id, metadata)
            created_message = messages.creation.create(
                call,
                channel_access,
                codec.decode(text.encode(), wire.CreateMessage),
                author=author,
                message_id=MESSAGE_ID,
                response=response,
                origin=origin,
            )
            if sender == "ephemeral":
                row = store.find_ephemeral(call.tx, target_id, MESSAGE_ID, call.now_ms)
            else:
                row = messages.history.get(call.tx, target_id, MESSAGE_ID)
            assert row is not None
            raise RolledBack((row, decode_dispatches(call), json.loads(codec.encode(created_message))))

        try:
            await self.world.write(unit, actor=self.member.id)
        except RolledBack as rolled_back:
            return rolled_back.outcome
        except Exception as error:
            return type(error), str(error)
        raise AssertionError("the transaction was committed")

    async def crosspost(self, body: dict[str, Any]) -> Any:
        """Create a crosspost of a message, which is not stored itself, and roll the transaction back.

        Return the row of the crosspost and the audiences of its events."""

        def unit(call: Call) -> None:
            channel = access.find_channel(call.tx, self.ids_by_name["following"])
            source = messages.MessageRow(
                self.guild.general,
                MESSAGE_ID,
                self.member.id,
                0,
                0,
                body["content"],
                embeds=json.dumps([{"type": "rich", **embed} for embed in body.get("embeds", [])]) or None,
            )
            assert channel is not None
            reference = wire.MessageReference(message_id=MESSAGE_ID, channel_id=ChannelId(self.guild.general))
            author = self._build_author(call, "webhook")
            created_message = messages.creation.create_crosspost(call, channel, source, author, reference)
            row = messages.history.get(call.tx, channel.id, created_message.id)
            # The ID and the time of a copy differ between two transactions.
            raise RolledBack((row._replace(id=0), [dispatch["audience"] for dispatch in decode_dispatches(call)]))

        try:
            await self.world.write(unit)
        except RolledBack as rolled_back:
            return rolled_back.outcome
        raise AssertionError("the transaction was committed")

    def _build_author(self, call: Call, sender: str) -> messages.Author:
        user_id = self.bot.id if sender in {"response", "ephemeral"} else self.member.id
        guild_id = None if sender == "player" else self.guild.id
        author = messages.authors.find_author(call.tx, guild_id, user_id)
        assert author is not None
        if sender == "webhook":
            return author._replace(
                user=author.user._replace(id=UserId(7), username="hook", avatar=None), member=None, webhook_id=7
            )
        if sender in {"response", "ephemeral"}:
            application_id = self.bot.application_id
            return author._replace(webhook_id=application_id, application_id=application_id, is_bot_response=True)
        return author


@pytest.fixture
async def setup(world: World) -> CreationSetup:
    """A guild with a bot, a thread, a sticker, a second channel, a message to reply to, and a member who has a role."""
    member = await world.user()
    guild = await world.guild(None, member)
    bot = await world.bot(guild)
    role_id = await guild.role("mentionable", mentionable=True)
    await guild.add_role(member, role_id)
    replied_message = await guild.send_message(guild.owner, "question")
    thread = (
        await guild.owner.post(
            f"/channels/{guild.general}/threads", json={"name": "talk", "type": ChannelType.PUBLIC_THREAD}
        )
    ).ok()
    sticker = (await upload_sticker(guild.owner, guild)).ok()
    direct_channel = (await member.post("/users/@me/channels", json={"recipient_id": str(guild.owner.id)})).ok()
    # Transactions that are rolled back would each create another key for the URLs of attachments.
    await world.write(lambda call: cdn_urls.find_or_create_signing_key(call.tx))
    ids_by_name = {
        "member": member.id,
        "role": role_id,
        "replied": int(replied_message["id"]),
        "thread": int(thread["id"]),
        "channel": guild.general,
        "sticker": int(sticker["id"]),
        "following": await guild.channel("news"),
        "direct": int(direct_channel["id"]),
    }
    return CreationSetup(world, guild, member, bot, ids_by_name)


@given(body=MESSAGE_BODIES, sender=st.sampled_from(SENDERS), is_in_thread=st.booleans())
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
async def test_a_message_encoded_once_equals_one_encoded_for_each_use(
    setup: CreationSetup, body: dict[str, Any], sender: str, is_in_thread: bool
) -> None:
    channel_id = setup.ids_by_name["thread"] if is_in_thread else setup.guild.general
    encoded_once = await setup.create(body, sender, channel_id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(actions, "can_encode_once", lambda channel, row: False)
        encoded_for_each_use = await setup.create(body, sender, channel_id)

    assert encoded_once == encoded_for_each_use


@given(body=MESSAGE_BODIES, sender=st.sampled_from(SENDERS), is_in_thread=st.booleans())
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
async def test_a_message_inserted_with_few_columns_equals_one_inserted_with_all(
    setup: CreationSetup, body: dict[str, Any], sender: str, is_in_thread: bool
) -> None:
    channel_id = setup.ids_by_name["thread"] if is_in_thread else setup.guild.general
    inserted_with_few = await setup.create(body, sender, channel_id)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("is_plain", "is_plain_response"):
            patch.setattr(messages.MessageRow, name, property(lambda row: False))
        inserted_with_all = await setup.create(body, sender, channel_id)

    assert inserted_with_few == inserted_with_all


@pytest.mark.parametrize("body", [{"content": "news"}, {"content": "", "embeds": [{"title": "news"}]}])
async def test_a_crosspost_inserted_with_few_columns_equals_one_inserted_with_all(
    setup: CreationSetup, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted_with_few = await setup.crosspost(body)
    for name in ("is_plain", "is_plain_response"):
        monkeypatch.setattr(messages.MessageRow, name, property(lambda row: False))

    assert inserted_with_few == await setup.crosspost(body)


HISTORIES = st.lists(
    st.tuples(
        st.text(max_size=20) | st.sampled_from(['"id":"1","channel_id"', "\\u0000words\\u0000", '"content":"x"']),
        st.sampled_from(["member", "owner"]),
        st.sampled_from(
            [
                {},
                {"flags": int(MessageFlags.SUPPRESS_EMBEDS)},
                {"embeds": '[{"type":"rich","title":"x"}]'},
                {"edited_ms": 1_900_000_000_000},
                {"mentions": "members"},
                {"tts": 1},
            ]
        ),
    ),
    min_size=1,
    max_size=8,
)
"""Contents, authors and further columns of the messages of a history."""


@given(history=HISTORIES)
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
async def test_a_page_of_a_history_equals_its_encoded_messages(
    setup: CreationSetup, history: list[tuple[str, str, dict[str, Any]]]
) -> None:
    author_ids = {"member": setup.member.id, "owner": setup.guild.owner.id}

    def unit(call: Call) -> None:
        channel = access.find_channel(call.tx, setup.guild.general)
        assert channel is not None
        for index, (content, author, columns) in enumerate(history):
            column_values = columns | ({"mentions": f'["{setup.member.id}"]'} if "mentions" in columns else {})
            message_id = int(MESSAGE_ID) + (index << 22) * 997
            # PostgreSQL stores no NUL in texts.
            text = content.replace("\0", "")
            row = messages.MessageRow(channel.id, message_id, author_ids[author], 0, 0, text)._replace(**column_values)
            store.insert(call.tx, row)
        rows = store.list_history_before(call.tx, channel.id, 50)
        page = history_pages.encode_page(call, channel, rows)
        complete_rows = [messages.history.get(call.tx, channel.id, message_id) for message_id, *_ in rows]
        message_models = messages.views.messages(call, complete_rows, guild_id=channel.guild_id)
        raise RolledBack((codec.encode(page), codec.encode(message_models)))

    with pytest.raises(RolledBack) as rolled_back:
        await setup.world.write(unit, actor=setup.member.id)

    page, message_models = rolled_back.value.outcome
    assert json.loads(page) == json.loads(message_models)


async def test_a_history_is_not_encoded_from_a_template_without_its_parts(
    setup: CreationSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_pages, "_SAMPLE_SEPARATORS", (b"absent",))

    def unit(call: Call) -> None:
        channel = access.find_channel(call.tx, setup.guild.general)
        assert channel is not None
        history_pages.encode_page(call, channel, store.list_history_before(call.tx, channel.id, 50))

    with pytest.raises(ValueError, match="absent"):
        await setup.world.write(unit, actor=setup.member.id)


@pytest.mark.parametrize("sender", ENCODED_ONCE_SENDERS)
async def test_content_alone_is_encoded_once(
    setup: CreationSetup, sender: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions: list[bool] = []
    original_function = actions.can_encode_once

    def record_decision(channel: ChannelRef, row: messages.MessageRow) -> bool:
        decisions.append(original_function(channel, row))
        return decisions[-1]

    monkeypatch.setattr(actions, "can_encode_once", record_decision)

    row, dispatches, response = await setup.create({"content": "hi"}, sender, setup.guild.general)

    # The store may run the transaction more than once.
    assert set(decisions) == {True}
    assert (row.content, response["content"]) == ("hi", "hi")
    assert [dispatch["event"] for dispatch in dispatches] == ["MESSAGE_CREATE"]
    assert dispatches[0]["redacted"]["content"] == ""


@pytest.mark.parametrize("sender", SENDERS)
async def test_every_sender_creates_a_message(setup: CreationSetup, sender: str) -> None:
    row, dispatches, response = await setup.create({"content": "hi"}, sender, setup.guild.general)

    assert (row.content, row.is_ephemeral, response["content"]) == ("hi", sender == "ephemeral", "hi")
    # The first direct message opens the channel of the recipient.
    opening_events = ["CHANNEL_CREATE"] if sender == "player" else []
    assert [dispatch["event"] for dispatch in dispatches] == [*opening_events, "MESSAGE_CREATE"]
