"""Asking apps and answering people: write, publish."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import AllowedMentionType, CommandOptionType, InteractionCallbackType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, GuildId, InteractionId, MessageId, Snowflake
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.messages import (
    AllowedMentions,
    CreateMessage,
    Message,
    MessageReference,
    UpdateMessage,
)
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import commands, messages
from hubbub.server.resources.interactions import (
    asking,
    deadlines,
    endpoints,
    launching,
    rules,
    showing,
    speakers,
    store,
    views,
)
from hubbub.server.resources.interactions.asking import Question, Scene
from hubbub.server.resources.interactions.speakers import Speaker
from hubbub.server.resources.interactions.store import Answering, App, Asked, InteractionRow, Modal
from hubbub.server.resources.messages import MessageRow, Response

UNUSABLE: Final = 1
"""Why an interaction failed: what was answered is no answer."""
TOO_LATE: Final = 2
"""Nobody answered in time."""

_SETTABLE: Final = MessageFlags.SETTABLE
_DEFERRED: Final = MessageFlags.LOADING


# Asking


def deliver(scene: Scene, question: Question) -> None:
    """Let an app hear what is asked of it, and the person that it does."""
    call, application, here = scene.call, scene.application, scene.here
    token = store.new_token(scene.interaction_id)
    row = InteractionRow(
        id=scene.interaction_id,
        application_id=application.id,
        type=question.type,
        user_id=call.user_id,
        channel_id=here.channel.id,
        guild_id=here.channel.guild_id,
        asked=json.encode(question.asked).decode(),
    )
    store.insert(call.tx, row, token, call.now)
    note = _note(row, question.asked)
    _tell(call, row, question.asked, wire.INTERACTION_CREATE, note)
    if question.launches:
        # webhooks-and-interactions.md 5.1: the platform launches the activity itself, and the app is not asked.
        _launch(call, row, question.asked, application)
        return
    shown = views.interaction(scene, question, token)
    if not scene.watched:
        deadlines.watch(call)
    if endpoints.has_one(application):
        endpoints.leave(call, row, token, shown)
        return
    bot_id = int(application.bot_id or 0)
    # Among its sessions the one of the guild's shard (gateway.md 4.2), and nobody of the guild's has to be looked at.
    shard_of = here.channel.guild_id if scene.bot is not None else None
    call.tx.emit(wire.INTERACTION_CREATE, shown, Audience.of_users(bot_id, shard_of=shard_of))


def _launch(call: Call, row: InteractionRow, asked: Asked, application: App) -> None:
    """Do in an app's place what its entry point is for, and say so; or tell the person why not."""
    speaker = speakers.speaker(call, application, row)
    try:
        if not asked.ephemeral:
            speakers.require_unlocked(speaker.here)
        launching.launch(call, row, asked, application)
    except errors.ApiError as error:
        store.answer(call.tx, row.id, store.FAILED, None)
        _tell_failed(call, row, launching.reason(error))
        return
    said = _respond(call, row, asked, speaker, launching.announcement(row, application)).message
    kind = InteractionCallbackType.LAUNCH_ACTIVITY
    store.answer(call.tx, row.id, kind, None if said is None else said.id)
    _tell(call, row, asked, wire.INTERACTION_SUCCESS, _note(row, asked))


def expire(call: Call, asked_before_ms: int) -> None:
    """Tell people of what nobody answered in time."""
    # Ids may run a little ahead of the clock that said when this is due.
    since_ms = asked_before_ms - 4 * deadlines.TOGETHER_MS
    for row in store.fail(call.tx, Snowflake.at(since_ms), Snowflake.at(asked_before_ms)):
        _tell_failed(call, row, TOO_LATE)


def fail(call: Call, interaction_id: int, problem: str, reason_code: int) -> None:
    """Give up what an application's own address did not answer, or not as it must."""
    row = store.find(call.tx, interaction_id)
    if row is not None and store.fail_one(call.tx, interaction_id, problem):
        _tell_failed(call, row, reason_code)


def _tell_failed(call: Call, row: InteractionRow, reason_code: int) -> None:
    asked = store.asked(row)
    failed = wire.InteractionFailed(
        id=InteractionId(row.id), nonce=UNSET if asked.nonce is None else asked.nonce, reason_code=reason_code
    )
    _tell(call, row, asked, wire.INTERACTION_FAILURE, failed)


def _note(row: InteractionRow, asked: Asked) -> wire.InteractionNote:
    return wire.InteractionNote(id=InteractionId(row.id), nonce=UNSET if asked.nonce is None else asked.nonce)


def _tell(call: Call, row: InteractionRow, asked: Asked, event: Event[Any], payload: wire.InteractionNote) -> None:
    """Tell the person what becomes of what they asked."""
    call.tx.emit(event, payload, Audience.of_users(row.user_id, session_id=asked.session_id or None))


# Answering


class Answered(msgspec.Struct):
    """What an answer made."""

    message: Message | None = None
    ephemeral: bool = False
    activity_id: str | None = None


