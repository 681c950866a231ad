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

    def interaction_metadata(self, interaction_type: int, owners: dict[str, Snowflake]) -> StoredInteraction:
        """Return the interaction metadata that response messages show."""
        return StoredInteraction(
            id=Snowflake(self.interaction_id), type=interaction_type, user_id=UserId(self.call.user_id), owners=owners
        )

    def response_state(self, stored_interaction: StoredInteraction, body: wire.InteractionRequest) -> ResponseState:
        """Return the state that responses to this interaction need."""
        return ResponseState(
            interaction_metadata=stored_interaction,
            ephemeral=rules.is_ephemeral_only(self.call, self.channel_access, stored_interaction.owners),
            session_id=body.session_id or "",
            nonce=body.nonce if body.nonce is not UNSET else None,
        )


def build_invocation(call: Call, body: wire.InteractionRequest) -> Invocation:
    """Load and check the channel, the application and the caller of a request."""
    loaded_invocation, channel_access, bot_access, application, invoker = invocation_rules.require_invocation_access(
        call, body
    )
    installation_types = set(loaded_invocation.installation_types)
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
        loaded_invocation.has_skus,
        loaded_invocation.is_timeout_scheduled,
        loaded_invocation.location,
        loaded_invocation.command,
    )


def prepare_command(invocation: Invocation, body: wire.RunCommand | wire.AutocompleteCommand) -> PreparedInteraction:
    """Prepare a command invocation or an autocomplete request."""
    call, command_data = invocation.call, body.data
    is_autocomplete = isinstance(body, wire.AutocompleteCommand)
    row, definition, owners = invocation_rules.require_command(
        call,
        invocation.application,
        invocation.channel_access,
        invocation.context_type,
        invocation.installation_owners,
        invocation.command,
    )
    if command_data.version and command_data.version != row.version:
        raise errors.invalid("data", *errors.command_outdated())
    form = errors.FormErrors()
    if is_autocomplete and row.type != CommandType.CHAT_INPUT:
        raise errors.invalid("type", *errors.choices([int(InteractionType.APPLICATION_COMMAND)]))
    parsed_options = options.parse_options(
        definition.options, command_data.options or (), form, is_autocomplete=is_autocomplete
    )
    if (
        is_autocomplete
        and not form
        and (parsed_options.focused_option is None or not parsed_options.focused_option.autocomplete)
    ):
        form.add(("data", "options"), *errors.required())
    resolver = invocation.resolver()
    references = (
        parsed_options.references
        if not is_autocomplete
        else [reference for reference in parsed_options.references if reference.kind != "attachment"]
    )
    if references:
        resolver.resolve(references, form, command_data.attachments or ())
    form.raise_if_any()
    _set_attachment_ids(parsed_options.options, resolver)
    interaction_type = (
        InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE if is_autocomplete else InteractionType.APPLICATION_COMMAND
    )
    stored_interaction = invocation.interaction_metadata(interaction_type, owners)
    stored_interaction.name = " ".join((row.name, *parsed_options.subcommand_names))
    state = invocation.response_state(stored_interaction, body)
    state.message_type = int(
        MessageType.CONTEXT_MENU_COMMAND if row.type in _CONTEXT_MENU_TYPES else MessageType.CHAT_INPUT_COMMAND
    )
    if parsed_options.focused_option is not None:
        # Autocomplete choices must have the type of the focused option.
        state.focused_option_type = int(parsed_options.focused_option.type)
    interaction_data = wire.InteractionData(id=str(int(row.id)), name=row.name, type=row.type)
    if row.scope is not None:
        interaction_data.guild_id = GuildId(row.scope)
    if parsed_options.options:
        interaction_data.options = parsed_options.options
    if row.type in _CONTEXT_MENU_TYPES:
        _set_target(
            invocation, row.type, command_data.target_id or None, interaction_data, stored_interaction, state, resolver
        )
    if resolver.resolved != wire.ResolvedData():
        interaction_data.resolved = resolver.resolved
    launches_activity = (
        row.type == CommandType.PRIMARY_ENTRY_POINT
        and definition.handler == CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY
    )
    return PreparedInteraction(
        int(interaction_type), interaction_data, state, owners, launches_activity=launches_activity
    )


