"""Validate a user's input against the commands, components and modals of the application, and build interactions."""

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
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.play.commands.joined_commands import CommandWithPermissions
from hubbub.server.play.interactions import rules, store, views
from hubbub.server.play.interactions.requests import component_values, invocation_rules, options
from hubbub.server.play.interactions.requests.resolved_data import Resolver
from hubbub.server.play.interactions.store import InteractionApplication, InteractionRow, ResponseState
from hubbub.server.talk import messages
from hubbub.server.talk.messages import Author, MessageRow
from hubbub.server.talk.messages.content import StoredInteraction

_CONTEXT_MENU_TYPES: Final = (CommandType.USER, CommandType.MESSAGE)


class PreparedInteraction(NamedTuple):
    """A validated interaction, ready for delivery."""

    type: int
    """Value of `InteractionType`."""
    data: wire.InteractionData
    state: ResponseState
    installation_owners: dict[str, Snowflake]
    """IDs of the guild and the user who installed the application, by integration type."""
    message: Message | None = None
    """The message whose component was used, or None."""
    launches_activity: bool = False
    """Whether the platform responds itself because the command launches an activity."""


class Invocation(NamedTuple):
    """The caller, application and channel of an interaction being created."""

    call: Call
    interaction_id: InteractionId
    application: InteractionApplication
    channel_access: ChannelAccess
    """The caller's permissions in the channel."""
    context_type: InteractionContextType
    bot_access: ChannelAccess | None
    """The bot's permissions in the channel, or None if it is not in the guild."""
    invoker: Author
    """The invoking user as a message author."""
    installation_owners: dict[str, Snowflake]
    """Owners of the application's installations that apply in the channel, by integration type."""
    has_skus: bool
    """Whether the application has SKUs; otherwise it has no entitlements to load."""
    is_timeout_scheduled: bool
    """Whether the timeout job for interactions created at this time is already scheduled."""
    location: store.InvocationLocation
    command: CommandWithPermissions | None
    """The command being run, or None."""

    def resolver(self) -> Resolver:
        """Return a resolver for the IDs that this interaction refers to."""
        return Resolver(
            self.call, self.channel_access, None if self.bot_access is None else self.bot_access.guild, self.invoker
        )

    def interaction_metadata(self, kind: int, owners: dict[str, Snowflake]) -> StoredInteraction:
        """Return the interaction metadata that response messages show."""
        return StoredInteraction(
            id=Snowflake(self.interaction_id), type=kind, user_id=UserId(self.call.user_id), owners=owners
        )

    def response_state(self, interacted: StoredInteraction, body: wire.InteractionRequest) -> ResponseState:
        """Return the state that responses to this interaction need."""
        return ResponseState(
            interacted=interacted,
            ephemeral=rules.is_ephemeral_only(self.call, self.channel_access, interacted.owners),
            session_id=body.session_id or "",
            nonce=body.nonce if body.nonce is not UNSET else None,
        )


def build_invocation(call: Call, body: wire.InteractionRequest) -> Invocation:
    """Load and check the channel, the application and the caller of a request."""
    loaded, channel_access, bot_access, application, invoker = invocation_rules.require_invocation_access(call, body)
    installation_types = set(loaded.installation_types)
    context_type = invocation_rules.resolve_context_type(
        application, channel_access.channel, invocation_rules.recipient_ids(call, channel_access.channel)
    )
    if bot_access is not None:
        installation_types.add(ApplicationIntegrationType.GUILD_INSTALL)
    owners = invocation_rules.installation_owners(
        installation_types, channel_access.channel.guild_id, call.user_id, context_type
    )
    return Invocation(
        call,
        call.new_id(InteractionId),
        application,
        channel_access,
        context_type,
        bot_access,
        invoker,
        owners,
        loaded.has_skus,
        loaded.is_timeout_scheduled,
        loaded.location,
        loaded.command,
    )


