"""Wire formats and limits of the models for channels, threads and messages, compared with the public API."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.enums import ReactionType
from hubbub.protocol.ids import ChannelId, EmojiId, MessageId, UserId, WideInt
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import events_of
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import (
    attachments,
    channel_overwrites,
    channels,
    embeds,
    emojis,
    forum_settings,
    message_parts,
    messages,
    pins,
    polls,
    reactions,
    scheduled_events,
    soundboard,
    stage_instances,
    stickers,
    thread_membership,
    threads,
    typing,
)
from hubbub.protocol.sounds import SoundData
from tests.contract import public_api
from tests.contract.tables import resource_modules

WIDE_ID = (1 << 62) + 1
DEPTH_MAX = 3
"""Depth at and below which a sample has only required keys, because some models are recursive."""


def sample(sample_type: Any, *, include_optional: bool, depth: int = 0) -> Any:
    """Build a value of a type, with every key or with only the required ones."""
    origin, arguments = get_origin(sample_type), get_args(sample_type)
    if isinstance(sample_type, NewType):
        return sample(sample_type.__supertype__, include_optional=include_optional, depth=depth)
    if origin is Annotated:
        bounds = next(entry for entry in arguments[1:] if isinstance(entry, Meta))
        value = sample(arguments[0], include_optional=include_optional, depth=depth)
        if isinstance(value, str):
            return value.ljust(bounds.min_length or 0, "x")
        if isinstance(value, (int, float)):
            return type(value)(bounds.ge if bounds.ge is not None else value)
        return value
    if origin in (Union, UnionType):
        return sample(
            next(alternative for alternative in arguments if alternative not in (NoneType, UnsetType)),
            include_optional=include_optional,
            depth=depth,
        )
    if origin is Literal:
        return arguments[0]
    if origin in (list, Sequence):
        return [sample(arguments[0], include_optional=include_optional, depth=depth + 1)]
    if origin is dict:
        key = "key" if arguments[0] is str else sample(arguments[0], include_optional=include_optional)
        return {key: sample(arguments[1], include_optional=include_optional, depth=depth + 1)}
    if sample_type is Any:
        return {"deep": [1, None, "x"]}
    if sample_type is datetime:
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    if issubclass(sample_type, Enum):
        return next(iter(sample_type))
    if issubclass(sample_type, WideInt):
        return sample_type(WIDE_ID)
    if issubclass(sample_type, ImageData):
        return sample_type(b"\x89PNG\r\n\x1a\n", "image/png")
    if issubclass(sample_type, SoundData):
        return sample_type(b"OggS")
    if issubclass(sample_type, Struct):
        hints = get_type_hints(sample_type, include_extras=True)
        return sample_type(
            **{
                field.name: sample(hints[field.name], include_optional=include_optional, depth=depth + 1)
                for field in msgspec.structs.fields(sample_type)
                if field.required or (include_optional and depth < DEPTH_MAX)
            }
        )
    return {str: "word", int: 7, float: 0.5, bool: True}[sample_type]


@pytest.mark.parametrize("module", resource_modules(), ids=lambda module: module.__name__.rpartition(".")[2])
def test_events_have_the_name_of_their_constant(module: ModuleType) -> None:
    assert all(vars(module)[event.name] is event for event in events_of(module))


def test_ids_and_permissions_are_strings_on_the_wire() -> None:
    overwrite = channel_overwrites.Overwrite(
        id=UserId(WIDE_ID), type=1, allow=Permissions(1 << 52), deny=Permissions(0)
    )
    assert json.loads(codec.encode(overwrite)) == {"id": str(WIDE_ID), "type": 1, "allow": str(1 << 52), "deny": "0"}


def test_permissions_are_read_from_strings_and_from_numbers() -> None:
    body = codec.decode(b'{"allow": "1024", "deny": 2048, "type": 0}', channel_overwrites.SetChannelPermissionOverwrite)
    assert (body.allow, body.deny) == (1024, 2048)


def test_absent_message_parts_are_omitted_and_not_null() -> None:
    keys = json.loads(codec.encode(sample(messages.Message, include_optional=False))).keys()
    assert not keys & {"poll", "interaction", "thread", "referenced_message", "reactions", "nonce"}


def test_absent_and_null_differ_in_a_message_edit() -> None:
    body = codec.decode(b'{"content": null}', messages.UpdateMessage)
    assert body.content is None
    assert body.embeds is UNSET


def test_a_channel_of_any_kind_decodes_before_its_type_is_known() -> None:
    thread = sample(channels.Thread, include_optional=True)
    channel = codec.decode(codec.encode(thread), channels.AnyChannel)
    assert channel.thread_metadata == thread.thread_metadata
    assert channel.position == thread.position


def test_mentions_in_a_dispatched_message_keep_their_member() -> None:
    decoded = codec.decode(
        codec.encode(sample(messages.DispatchedMessage, include_optional=True)), messages.DispatchedMessage
    )
    assert decoded.mentions[0].member is not UNSET


def test_an_attachment_is_referenced_by_index_or_id() -> None:
    body = codec.decode(b'{"attachments": [{"id": 0}, {"id": "1234567890123456789"}]}', messages.CreateMessage)
    assert isinstance(body.attachments, list)
    assert [entry.id for entry in body.attachments] == [0, 1234567890123456789]


def test_unknown_keys_of_a_body_are_ignored() -> None:
    body = codec.decode(b'{"content": "hi", "embed": {}, "mobile_network_type": "unknown"}', messages.CreateMessage)
    assert body.content == "hi"


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (messages.CreateMessage, {"content": "x" * 2001}),
        (messages.CreateMessage, {"embeds": [{}] * 11}),
        (messages.CreateMessage, {"embeds": [{"title": "x" * 257}]}),
        (messages.CreateMessage, {"embeds": [{"description": "x" * 4097}]}),
        (messages.CreateMessage, {"embeds": [{"fields": [{"name": "x" * 257, "value": "v"}]}]}),
        (messages.CreateMessage, {"embeds": [{"fields": [{"name": "n", "value": "x" * 1025}]}]}),
        (messages.CreateMessage, {"embeds": [{"footer": {"text": "x" * 2049}}]}),
        (messages.CreateMessage, {"embeds": [{"author": {"name": "x" * 257}}]}),
        (messages.CreateMessage, {"embeds": [{"color": 0x1000000}]}),
        (messages.CreateMessage, {"sticker_ids": ["1", "2", "3", "4"]}),
        (messages.CreateMessage, {"attachments": [{"id": 0, "description": "x" * 1025}]}),
        (messages.CreateMessage, {"allowed_mentions": {"users": ["1"] * 101}}),
        (messages.CreateMessage, {"poll": {"question": {"text": "x" * 301}, "answers": [{"poll_media": {}}]}}),
        (messages.CreateMessage, {"poll": {"question": {"text": "x"}, "answers": [{"poll_media": {}}] * 11}}),
        (channels.CreateGuildChannel, {"name": ""}),
        (channels.CreateGuildChannel, {"name": "x" * 101}),
        (channels.CreateGuildChannel, {"name": "x", "rate_limit_per_user": 21601}),
        (channels.CreateGuildChannel, {"name": "x", "available_tags": [{"name": "t" * 21}]}),
        (channels.UpdateChannel, {"auto_archive_duration": 61}),
        (channels.UpdateChannel, {"applied_tags": ["1"] * 6}),
        (threads.CreateThread, {"auto_archive_duration": 60}),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else value.__name__,
)
def test_invalid_bodies_are_rejected(model: type[Struct], body: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        codec.decode(json.dumps(body), model)


def test_queries_are_read_from_strings() -> None:
    messages_query = codec.convert({"before": str(WIDE_ID), "limit": "7"}, messages.ListMessages, strict=False)
    reactions_query = codec.convert({"after": "5", "type": "1"}, reactions.ListReactions, strict=False)
    pins_query = codec.convert({"before": "2026-01-02T03:04:05.678000+00:00"}, pins.ListPins, strict=False)
    members_query = codec.convert({"with_member": "true"}, threads.ListThreadMembers, strict=False)
    assert (messages_query.before, messages_query.limit, messages_query.after) == (MessageId(WIDE_ID), 7, UNSET)
    assert (reactions_query.after, reactions_query.type) == (UserId(5), ReactionType.BURST)
    assert isinstance(pins_query.before, datetime)
    assert codec.milliseconds(pins_query.before) == 1_767_323_045_678
    assert members_query.with_member is True


def test_direct_message_events_need_other_intents() -> None:
    assert messages.MESSAGE_CREATE.intents == Intents.GUILD_MESSAGES
    assert messages.MESSAGE_CREATE.dm_intents == Intents.DIRECT_MESSAGES
    assert pins.CHANNEL_PINS_UPDATE.intents == Intents.GUILDS
    assert pins.CHANNEL_PINS_UPDATE.dm_intents == Intents.DIRECT_MESSAGES
    assert typing.TYPING_START.dm_intents == Intents.DIRECT_MESSAGE_TYPING


def test_a_unicode_emoji_has_a_null_id() -> None:
    assert json.loads(codec.encode(emojis.PartialEmoji(id=None, name="🔥"))) == {"id": None, "name": "🔥"}
    assert codec.decode(b'{"id": "5", "name": null}', emojis.PartialEmoji).id == EmojiId(5)


def test_an_operation_fills_its_path() -> None:
    operation = reactions.DELETE_USER_MESSAGE_REACTION
    assert operation.parameters == ("channel_id", "message_id", "emoji_name", "user_id")
    url = operation.url(channel_id=ChannelId(1), message_id=MessageId(2), emoji_name="a:3", user_id=UserId(4))
    assert url == "/channels/1/messages/2/reactions/a:3/4"


MODELS_BY_SCHEMA: dict[str, type[Struct]] = {
    "GuildChannelResponse": channels.Channel,
    "PrivateChannelResponse": channels.PrivateChannel,
    "ThreadResponse": channels.Thread,
    "ThreadMetadataResponse": channels.ThreadMetadata,
    "ThreadMemberResponse": thread_membership.ThreadMember,
    "ForumTagResponse": forum_settings.ForumTag,
    "DefaultReactionEmojiResponse": forum_settings.DefaultReaction,
    "ChannelPermissionOverwriteResponse": channel_overwrites.Overwrite,
    "CreatedThreadResponse": threads.CreatedThread,
    "ThreadsResponse": threads.ThreadList,
    "MessageResponse": messages.Message,
    "BasicMessageResponse": messages.Message,
    "MinimalContentMessageResponse": messages.MessageContent,
    "MessageSnapshotResponse": messages.MessageSnapshot,
    "MessageReferenceResponse": messages.MessageReference,
    "MessageCallResponse": message_parts.MessageCall,
    "MessageActivityResponse": message_parts.MessageActivity,
    "BasicApplicationResponseWithBot": message_parts.MessageApplication,
    "MessageInteractionResponse": message_parts.MessageInteraction,
    "ApplicationCommandInteractionMetadataResponse": message_parts.InteractionMetadata,
    "MessageMentionChannelResponse": message_parts.MentionedChannel,
    "MessageRoleSubscriptionDataResponse": message_parts.RoleSubscription,
    "MessageLobbyMemberResponse": message_parts.MessageLobbyMember,
    "MessageAttachmentResponse": attachments.Attachment,
    "MessageEmbedResponse": embeds.Embed,
    "MessageEmbedFieldResponse": embeds.EmbedField,
    "MessageEmbedAuthorResponse": embeds.EmbedAuthor,
    "MessageEmbedFooterResponse": embeds.EmbedFooter,
    "MessageEmbedProviderResponse": embeds.EmbedProvider,
    "MessageEmbedImageResponse": embeds.EmbedMedia,
    "MessageReactionResponse": reactions.Reaction,
    "MessageReactionEmojiResponse": emojis.PartialEmoji,
    "MessageReactionCountDetailsResponse": reactions.ReactionCountDetails,
    "PinnedMessagesResponse": pins.PinnedMessages,
    "PinnedMessageResponse": pins.PinnedMessage,
    "EmojiResponse": emojis.Emoji,
    "MessageStickerItemResponse": stickers.StickerItem,
    "PollResponse": polls.Poll,
    "PollMediaResponse": polls.PollMedia,
    "PollAnswerResponse": polls.PollAnswer,
    "PollResultsResponse": polls.PollResults,
    "PollResultsEntryResponse": polls.PollAnswerCount,
    "SoundboardSoundResponse": soundboard.SoundboardSound,
    "StageInstanceResponse": stage_instances.StageInstance,
    "StageScheduledEventResponse": scheduled_events.ScheduledEvent,
    "RecurrenceRuleResponse": scheduled_events.RecurrenceRule,
    "GuildScheduledEventExceptionResponse": scheduled_events.ScheduledEventException,
}


def public_schema(name: str) -> dict[str, Any]:
    """Return the schema of a model of the public API."""
    schema: dict[str, Any] = public_api.document()["components"]["schemas"][name]
    return schema


def is_nullable(schema: dict[str, Any]) -> bool:
    schema_type = schema.get("type")
    alternatives = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return (
        "null" in schema_type
        if isinstance(schema_type, list)
        else schema_type == "null" or any(is_nullable(alternative) for alternative in alternatives)
    )


@pytest.mark.parametrize("name", MODELS_BY_SCHEMA)
def test_responses_have_the_keys_that_the_public_api_requires(name: str) -> None:
    always_sent_keys = {
        field.name for field in msgspec.structs.fields(MODELS_BY_SCHEMA[name]) if field.default is not UNSET
    }
    assert set(public_schema(name).get("required", ())) <= always_sent_keys


@pytest.mark.parametrize("name", MODELS_BY_SCHEMA)
def test_responses_are_nullable_only_where_the_public_api_is(name: str) -> None:
    hints = get_type_hints(MODELS_BY_SCHEMA[name])
    properties = public_schema(name)["properties"]
    nullable_keys = {key for key in properties.keys() & hints.keys() if NoneType in get_args(hints[key])}
    assert [key for key in nullable_keys if not is_nullable(properties[key])] == []
