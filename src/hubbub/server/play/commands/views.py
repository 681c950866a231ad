"""Build the wire models of commands, with all localizations or with the caller's, and of command permissions."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes
from hubbub.protocol.enums import LOCALE_FALLBACKS, LOCALES, InteractionContextType
from hubbub.protocol.ids import ApplicationId, CommandId, GuildId, Snowflake
from hubbub.protocol.resources import commands as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.play.commands import store
from hubbub.server.play.commands.store import CommandRow

_BOT_DM: Final = int(InteractionContextType.BOT_DM)


def command(row: CommandRow, now_ms: int) -> wire.ApplicationCommand:
    """Build a command with all localizations. `now_ms` decides which dated fields are present."""
    definition = store.decode_definition(row)
    view = wire.ApplicationCommand(
        id=CommandId(row.id),
        application_id=ApplicationId(row.application_id),
        version=Snowflake(row.version),
        default_member_permissions=definition.default_member_permissions,
        type=row.type,
        name=row.name,
        name_localizations=definition.name_localizations,
        description=definition.description,
        description_localizations=definition.description_localizations,
        nsfw=definition.nsfw,
    )
    if changes.USER_INSTALLS.is_active(now_ms):
        view.contexts, view.integration_types = definition.contexts, definition.integration_types
    if definition.options:
        view.options = definition.options
    if definition.handler is not None:
        view.handler = definition.handler
    if row.scope is None:
        view.dm_permission = definition.contexts is None or _BOT_DM in definition.contexts
    else:
        view.guild_id = row.scope
    return view


def commands(call: Call, rows: Sequence[CommandRow], *, with_all_localizations: bool) -> list[wire.ApplicationCommand]:
    """Build a list of commands.

    With `with_all_localizations` they have all localizations, otherwise only the texts in the caller's locale."""
    command_views = [command(row, call.now_ms) for row in rows]
    if not with_all_localizations:
        locale = choose_caller_locale(call)
        for command_view in command_views:
            _localize(command_view, locale)
            for option in command_view.options or ():
                _localize_option(option, locale)
    return command_views


def choose_caller_locale(call: Call) -> str:
    """Return the caller's locale: from the request headers, else from their settings (spec/http.md#1.4)."""
    client_locale = call.headers.get("X-Discord-Locale", "")
    if client_locale in LOCALES:
        return client_locale
    for language_range in call.headers.get("Accept-Language", "").split(","):
        requested_locale = language_range.partition(";")[0].strip()
        if requested_locale in LOCALES:
            return requested_locale
        # A browser may send a country (`de-AT`) where LOCALES has only the language, or the reverse (`pt`).
        language = requested_locale.partition("-")[0]
        closest_locale = next(
            (locale for locale in sorted(LOCALES) if language and locale.partition("-")[0] == language), None
        )
        if closest_locale is not None:
            return closest_locale
    row = users.find(call.tx, call.user_id)
    return "en-US" if row is None else row.locale


def _localize(command_or_option: wire.ApplicationCommand | wire.CommandOption, locale: str) -> None:
    """Replace all localizations of a command's or option's name and description by those in one locale."""
    command_or_option.name_localized = _find_translation(locale, command_or_option.name_localizations)
    command_or_option.description_localized = _find_translation(locale, command_or_option.description_localizations)
    command_or_option.name_localizations = UNSET
    command_or_option.description_localizations = UNSET


def _localize_option(option: wire.CommandOption, locale: str) -> None:
    _localize(option, locale)
    for choice in option.choices or ():
        choice.name_localized = _find_translation(locale, choice.name_localizations)
        choice.name_localizations = UNSET
    for inner_option in option.options or ():
        _localize_option(inner_option, locale)


def _find_translation(locale: str, translations: Mapping[str, str] | None | UnsetType) -> str | UnsetType:
    """Return the text in a locale or its fallback; UNSET if there is no such translation."""
    if not translations:
        return UNSET
    text = translations.get(locale) or translations.get(LOCALE_FALLBACKS.get(locale, ""))
    return text or UNSET


def permissions(
    guild_id: int, application_id: int, target_id: int, entries: Sequence[wire.CommandPermission]
) -> wire.CommandPermissions:
    """Build the permissions of a command, or of all commands of an application, in a guild.

    `target_id` is the command's or the application's ID."""
    return wire.CommandPermissions(
        id=Snowflake(target_id),
        application_id=ApplicationId(application_id),
        guild_id=GuildId(guild_id),
        permissions=list(entries),
    )