def run_command(invocation: Invocation, body: wire.RunCommand | wire.AutocompleteCommand) -> PreparedInteraction:
    """Prepare a command invocation or an autocomplete request."""
    call, submitted = invocation.call, body.data
    is_autocomplete = isinstance(body, wire.AutocompleteCommand)
    row, definition, owners = invocation_rules.require_command(
        call,
        invocation.application,
        invocation.channel_access,
        invocation.context_type,
        invocation.installation_owners,
        invocation.command,
    )
    if submitted.version and submitted.version != row.version:
        raise errors.invalid("data", *errors.command_outdated())
    form = errors.FormErrors()
    if is_autocomplete and row.type != CommandType.CHAT_INPUT:
        raise errors.invalid("type", *errors.choices([int(InteractionType.APPLICATION_COMMAND)]))
    parsed = options.parse_options(definition.options, submitted.options or (), form, is_autocomplete=is_autocomplete)
    if is_autocomplete and not form and (parsed.focused is None or not parsed.focused.autocomplete):
        form.add(("data", "options"), *errors.required())
    resolver = invocation.resolver()
    references = (
        parsed.references
        if not is_autocomplete
        else [reference for reference in parsed.references if reference.kind != "attachment"]
    )
    if references:
        resolver.resolve(references, form, submitted.attachments or ())
    form.raise_if_any()
    _set_attachment_ids(parsed.options, resolver)
    kind = InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE if is_autocomplete else InteractionType.APPLICATION_COMMAND
    interacted = invocation.interaction_metadata(kind, owners)
    interacted.name = " ".join((row.name, *parsed.path))
    state = invocation.response_state(interacted, body)
    state.kind = int(
        MessageType.CONTEXT_MENU_COMMAND if row.type in _CONTEXT_MENU_TYPES else MessageType.CHAT_INPUT_COMMAND
    )
    if parsed.focused is not None:
        # Autocomplete choices must have the type of the focused option.
        state.kind = parsed.focused.type
    data = wire.InteractionData(id=str(int(row.id)), name=row.name, type=row.type)
    if row.scope is not None:
        data.guild_id = GuildId(row.scope)
    if parsed.options:
        data.options = parsed.options
    if row.type in _CONTEXT_MENU_TYPES:
        _set_target(invocation, row.type, submitted.target_id or None, data, interacted, state, resolver)
    if resolver.resolved != wire.ResolvedData():
        data.resolved = resolver.resolved
    launches_activity = (
        row.type == CommandType.PRIMARY_ENTRY_POINT
        and definition.handler == CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY
    )
    return PreparedInteraction(int(kind), data, state, owners, launches_activity=launches_activity)


def _set_attachment_ids(values: list[wire.OptionValue], resolver: Resolver) -> None:
    """Replace upload indexes with the IDs of the uploaded files."""
    for value in values:
        if value.type == CommandOptionType.ATTACHMENT and isinstance(value.value, str):
            value.value = str(int(resolver.attachment_ids.get(int(value.value), value.value)))
        if value.options:
            _set_attachment_ids(value.options, resolver)


def _set_target(
    invocation: Invocation,
    kind: int,
    target_id: Snowflake | None,
    data: wire.InteractionData,
    interacted: StoredInteraction,
    state: ResponseState,
    resolver: Resolver,
) -> None:
    """Set the target that a context menu command was opened on."""
    path = ("data", "target_id")
    if target_id is None:
        raise errors.invalid(path, *errors.required())
    data.target_id = target_id
    if kind == CommandType.USER:
        if not resolver.resolve_user(target_id):
            raise errors.invalid(path, *errors.not_snowflake(target_id))
        interacted.target_user_id = UserId(target_id)
        return
    row = messages.history.find(invocation.call.tx, invocation.channel_access.channel.id, target_id)
    # The app receives the whole message, so the caller must be able to read it.
    if row is None or not messages.history.can_read_history(invocation.channel_access):
        raise errors.UNKNOWN_MESSAGE()
    view = views.message(invocation.call, row, invocation.application, invocation.channel_access.channel.guild_id)
    resolver.resolved.messages = {str(int(row.id)): view}
    interacted.target_message_id = MessageId(row.id)
    state.refers_to = MessageId(row.id)


