"""Validation of metadata records and values, and evaluation of linked role requirements."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import LOCALES, RoleConnectionMetadataType
from hubbub.protocol.resources import role_connections as wire
from hubbub.protocol.resources.role_connections import RoleConnectionMetadata, RoleConnectionRequirement
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.places.role_connections.store import LinkedRoleRow, RoleConnectionRow

_NUMBERS: Final = frozenset(RoleConnectionMetadataType(kind) for kind in (1, 2, 3, 4))
_TIMES: Final = frozenset(RoleConnectionMetadataType(kind) for kind in (5, 6))
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS: Final = {"0": 0, "1": 1, "false": 0, "true": 1}
_DAY_MS: Final = 86_400_000


def require_own_connection(call: Call, application_id: int) -> None:
    """Raise an error unless the caller's token belongs to this application."""
    if applications.find(call.tx, application_id) is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.application_id != application_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()


def build_records(wanted: Sequence[wire.SetRoleConnectionMetadata]) -> list[RoleConnectionMetadata]:
    """Return the records to store, or raise the form errors."""
    form = errors.FormErrors()
    seen: set[str] = set()
    found = []
    for index, record in enumerate(wanted):
        if record.key in seen:
            form.add((index, "key"), *errors.duplicate())
        seen.add(record.key)
        found.append(
            RoleConnectionMetadata(
                type=record.type,
                key=record.key,
                name=record.name,
                description=record.description,
                name_localizations=_localized(form, (index, "name_localizations"), record.name_localizations),
                description_localizations=_localized(
                    form, (index, "description_localizations"), record.description_localizations
                ),
            )
        )
    form.raise_if_any()
    return found


def _localized(
    form: errors.FormErrors, path: tuple[int, str], texts: Mapping[str, str | None] | None | UnsetType
) -> dict[str, str] | None | UnsetType:
    if texts is UNSET or texts is None:
        return texts
    for locale in texts:
        if locale not in LOCALES:
            form.add((*path, locale), *errors.choices(sorted(LOCALES)))
    return {locale: text for locale, text in texts.items() if text is not None}


def require_values(known: Iterable[RoleConnectionMetadata], values: Mapping[str, str]) -> None:
    """Raise form errors for values that have no record or do not match its type."""
    kinds = {record.key: record.type for record in known}
    form = errors.FormErrors()
    for key, value in values.items():
        if key not in kinds:
            form.add(("metadata", key), *errors.choices(sorted(kinds)))
        else:
            problem = _problem(kinds[key], value)
            if problem is not None:
                form.add(("metadata", key), *problem)
    form.raise_if_any()


def _problem(kind: int, value: str) -> tuple[str, str] | None:
    if kind in _NUMBERS:
        return None if _INTEGER.fullmatch(value) else errors.not_number(value)
    if kind in _TIMES:
        return None if _parse_time(value) is not None else errors.bad_timestamp(value)
    return None if value.lower() in _BOOLEANS else errors.not_boolean()


def _parse_time(text: str) -> int | None:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)


def require_configuration(
    alternatives: Sequence[Sequence[RoleConnectionRequirement]], known: Mapping[int, Sequence[RoleConnectionMetadata]]
) -> None:
    """Raise form errors for requirements that cannot be compared with any value."""
    form = errors.FormErrors()
    for outer, requirements in enumerate(alternatives):
        for inner, requirement in enumerate(requirements):
            if requirement.connection_metadata_field is None:
                continue
            kinds = {record.key: record.type for record in known.get(requirement.application_id, ())}
            kind = kinds.get(requirement.connection_metadata_field)
            path = (outer, inner)
            if kind is None:
                form.add((*path, "connection_metadata_field"), *errors.choices(sorted(kinds)))
            elif requirement.value is None:
                form.add((*path, "value"), *errors.required())
            else:
                problem = (
                    # Requirements on times are a number of days.
                    _problem(RoleConnectionMetadataType.INTEGER_EQUAL if kind in _TIMES else kind, requirement.value)
                )
                if problem is not None:
                    form.add((*path, "value"), *problem)
    form.raise_if_any()


def qualifies(
    role: LinkedRoleRow,
    connections: Mapping[int, RoleConnectionRow],
    known: Mapping[int, Sequence[RoleConnectionMetadata]],
    now: int,
) -> bool:
    """Return whether a user's connections meet any alternative of a linked role."""
    return any(
        all(_meets(requirement, connections, known, now) for requirement in requirements)
        for requirements in role.alternatives
    )


def _meets(
    requirement: RoleConnectionRequirement,
    connections: Mapping[int, RoleConnectionRow],
    known: Mapping[int, Sequence[RoleConnectionMetadata]],
    now: int,
) -> bool:
    row = connections.get(requirement.application_id)
    if row is None:
        return False
    key = requirement.connection_metadata_field
    if key is None:
        return True
    kind = next((record.type for record in known.get(requirement.application_id, ()) if record.key == key), None)
    value = row.values.get(key)
    if kind is None or value is None or requirement.value is None or _problem(kind, value) is not None:
        return False
    return is_satisfied(kind, value, requirement.value, now)


def is_satisfied(kind: int, value: str, wanted: str, now: int) -> bool:
    """Return whether a value satisfies the guild's requirement, by the record's type.

    Times are compared by their age in whole days."""
    types = RoleConnectionMetadataType
    if kind in _TIMES:
        age = (now - (_parse_time(value) or 0)) // _DAY_MS
        return age <= int(wanted) if kind == types.DATETIME_LESS_THAN_EQUAL else age >= int(wanted)
    if kind in _NUMBERS:
        left, right = int(value), int(wanted)
    else:
        left, right = _BOOLEANS[value.lower()], _BOOLEANS[wanted.lower()]
    if kind == types.INTEGER_LESS_THAN_EQUAL:
        return left <= right
    if kind == types.INTEGER_GREATER_THAN_EQUAL:
        return left >= right
    return (left == right) is (kind in (types.INTEGER_EQUAL, types.BOOLEAN_EQUAL))
