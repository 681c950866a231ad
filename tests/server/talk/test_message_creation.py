"""Creation of messages: a message that is encoded once for response and event equals one that is encoded for each."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType, InteractionType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import MessageId, Snowflake, UserId
from hubbub.protocol.resources import messages as wire
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import actions
from tests.world import Actor, Guild, World

MESSAGE_ID = MessageId(Snowflake.at(1_900_000_000_000))
SENDERS = ("user", "webhook", "response")

BODIES = st.fixed_dictionaries(
    {"content": st.text(max_size=20) | st.sampled_from(["@everyone", "<@{member}>", "<@&{role}> hi", '"content":"x"'])},
    optional={
        "tts": st.booleans(),
        "flags": st.sampled_from([0, MessageFlags.SUPPRESS_EMBEDS, MessageFlags.SUPPRESS_NOTIFICATIONS]),
        "embeds": st.lists(st.fixed_dictionaries({"title": st.text("ab<@\"'", min_size=1)}), max_size=2),
        "poll": st.just({"question": {"text": "why"}, "answers": [{"poll_media": {"text": "because"}}]}),
        "message_reference": st.just({"message_id": "{replied}"}),
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
    """A guild with a member who has a role, a bot, a thread and a message to reply to."""

    def __init__(self, world: World, guild: Guild, member: Actor, bot: Actor, ids_by_name: dict[str, int]) -> None:
        self.world = world
        self.guild = guild
        self.member = member
        self.bot = bot
        self.ids_by_name = ids_by_name
        """IDs that replace `{member}`, `{role}` and `{replied}` in a body, and the ID of the thread."""

    async def create(self, body: dict[str, Any], sender: str, channel_id: int) -> Any:
        """Create a message and roll the transaction back.

        Return the row, the events and the response, or the type and the text of the error."""
        text = json.dumps(body)
        for name, value in self.ids_by_name.items():
            text = text.replace(f"{{{name}}}", str(value))

        def unit(call: Call) -> None:
            channel_access = access.get_channel_standing(call, channel_id)
            author, response = self._build_author(call, sender), None
            if sender == "response":
                interaction = messages.content.StoredInteraction(
                    id=Snowflake(5),
                    type=InteractionType.APPLICATION_COMMAND,
                    user_id=UserId(self.member.id),
                    name="run",
                )
                response = messages.content.InteractionResponse(interaction, MessageType.CHAT_INPUT_COMMAND)
            created = messages.creation.create(
                call,
                channel_access,
                codec.decode(text.encode(), wire.CreateMessage),
                author=author,
                message_id=MESSAGE_ID,
                response=response,
            )
            row = messages.history.get(call.tx, channel_id, MESSAGE_ID)
            raise RolledBack((row, decode_dispatches(call), json.loads(codec.encode(created))))

        try:
            await self.world.write(unit, actor=self.member.id)
        except RolledBack as rolled_back:
            return rolled_back.outcome
        except Exception as error:
            return type(error), str(error)
        raise AssertionError("the transaction was committed")

    def _build_author(self, call: Call, sender: str) -> messages.Author:
        user_id = self.bot.id if sender == "response" else self.member.id
        author = messages.authors.find_author(call.tx, self.guild.id, user_id)
        assert author is not None
        if sender == "webhook":
            return author._replace(
                user=author.user._replace(id=UserId(7), username="hook", avatar=None), member=None, webhook_id=7
            )
        if sender == "response":
            application_id = self.bot.application_id
            return author._replace(webhook_id=application_id, application_id=application_id, is_bot_response=True)
        return author


@pytest.fixture
async def setup(world: World) -> CreationSetup:
    """A guild with a member who has a role, a bot, a thread and a message to reply to."""
    member = await world.user()
    guild = await world.guild(None, member)
    bot = await world.bot(guild)
    role = await guild.role("mentionable", mentionable=True)
    await guild.add_role(member, role)
    replied = await guild.send_message(guild.owner, "question")
    thread = (
        await guild.owner.post(
            f"/channels/{guild.general}/threads", json={"name": "talk", "type": ChannelType.PUBLIC_THREAD}
        )
    ).ok()
    ids_by_name = {"member": member.id, "role": role, "replied": int(replied["id"]), "thread": int(thread["id"])}
    return CreationSetup(world, guild, member, bot, ids_by_name)


@given(body=BODIES, sender=st.sampled_from(SENDERS), is_in_thread=st.booleans())
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


@pytest.mark.parametrize("sender", SENDERS)
async def test_content_alone_is_encoded_once(
    setup: CreationSetup, sender: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions: list[bool] = []
    original = actions.can_encode_once

    def record_decision(channel: ChannelRef, row: messages.MessageRow) -> bool:
        decisions.append(original(channel, row))
        return decisions[-1]

    monkeypatch.setattr(actions, "can_encode_once", record_decision)

    row, dispatches, response = await setup.create({"content": "hi"}, sender, setup.guild.general)

    # The store may run the transaction more than once.
    assert set(decisions) == {True}
    assert (row.content, response["content"]) == ("hi", "hi")
    assert [dispatch["event"] for dispatch in dispatches] == ["MESSAGE_CREATE"]
    assert dispatches[0]["redacted"]["content"] == ""