def use_component(invocation: Invocation, body: wire.UseComponent) -> PreparedInteraction:
    """Prepare the use of a component on one of the application's messages."""
    call = invocation.call
    row = rules.require_message(call, invocation.channel_access.channel.id, body.message_id)
    application = invocation.application
    is_own_message = application.id in (row.application_id, row.webhook_id) or row.author_id == application.bot_id
    if not is_own_message or (row.is_ephemeral and call.user_id not in messages.views.extra(row).seen_by):
        raise errors.UNKNOWN_MESSAGE()
    component = None
    if not row.flags & MessageFlags.LOADING:
        component = component_values.find_component(
            messages.views.components(row), body.data.custom_id, body.data.component_type
        )
    if component is None:
        raise errors.invalid(("data", "custom_id"), *errors.component_type())
    form = errors.FormErrors()
    values, references = component_values.selected_values(component, body.data.values or None, form)
    resolver = invocation.resolver()
    resolver.resolve(references, form)
    form.raise_if_any()
    if row.is_ephemeral:
        # Keep the message long enough for a response to this interaction.
        messages.changes.extend_ephemeral(call, row)
    owners = invocation.installation_owners
    origin = messages.views.extra(row).interaction
    if not owners and origin is not None:
        # Another user installed the app, and its message is visible to everyone in the channel.
        owners = origin.owners
    kind = InteractionType.MESSAGE_COMPONENT
    interacted = invocation.interaction_metadata(kind, owners)
    interacted.interacted_message_id = MessageId(row.id)
    state = _set_reply_target(invocation.response_state(interacted, body), row)
    data = wire.InteractionData(id=component["id"], custom_id=component["custom_id"], component_type=component["type"])
    if values is not None:
        data.values = values
    if resolver.resolved != wire.ResolvedData():
        data.resolved = resolver.resolved
    view = views.message(call, row, application, invocation.channel_access.channel.guild_id)
    return PreparedInteraction(int(kind), data, state, owners, message=view)


def submit_modal(invocation: Invocation, body: wire.SubmitModal) -> PreparedInteraction:
    """Prepare the submission of a modal that the application showed to the caller."""
    call = invocation.call
    opener = _require_opener(invocation, body)
    modal = store.decode_modal(opener)
    if modal is None or modal.custom_id != body.data.custom_id:
        raise errors.UNKNOWN_INTERACTION()
    form = errors.FormErrors()
    components, references = component_values.modal_values(modal.components, body.data.components, form)
    resolver = invocation.resolver()
    resolver.resolve(references, form, body.data.attachments or ())
    form.raise_if_any()
    for component in messages.content.walk_components(components):
        if component["type"] == ComponentType.FILE_UPLOAD:
            component["values"] = [
                str(int(resolver.attachment_ids[int(upload_index)])) for upload_index in component["values"]
            ]
    opener_state = store.decode_response_state(opener)
    owners = opener_state.interacted.owners
    kind = InteractionType.MODAL_SUBMIT
    interacted = invocation.interaction_metadata(kind, owners)
    interacted.triggering = opener_state.interacted
    interacted.triggering.name = None
    state = invocation.response_state(interacted, body)
    message = None
    if opener_state.message_id is not None:
        row = rules.require_message(call, invocation.channel_access.channel.id, opener_state.message_id)
        state = _set_reply_target(state, row)
        message = views.message(call, row, invocation.application, invocation.channel_access.channel.guild_id)
    data = wire.InteractionData(custom_id=modal.custom_id, components=components)
    if resolver.resolved != wire.ResolvedData():
        data.resolved = resolver.resolved
    return PreparedInteraction(int(kind), data, state, owners, message=message)


def _require_opener(invocation: Invocation, body: wire.SubmitModal) -> InteractionRow:
    """Return the interaction whose response opened the modal; raise UNKNOWN_INTERACTION if there is none."""
    row = store.find(invocation.call.tx, body.data.id)
    if (
        row is None
        or row.user_id != invocation.call.user_id
        or row.application_id != invocation.application.id
        or row.channel_id != invocation.channel_access.channel.id
        or invocation.call.now_ms - row.created_ms > wire.TOKEN_LIFETIME_MS
    ):
        raise errors.UNKNOWN_INTERACTION()
    return row


def _set_reply_target(state: ResponseState, message: MessageRow) -> ResponseState:
    """Make the response a reply to the message whose component was used, unless that message is ephemeral."""
    state.message_id = MessageId(message.id)
    state.ephemeral_message = message.is_ephemeral
    if not message.is_ephemeral:
        state.kind = int(MessageType.REPLY)
        state.refers_to = MessageId(message.id)
    return state
