"""Rules for member verification forms, their responses and applicants."""

from collections.abc import Sequence

from msgspec import UNSET, structs

from hubbub.protocol import errors
from hubbub.protocol.enums import FormFieldType, GuildFeature
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.resources import join_requests as wire
from hubbub.server.core.call import Call
from hubbub.server.places import guilds, members
from hubbub.server.places.guilds import GuildRow

_REQUIRED_ATTRIBUTE_BY_TYPE = {FormFieldType.TERMS: "values", FormFieldType.MULTIPLE_CHOICE: "choices"}
"""Attribute that a form field requires, by its type. It is removed from fields of other types."""


def is_form_enabled(guild: GuildRow) -> bool:
    """Return whether new members must complete the form."""
    return GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED in guild.feature_names


def requires_review(guild: GuildRow) -> bool:
    """Return whether join requests need manual approval."""
    return is_form_enabled(guild) and GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL in guild.feature_names


def require_manual_review(guild: GuildRow) -> None:
    """Raise unless the guild has both features that join requests need (spec/http.md#3.5)."""
    if not requires_review(guild):
        raise errors.MISSING_ACCESS()


def require_form_access(call: Call, guild: GuildRow) -> None:
    """Raise unless the caller is a member of the guild, or the guild is discoverable."""
    if (
        not guilds.membership.is_member(call.tx, guild.id, call.user_id)
        and GuildFeature.DISCOVERABLE not in guild.feature_names
    ):
        raise errors.MISSING_ACCESS()


def require_applicant(call: Call, guild: GuildRow) -> None:
    """Raise unless the caller may submit a request.

    The form must be enabled. Pending members may submit a request. Users who are not in the guild may if they are not
    banned, and the guild is discoverable and reviews requests."""
    member = members.membership.find_row(call.tx, guild.id, call.user_id)
    if not is_form_enabled(guild) or (member is not None and not member.pending):
        raise errors.MISSING_ACCESS()
    if member is None:
        if not requires_review(guild) or GuildFeature.DISCOVERABLE not in guild.feature_names:
            raise errors.MISSING_ACCESS()
        if members.membership.is_banned(call.tx, guild.id, call.user_id):
            raise errors.USER_BANNED()


def normalize_fields(submitted_fields: Sequence[wire.FormField]) -> list[wire.FormField]:
    """Return the form fields of a request as they are stored; raise a form error for invalid fields."""
    form_errors = FormErrors()
    normalized_fields = []
    for index, field in enumerate(submitted_fields):
        for field_type, attribute in _REQUIRED_ATTRIBUTE_BY_TYPE.items():
            value = getattr(field, attribute)
            if field.field_type == field_type and value is UNSET:
                form_errors.add(("form_fields", index, attribute), *errors.required())
            elif field.field_type != field_type and value is not UNSET:
                field = structs.replace(field, **{attribute: UNSET})
        if field.field_type != FormFieldType.TERMS and not field.label:
            form_errors.add(("form_fields", index, "label"), *errors.required())
        normalized_fields.append(
            structs.replace(
                field,
                description=field.description or UNSET,
                placeholder=field.placeholder or UNSET,
                required=field.required is not False,
            )
        )
    if sum(field.field_type == FormFieldType.TERMS for field in submitted_fields) > 1:
        form_errors.add("form_fields", "FORM_TERMS_TWICE", "Only one field can be of type TERMS.")
    form_errors.raise_if_any()
    return normalized_fields


def validate_responses(
    form_fields: Sequence[wire.FormField], submitted_fields: Sequence[wire.AnsweredField]
) -> list[wire.AnsweredField]:
    """Return the form's fields with the responses of `submitted_fields`, which lists one field for each field of the form.

    Raise a form error for missing or invalid responses."""
    form_errors = FormErrors()
    if len(submitted_fields) != len(form_fields):
        raise errors.invalid("form_fields", *errors.bad_length(len(form_fields), len(form_fields)))
    answered_fields = []
    for index, (form_field, submitted_field) in enumerate(zip(form_fields, submitted_fields, strict=True)):
        path = ("form_fields", index, "response")
        response = submitted_field.response
        if response is UNSET or response is None or response == "":
            if form_field.required is not False:
                form_errors.add(path, *errors.required())
            answered_fields.append(_answered_field(form_field, UNSET))
            continue
        match form_field.field_type:
            case FormFieldType.TERMS:
                if response is not True:
                    form_errors.add(path, *errors.required())
            case FormFieldType.MULTIPLE_CHOICE:
                choices = form_field.choices if form_field.choices is not UNSET else []
                if not isinstance(response, int) or isinstance(response, bool) or not 0 <= response < len(choices):
                    form_errors.add(path, *errors.choices(range(len(choices))))
            case _:
                is_short = form_field.field_type == FormFieldType.TEXT_INPUT
                length_max = wire.TEXT_ANSWER_MAX if is_short else wire.PARAGRAPH_ANSWER_MAX
                if not isinstance(response, str):
                    form_errors.add(path, *errors.not_string(response))
                elif len(response) > length_max:
                    form_errors.add(path, *errors.max_length(length_max))
        answered_fields.append(_answered_field(form_field, response))
    form_errors.raise_if_any()
    return answered_fields


def _answered_field(form_field: wire.FormField, response: object) -> wire.AnsweredField:
    return wire.AnsweredField(**structs.asdict(form_field), response=response)  # type: ignore[arg-type]
