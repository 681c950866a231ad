"""A command as its application reads it: with all its languages, or with the caller's own."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes
from hubbub.protocol.enums import LOCALE_FALLBACKS, LOCALES, InteractionContextType
from hubbub.protocol.ids import ApplicationId, CommandId, GuildId, Snowflake
from hubbub.protocol.resources import commands as wire
from hubbub.server.core.call import Call
from hubbub.server.resources import users
from hubbub.server.resources.commands import store
from hubbub.server.resources.commands.store import CommandRow

_DMS: Final = int(InteractionContextType.BOT_DM)


def command(row: CommandRow, now: int) -> wire.ApplicationCommand:
    """A command with all its languages, as it is shown at a moment."""
    said = store.definition(row)
    shown = wire.ApplicationCommand(
        id=CommandId(row.id),
        application_id=ApplicationId(row.application_id),
        version=Snowflake(row.version),
        default_member_permissions=said.default_member_permissions,
        type=row.type,
        name=row.name,
        name_localizations=said.name_localizations,
        description=said.description,
        description_localizations=said.description_localizations,
        nsfw=said.nsfw,
    )
    if changes.USER_INSTALLS.active(now):
        shown.contexts, shown.integration_types = said.contexts, said.integration_types
    if said.options:
        shown.options = said.options
    if said.handler is not None:
        shown.handler = said.handler
    if row.scope is None:
        shown.dm_permission = said.contexts is None or _DMS in said.contexts
    else:
        shown.guild_id = row.scope
    return shown


def commands(call: Call, rows: Sequence[CommandRow], *, localized: bool) -> list[wire.ApplicationCommand]:
    """Commands in a list: `localized` with all languages, else each text beside its form in the caller's."""
    shown = [command(row, call.now) for row in rows]
    if not localized:
        locale = locale_of(call)
        for each in shown:
            _localize(each, locale)
            for option in each.options or ():
                _localize_option(option, locale)
    return shown


def locale_of(call: Call) -> str:
    """The caller's language: what the request says, else what they chose (http.md 1.4)."""
    given = call.headers.get("X-Discord-Locale", "")
    if given in LOCALES:
        return given
    for part in call.headers.get("Accept-Language", "").split(","):
        wanted = part.partition(";")[0].strip()
        if wanted in LOCALES:
            return wanted
        # Browsers name a country where we know only the language, and the other way round: `de-AT`, `pt`.
        language = wanted.partition("-")[0]
        near = next((each for each in sorted(LOCALES) if language and each.partition("-")[0] == language), None)
        if near is not None:
            return near
    row = users.find(call.tx, call.user_id)
    return "en-US" if row is None else row.locale


def _localize(shown: wire.ApplicationCommand | wire.CommandOption, locale: str) -> None:
    shown.name_localized = _in(locale, shown.name_localizations)
    shown.description_localized = _in(locale, shown.description_localizations)
    shown.name_localizations = UNSET
    shown.description_localizations = UNSET


def _localize_option(option: wire.CommandOption, locale: str) -> None:
    _localize(option, locale)
    for choice in option.choices or ():
        choice.name_localized = _in(locale, choice.name_localizations)
        choice.name_localizations = UNSET
    for inner in option.options or ():
        _localize_option(inner, locale)


def _in(locale: str, translations: Mapping[str, str] | None | UnsetType) -> str | UnsetType:
    if not translations:
        return UNSET
    found = translations.get(locale) or translations.get(LOCALE_FALLBACKS.get(locale, ""))
    return found or UNSET


def permissions(
    guild_id: int, application_id: int, target_id: int, entries: Sequence[wire.CommandPermission]
) -> wire.CommandPermissions:
    """Who may use a command in a guild."""
    return wire.CommandPermissions(
        id=Snowflake(target_id),
        application_id=ApplicationId(application_id),
        guild_id=GuildId(guild_id),
        permissions=list(entries),
    )
