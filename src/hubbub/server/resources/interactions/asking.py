"""From what a person sends to what the app hears: each kind of interaction is checked against what the app offered."""

from typing import Final, NamedTuple

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    ApplicationIntegrationType,
    CommandHandlerType,
    CommandOptionType,
    CommandType,
    ComponentType,
    InteractionContextType,
    InteractionType,
    MessageType,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import GuildId, InteractionId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.resources import messages
from hubbub.server.resources.commands import Permitted
from hubbub.server.resources.interactions import options, rules, showing, store, submissions
from hubbub.server.resources.interactions.resolving import Resolver
from hubbub.server.resources.interactions.rules import Met
from hubbub.server.resources.interactions.store import App, Asked, InteractionRow
from hubbub.server.resources.messages import Author, Interacted, MessageRow

_MENUS: Final = (CommandType.USER, CommandType.MESSAGE)


class Question(NamedTuple):
    """What is asked, ready to be heard."""

    type: int
    data: wire.InteractionData
    asked: Asked
    owners: dict[str, Snowflake]
    message: Message | None = None
    launches: bool = False
    """That the platform answers itself: the command launches an activity."""


class Scene(NamedTuple):
    """Where something is asked, and of whom."""

    call: Call
    interaction_id: InteractionId
    application: App
    here: ChannelAccess
    place: InteractionContextType
    bot: ChannelAccess | None
    """The bot's standing in the channel, if it is in the guild."""
    person: Author
    """Who asks."""
    let_in: dict[str, Snowflake]
    """Who brought the application here, by installation context."""
    sells: bool
    """Whether the application has something that one can own."""
    watched: bool
    """Whether the job waits that gives up what is asked now."""
    there: store.Place
    command: Permitted | None
    """The command that is run."""

    def resolver(self) -> Resolver:
        """What looks up ids here."""
        return Resolver(self.call, self.here, None if self.bot is None else self.bot.guild, self.person)

    def interacted(self, kind: int, owners: dict[str, Snowflake]) -> Interacted:
        """What answers will show of it."""
        return Interacted(
            id=Snowflake(self.interaction_id), type=kind, user_id=UserId(self.call.user_id), owners=owners
        )

    def asked(self, interacted: Interacted, body: wire.Asking) -> Asked:
        """What answers need to know of it."""
        return Asked(
            interacted=interacted,
            ephemeral=rules.is_muted(self.call, self.here, interacted.owners),
            session_id=body.session_id or "",
            nonce=body.nonce if body.nonce is not UNSET else None,
        )


def scene(call: Call, met: Met) -> Scene:
    """Where the caller asks."""
    reached, here, bot, application, person = met
    installed = set(reached.installed)
    place = rules.context(application, here.channel, rules.recipients(call, here.channel))
    if bot is not None:
        installed.add(ApplicationIntegrationType.GUILD_INSTALL)
    let_in = rules.owners(installed, here.channel.guild_id, call.user_id, place)
    return Scene(
        call,
        call.new_id(InteractionId),
        application,
        here,
        place,
        bot,
        person,
        let_in,
        reached.sells,
        reached.watched,
        reached.there,
        reached.command,
    )


def run_command(scene: Scene, body: wire.RunCommand | wire.CompleteCommand) -> Question:
    """A command is run, or typed."""
    call, given = scene.call, body.data
    typing = isinstance(body, wire.CompleteCommand)
    row, said, owners = rules.require_command(
        call, scene.application, scene.here, scene.place, scene.let_in, scene.command
    )
    if given.version and given.version != row.version:
        raise errors.invalid("data", *errors.command_outdated())
    form = errors.FormErrors()
    if typing and row.type != CommandType.CHAT_INPUT:
        raise errors.invalid("type", *errors.choices([int(InteractionType.APPLICATION_COMMAND)]))
    filled = options.read(said.options, given.options or (), form, typing=typing)
    if typing and not form and (filled.focused is None or not filled.focused.autocomplete):
        form.add(("data", "options"), *errors.required())
    resolver = scene.resolver()
    references = filled.references if not typing else [each for each in filled.references if each.kind != "attachment"]
    if references:
        resolver.look_up(references, form, given.attachments or ())
    form.raise_if_any()
    _put_attachments(filled.options, resolver)
    kind = InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE if typing else InteractionType.APPLICATION_COMMAND
    interacted = scene.interacted(kind, owners)
    interacted.name = " ".join((row.name, *filled.path))
    asked = scene.asked(interacted, body)
    asked.kind = int(MessageType.CONTEXT_MENU_COMMAND if row.type in _MENUS else MessageType.CHAT_INPUT_COMMAND)
    if filled.focused is not None:
        # What is offered must be of the type that is typed.
        asked.kind = filled.focused.type
    data = wire.InteractionData(id=str(int(row.id)), name=row.name, type=row.type)
    if row.scope is not None:
        data.guild_id = GuildId(row.scope)
    if filled.options:
        data.options = filled.options
    if row.type in _MENUS:
        _target(scene, row.type, given.target_id or None, data, interacted, asked, resolver)
    if resolver.found != wire.Resolved():
        data.resolved = resolver.found
    launches = (
        row.type == CommandType.PRIMARY_ENTRY_POINT and said.handler == CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY
    )
    return Question(int(kind), data, asked, owners, launches=launches)


def _put_attachments(values: list[wire.OptionValue], resolver: Resolver) -> None:
    """Say the ids of files where the person could only say which of the request's they are."""
    for value in values:
        if value.type == CommandOptionType.ATTACHMENT and isinstance(value.value, str):
            value.value = str(int(resolver.uploaded.get(int(value.value), value.value)))
        if value.options:
            _put_attachments(value.options, resolver)