def answer(call: Call, found: Answering, asked: Asked, body: wire.Callback) -> Answered:
    """Answer an interaction first, in whatever way."""
    row, application = found.row, found.application
    kind = int(body.__struct_config__.tag)  # type: ignore[arg-type]
    made, shown = Answered(), None
    original_id: int | None = None
    note: tuple[Event[Any], wire.InteractionNote] = (wire.INTERACTION_SUCCESS, _note(row, asked))
    if isinstance(body, wire.MessageCallback):
        with errors.below("data"):
            made = _respond(call, row, asked, speakers.first_speaker(call, found), body.data or wire.CallbackMessage())
    elif isinstance(body, wire.DeferredMessageCallback):
        flags = (body.data.flags or 0) & MessageFlags.EPHEMERAL if body.data else 0
        speaker = speakers.first_speaker(call, found)
        made = _respond(call, row, asked, speaker, wire.CallbackMessage(flags=flags), flags=_DEFERRED)
    elif isinstance(body, wire.PremiumCallback):
        made = _upsell(call, row, asked, application)
    elif isinstance(body, wire.UpdateCallback):
        original_id = asked.message_id
        with errors.below("data"):
            made.message = _update(call, row, asked, application, body.data or wire.CallbackMessage())
        made.ephemeral = asked.ephemeral_message
    elif isinstance(body, wire.DeferredUpdateCallback):
        original_id = asked.message_id
    elif isinstance(body, wire.AutocompleteCallback):
        note = _choices(row, asked, body.data)
    elif isinstance(body, wire.ModalCallback):
        shown = _checked(call, body.data)
        note = _modal(row, asked, application, body.data)
    elif isinstance(body, wire.LaunchCallback):
        made.activity_id = launching.launch(call, row, asked, application)
    if made.message is not None:
        original_id = made.message.id
    if not store.answer(call.tx, row.id, kind, original_id, shown):
        raise errors.INTERACTION_ALREADY_ACKNOWLEDGED()
    _tell(call, row, asked, *note)
    return made


def _respond(
    call: Call,
    row: InteractionRow,
    asked: Asked,
    speaker: Speaker,
    body: wire.CallbackMessage,
    *,
    flags: int = 0,
) -> Answered:
    """Answer with a message, or with the promise of one."""
    here, author = speaker.here, speaker.author
    # That something is promised is ours to say.
    wanted = (body.flags or 0) & MessageFlags.EPHEMERAL | flags
    if asked.ephemeral:
        wanted |= MessageFlags.EPHEMERAL
    if not wanted & MessageFlags.EPHEMERAL:
        speakers.require_unlocked(here)
    response = Response(
        interaction=asked.interacted,
        kind=asked.kind,
        reference=_reference(here.channel, asked.refers_to),
        flags=wanted,
        seen_by=(row.user_id, author.user.id) if author.known else (row.user_id,),
        person=speaker.person,
        held=speaker.held,
    )
    said = messages.create(call, here, _created(body), author=author, response=response)
    return Answered(message=said, ephemeral=bool(wanted & MessageFlags.EPHEMERAL))


def _upsell(call: Call, row: InteractionRow, asked: Asked, application: App) -> Answered:
    """Tell the person alone that what they asked is for those who pay."""
    here = speakers.standing(call, application, row)
    response = Response(
        interaction=asked.interacted,
        kind=int(MessageType.INTERACTION_PREMIUM_UPSELL),
        flags=MessageFlags.EPHEMERAL,
        seen_by=_seen_by(row, application),
    )
    author = speakers.author(call, application, row, here.channel)
    return Answered(
        message=messages.create(call, here, CreateMessage(), author=author, response=response), ephemeral=True
    )


def _update(call: Call, row: InteractionRow, asked: Asked, application: App, body: wire.CallbackMessage) -> Message:
    """Change the message whose component was used."""
    if body.poll:
        raise errors.POLL_CANNOT_EDIT()
    message = asking.find_message(call, row.channel_id, asked.message_id or 0)
    change = UpdateMessage(
        content=body.content,
        embeds=body.embeds,
        flags=body.flags,
        allowed_mentions=body.allowed_mentions,
        components=body.components,
        attachments=body.attachments,
    )
    return _edit(call, row, application, message, change)


def _edit(call: Call, row: InteractionRow, application: App, message: MessageRow, change: UpdateMessage) -> Message:
    here = speakers.standing(call, application, row)
    speakers.require_changeable(here, message)
    if message.flags & MessageFlags.IS_VOICE_MESSAGE:
        raise errors.VOICE_MESSAGE_CANNOT_EDIT()
    if messages.views.extra(message).poll is not None:
        raise errors.POLL_CANNOT_EDIT()
    if not change.allowed_mentions and (change.content is not UNSET or change.components is not UNSET):
        change.allowed_mentions = _users_only()
    return messages.edit(call, here, speakers.author(call, application, row, here.channel), message, change)