def _set_attachment_ids(option_values: list[wire.OptionValue], resolver: Resolver) -> None:
    """Replace upload indexes with the IDs of the uploaded files."""
    for option_value in option_values:
        if option_value.type == CommandOptionType.ATTACHMENT and isinstance(option_value.value, str):
            option_value.value = str(int(resolver.attachment_ids.get(int(option_value.value), option_value.value)))
        if option_value.options:
            _set_attachment_ids(option_value.options, resolver)


def _set_target(
    invocation: Invocation,
    command_type: int,
    target_id: Snowflake | None,
    interaction_data: wire.InteractionData,
    stored_interaction: StoredInteraction,
    state: ResponseState,
    resolver: Resolver,
) -> None:
    """Set the target that a context menu command was opened on."""
    path = ("data", "target_id")
    if target_id is None:
        raise errors.invalid(path, *errors.required())
    interaction_data.target_id = target_id
    if command_type == CommandType.USER:
        if not resolver.resolve_user(target_id):
            raise errors.invalid(path, *errors.not_snowflake(target_id))
        stored_interaction.target_user_id = UserId(target_id)
        return
    row = messages.history.find(invocation.call.tx, invocation.channel_access.channel.id, target_id)
    # The app receives the whole message, so the caller must be able to read it.
    if row is None or not messages.history.can_read_history(invocation.channel_access):
        raise errors.UNKNOWN_MESSAGE()
    view = views.message(invocation.call, row, invocation.application, invocation.channel_access.channel.guild_id)
    resolver.resolved.messages = {str(int(row.id)): view}
    stored_interaction.target_message_id = MessageId(row.id)
    state.replied_message_id = MessageId(row.id)


def prepare_component_use(invocation: Invocation, body: wire.UseComponent) -> PreparedInteraction:
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
    selected_values, references = component_values.selected_values(component, body.data.values or None, form)
    resolver = invocation.resolver()
    resolver.resolve(references, form)
    form.raise_if_any()
    if row.is_ephemeral:
        # Keep the message long enough for a response to this interaction.
        messages.changes.extend_ephemeral(call, row)
    owners = invocation.installation_owners
    message_interaction = messages.views.extra(row).interaction
    if not owners and message_interaction is not None:
        # Another user installed the app, and its message is visible to everyone in the channel.
        owners = message_interaction.owners
    interaction_type = InteractionType.MESSAGE_COMPONENT
    stored_interaction = invocation.interaction_metadata(interaction_type, owners)
    stored_interaction.interacted_message_id = MessageId(row.id)
    state = _set_reply_target(invocation.response_state(stored_interaction, body), row)
    interaction_data = wire.InteractionData(
        id=component["id"], custom_id=component["custom_id"], component_type=component["type"]
    )
    if selected_values is not None:
        interaction_data.values = selected_values
    if resolver.resolved != wire.ResolvedData():
        interaction_data.resolved = resolver.resolved
    view = views.message(call, row, application, invocation.channel_access.channel.guild_id)
    return PreparedInteraction(int(interaction_type), interaction_data, state, owners, message=view)


def prepare_modal_submission(invocation: Invocation, body: wire.SubmitModal) -> PreparedInteraction:
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
    owners = opener_state.interaction_metadata.owners
    interaction_type = InteractionType.MODAL_SUBMIT
    stored_interaction = invocation.interaction_metadata(interaction_type, owners)
    stored_interaction.triggering = opener_state.interaction_metadata
    stored_interaction.triggering.name = None
    state = invocation.response_state(stored_interaction, body)
    message = None
    if opener_state.message_id is not None:
        row = rules.require_message(call, invocation.channel_access.channel.id, opener_state.message_id)
        state = _set_reply_target(state, row)
        message = views.message(call, row, invocation.application, invocation.channel_access.channel.guild_id)
    interaction_data = wire.InteractionData(custom_id=modal.custom_id, components=components)
    if resolver.resolved != wire.ResolvedData():
        interaction_data.resolved = resolver.resolved
    return PreparedInteraction(int(interaction_type), interaction_data, state, owners, message=message)


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
        state.message_type = int(MessageType.REPLY)
        state.replied_message_id = MessageId(message.id)
    return state