def _target(
    scene: Scene,
    kind: int,
    target_id: Snowflake | None,
    data: wire.InteractionData,
    interacted: Interacted,
    asked: Asked,
    resolver: Resolver,
) -> None:
    """What a context menu was opened on."""
    at = ("data", "target_id")
    if target_id is None:
        raise errors.invalid(at, *errors.required())
    data.target_id = target_id
    if kind == CommandType.USER:
        if not resolver.user(target_id):
            raise errors.invalid(at, *errors.not_snowflake(target_id))
        interacted.target_user_id = UserId(target_id)
        return
    row = messages.find(scene.call.tx, scene.here.channel.id, target_id)
    # The app is shown the message whole: nobody hands over what they may not read themselves.
    if row is None or not messages.can_read_history(scene.here):
        raise errors.UNKNOWN_MESSAGE()
    shown = showing.message(scene.call, row, scene.application, scene.here.channel.guild_id)
    resolver.found.messages = {str(int(row.id)): shown}
    interacted.target_message_id = MessageId(row.id)
    asked.refers_to = MessageId(row.id)


def use_component(scene: Scene, body: wire.UseComponent) -> Question:
    """A component of the app's message is used."""
    call = scene.call
    row = find_message(call, scene.here.channel.id, body.message_id)
    application = scene.application
    own = application.id in (row.application_id, row.webhook_id) or row.author_id == application.bot_id
    if not own or (row.ephemeral and call.user_id not in messages.views.extra(row).seen_by):
        raise errors.UNKNOWN_MESSAGE()
    component = None
    if not row.flags & MessageFlags.LOADING:
        component = submissions.find(messages.views.components(row), body.data.custom_id, body.data.component_type)
    if component is None:
        raise errors.invalid(("data", "custom_id"), *errors.component_type())
    form = errors.FormErrors()
    values, references = submissions.chosen(component, body.data.values or None, form)
    resolver = scene.resolver()
    resolver.look_up(references, form)
    form.raise_if_any()
    if row.ephemeral:
        # Whoever uses it can be answered as long as by any other.
        messages.prolong_ephemeral(call.tx, row, call.now + messages.EPHEMERAL_MS)
    owners = scene.let_in
    source = messages.views.extra(row).interaction
    if not owners and source is not None:
        # Somebody else brought the app along, and its message is there for all.
        owners = source.owners
    kind = InteractionType.MESSAGE_COMPONENT
    interacted = scene.interacted(kind, owners)
    interacted.interacted_message_id = MessageId(row.id)
    asked = _under(scene.asked(interacted, body), row)
    data = wire.InteractionData(id=component["id"], custom_id=component["custom_id"], component_type=component["type"])
    if values is not None:
        data.values = values
    if resolver.found != wire.Resolved():
        data.resolved = resolver.found
    shown = showing.message(call, row, application, scene.here.channel.guild_id)
    return Question(int(kind), data, asked, owners, message=shown)


def submit_modal(scene: Scene, body: wire.SubmitModal) -> Question:
    """A modal is submitted that the app showed to the caller."""
    call = scene.call
    opened = _opened(scene, body)
    shown = store.modal(opened)
    if shown is None or shown.custom_id != body.data.custom_id:
        raise errors.UNKNOWN_INTERACTION()
    form = errors.FormErrors()
    told, references = submissions.submitted(shown.components, body.data.components, form)
    resolver = scene.resolver()
    resolver.look_up(references, form, body.data.attachments or ())
    form.raise_if_any()
    for component in messages.each_component(told):
        if component["type"] == ComponentType.FILE_UPLOAD:
            component["values"] = [str(int(resolver.uploaded[int(each)])) for each in component["values"]]
    before = store.asked(opened)
    owners = before.interacted.owners
    kind = InteractionType.MODAL_SUBMIT
    interacted = scene.interacted(kind, owners)
    interacted.triggering = before.interacted
    interacted.triggering.name = None
    asked = scene.asked(interacted, body)
    message = None
    if before.message_id is not None:
        row = find_message(call, scene.here.channel.id, before.message_id)
        asked = _under(asked, row)
        message = showing.message(call, row, scene.application, scene.here.channel.guild_id)
    data = wire.InteractionData(custom_id=shown.custom_id, components=told)
    if resolver.found != wire.Resolved():
        data.resolved = resolver.found
    return Question(int(kind), data, asked, owners, message=message)


def _opened(scene: Scene, body: wire.SubmitModal) -> InteractionRow:
    """The interaction that was answered with the modal."""
    row = store.find(scene.call.tx, body.data.id)
    if (
        row is None
        or row.user_id != scene.call.user_id
        or row.application_id != scene.application.id
        or row.channel_id != scene.here.channel.id
        or scene.call.now - row.created_ms > wire.TOKEN_MS
    ):
        raise errors.UNKNOWN_INTERACTION()
    return row


def _under(asked: Asked, row: MessageRow) -> Asked:
    """The answer is shown under the message whose component was used, where others see that message too."""
    asked.message_id = MessageId(row.id)
    asked.ephemeral_message = row.ephemeral
    if not row.ephemeral:
        asked.kind = int(MessageType.REPLY)
        asked.refers_to = MessageId(row.id)
    return asked


def find_message(call: Call, channel_id: int, message_id: int) -> MessageRow:
    """A message of a channel, also one that only some know of; raises UNKNOWN_MESSAGE."""
    row = messages.find(call.tx, channel_id, message_id)
    if row is None:
        row = messages.find_ephemeral(call.tx, channel_id, message_id, call.now)
    if row is None:
        raise errors.UNKNOWN_MESSAGE()
    return row