def _choices(row: InteractionRow, asked: Asked, body: wire.CallbackChoices) -> tuple[Event[Any], wire.InteractionNote]:
    form = errors.FormErrors()
    choices = body.choices or []
    kinds = {CommandOptionType.STRING: str, CommandOptionType.INTEGER: int, CommandOptionType.NUMBER: (int, float)}
    wanted = kinds[CommandOptionType(asked.kind)] if asked.kind in kinds else (str, int, float)
    for index, choice in enumerate(choices):
        at = ("data", "choices", index, "value")
        choice.value = commands.as_kind(choice.value, asked.kind)
        if not isinstance(choice.value, wanted):  # type: ignore[arg-type]
            wrong = errors.not_string(choice.value) if wanted is str else errors.not_number(choice.value)
            form.add(at, *wrong)
        elif isinstance(choice.value, str) and len(choice.value) > wire.AUTOCOMPLETE_VALUE_MAX:
            form.add(at, *errors.max_length(wire.AUTOCOMPLETE_VALUE_MAX))
    form.raise_if_any()
    told = wire.AutocompleteResponse(
        id=InteractionId(row.id), nonce=UNSET if asked.nonce is None else asked.nonce, choices=choices
    )
    return wire.APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE, told


def _checked(call: Call, body: wire.CallbackModal) -> Modal:
    form = errors.FormErrors()
    named = messages.check_modal(body.components, form, now=call.now, path=("data",))
    messages.require_emojis(call, named, form)
    form.raise_if_any()
    return Modal(custom_id=body.custom_id, components=body.components)


def _modal(
    row: InteractionRow, asked: Asked, application: App, body: wire.CallbackModal
) -> tuple[Event[Any], wire.InteractionNote]:
    told = wire.ModalCreated(
        id=InteractionId(row.id),
        nonce=UNSET if asked.nonce is None else asked.nonce,
        channel_id=ChannelId(row.channel_id),
        application=showing.application(application),
        custom_id=body.custom_id,
        title=body.title,
        components=body.components,
    )
    return wire.INTERACTION_MODAL_CREATE, told


# Going on


def follow_up(call: Call, row: InteractionRow, application: App, body: wire.CallbackMessage) -> Message:
    """Say more, after the first answer; right after the promise of one, keep the promise."""
    asked = store.asked(row)
    original = find_original(call, row)
    if original is not None and original.flags & MessageFlags.LOADING:
        return fill(call, row, application, original, body)
    rules.require_follow_up(call, row, asked)
    store.count_follow_up(call.tx, row.id)
    asked.ephemeral = asked.ephemeral or rules.is_muted_since(call, row, asked.interacted.owners)
    asked.interacted.name = None
    asked.interacted.original_id = None if row.original_id is None else MessageId(row.original_id)
    asked.kind, asked.refers_to = int(MessageType.DEFAULT), None
    if original is not None and not original.ephemeral:
        asked.kind, asked.refers_to = int(MessageType.REPLY), MessageId(original.id)
    made = _respond(call, row, asked, speakers.speaker(call, application, row), body)
    assert made.message is not None
    return made.message


def fill(call: Call, row: InteractionRow, application: App, message: MessageRow, body: wire.CallbackMessage) -> Message:
    """Say what was promised."""
    here = speakers.standing(call, application, row)
    speakers.require_changeable(here, message)
    return messages.fill(call, here, speakers.author(call, application, row, here.channel), message, _created(body))


def change(call: Call, row: InteractionRow, application: App, message: MessageRow, change: UpdateMessage) -> Message:
    """Say something else instead."""
    return _edit(call, row, application, message, change)


def delete(call: Call, row: InteractionRow, application: App, message: MessageRow) -> None:
    """Take an answer back."""
    here = speakers.standing(call, application, row)
    speakers.require_open(here, message)
    messages.delete(call, here, message)
    if message.id == row.original_id:
        store.forget_original(call.tx, row.id)


def find_original(call: Call, row: InteractionRow) -> MessageRow | None:
    """The message of the first answer, or the one that it changed, or None."""
    if row.original_id is None:
        return None
    found = messages.find(call.tx, row.channel_id, row.original_id)
    return found or messages.find_ephemeral(call.tx, row.channel_id, row.original_id, call.now)


def _created(body: wire.CallbackMessage) -> CreateMessage:
    return CreateMessage(
        content=body.content,
        embeds=body.embeds,
        allowed_mentions=body.allowed_mentions or _users_only(),
        components=body.components,
        attachments=body.attachments,
        flags=(body.flags or 0) & _SETTABLE,
        poll=body.poll,
        tts=body.tts,
    )


def _users_only() -> AllowedMentions:
    """http.md 3.4: without a word of the app, answers notify users and nobody else."""
    return AllowedMentions(parse=[AllowedMentionType.USERS])


def _reference(channel: ChannelRef, message_id: int | None) -> MessageReference | None:
    if message_id is None:
        return None
    return MessageReference(
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message_id),
        guild_id=UNSET if channel.guild_id is None else GuildId(channel.guild_id),
    )


def _seen_by(row: InteractionRow, application: App) -> tuple[int, ...]:
    return (row.user_id, *(() if application.bot_id is None else (int(application.bot_id),)))
