"""Texts of API errors on pages. Messages of the API are in English, because they are part of the wire protocol.

Messages without values are in the catalogue as they are (`tools/translations.py` extracts them). The tables of this module contain
the others.
"""

import functools
import re
from collections.abc import Mapping
from typing import Final

from hubbub.protocol import errors
from hubbub.server.core.translation import gettext, gettext_noop

SHOWN_ERRORS: Final = (
    errors.ACCOUNT_IS_PROVISIONAL,
    errors.CANNOT_EXECUTE_ON_DM,
    errors.FILE_TOO_LARGE,
    errors.INVALID_SKU,
    errors.MAX_GUILDS,
    errors.MAX_INVITES,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.MUST_TRANSFER_OWNERSHIP,
    errors.NOT_AUTHORIZED_ON_APPLICATION,
    errors.TWO_FACTOR_REQUIRED,
    errors.UNKNOWN_APPLICATION,
    errors.UNKNOWN_CHANNEL,
    errors.UNKNOWN_EMOJI,
    errors.UNKNOWN_ENTITLEMENT,
    errors.UNKNOWN_GUILD,
    errors.UNKNOWN_GUILD_TEMPLATE,
    errors.UNKNOWN_INVITE,
    errors.UNKNOWN_MEMBER,
    errors.UNKNOWN_MESSAGE,
    errors.UNKNOWN_SESSION,
    errors.UNKNOWN_SKU,
    errors.UNKNOWN_TOKEN,
    errors.UNKNOWN_USER,
    errors.UNKNOWN_WEBHOOK,
    errors.WRONG_CHANNEL_TYPE,
)
"""Errors whose message pages show."""

REPLACEMENTS: Final[Mapping[str, str]] = {
    errors.NOT_FOUND.message: gettext_noop("There is no such page, or you are not allowed to see it."),
    errors.UNAUTHORIZED.message: gettext_noop("Your session has ended. Log in again."),
    "503: Service Unavailable": gettext_noop("The server is not available right now. Try again in a few minutes."),
    errors.required()[1]: gettext_noop("This field is required."),
    errors.regex()[1]: gettext_noop("This value does not have the required format."),
    "{kind} value should be less than or equal to {maximum}.": gettext_noop("Enter a number up to {maximum}."),
    "{kind} value should be greater than or equal to {minimum}.": gettext_noop("Enter a number from {minimum}."),
    'Value "{value}" is not a valid enum value.': gettext_noop("“{value}” is not one of the allowed values."),
    'Value "{value}" is not snowflake.': gettext_noop("“{value}” is not a valid ID."),
    'Value "{value}" is not {kind}.': gettext_noop("“{value}” is not a number."),
    "Value must be one of {values}.": gettext_noop("Choose one of the offered values."),
    "Could not parse {value}. Should be ISO8601.": gettext_noop("“{value}” is not a valid time."),
    'Scheme "{scheme}" is not supported. Scheme must be one of {schemes}.': gettext_noop(
        "The scheme “{scheme}” is not supported. Use http or https."
    ),
    "File cannot be larger than {size}.": gettext_noop("The file cannot be larger than {size}."),
    errors.bad_image()[1]: gettext_noop("The file is not an image that can be shown."),
    errors.bad_url()[1]: gettext_noop("This is not a valid URL."),
    "The specified {setting} url could not be verified. {problem}": gettext_noop(
        "The URL could not be verified. {problem}"
    ),
    "Requests to this address are not allowed: {host} is neither a host name nor an IP address. Enter a "
    "public http or https URL.": gettext_noop(
        "{host} is neither a host name nor an IP address. Enter a public http or https URL."
    ),
}
"""Texts for users by the message of the API. Words in braces are values of the message. The first message that matches applies."""

MESSAGES_WITH_VALUES: Final = (
    gettext_noop("Must be between {minimum} and {maximum} in length."),
    gettext_noop("Must be {maximum} or fewer in length."),
    gettext_noop("Must be {minimum} or more in length."),
    gettext_noop("This account is suspended until {time} UTC. {details}"),
    gettext_noop("This account is suspended. {details}"),
    gettext_noop("You can appeal at {url} Reason: {reason}"),
    gettext_noop("You can appeal at {url}"),
    gettext_noop("An operator has not decided about your appeal yet. Reason: {reason}"),
    gettext_noop("Your appeal was rejected. Reason: {reason}"),
    gettext_noop("Your appeal was rejected: {answer} Reason: {reason}"),
    gettext_noop("Your appeal was rejected: {answer}"),
    gettext_noop("Your registration was rejected. Reason: {reason}"),
    gettext_noop("A team can have at most {count} members."),
    gettext_noop("An application can have at most {count} SKUs."),
    gettext_noop("An application can have at most {count} assets."),
    gettext_noop("An application can have at most {count} testers."),
    gettext_noop("Choose a time within the next {count} days."),
    gettext_noop("Choose an end within {count} days of the start."),
    gettext_noop("You can have at most {count} passkeys."),
    gettext_noop("You can own at most {count} teams."),
    gettext_noop("Privileged intents require a review from {count} guilds on."),
    gettext_noop("Privileged intents require a review from {count} users on."),
    gettext_noop("This requires the operator role {role}."),
    gettext_noop("The host of the issuer must not end in {suffix}."),
    gettext_noop("Paths under {path} are reserved for the proxy."),
    gettext_noop("The prefix has no placeholder {placeholder}."),
    gettext_noop(
        "DNS has no address for the host name {host}. Check its spelling, or wait until its DNS records are published."
    ),
    gettext_noop(
        "Requests to this address are not allowed: {host} is not a public address. Enter a public http or https URL."
    ),
    gettext_noop(
        "The connection to {host}, port {port}, was refused. Check that your server is running, listens on "
        "this port, and is reachable from the internet."
    ),
    gettext_noop(
        "The TLS connection failed: {cause}. Install a certificate for {host} that a public authority signed, "
        "including its intermediate certificates."
    ),
    gettext_noop(
        "No response arrived within {seconds} seconds. Check that the host is reachable, and respond before "
        "you do other work."
    ),
    gettext_noop("The request failed: {cause}. Check that the URL leads to an HTTP server."),
    gettext_noop(
        "The endpoint responded to the PING with a redirect (status {status}) to “{target}”. Redirects are not "
        "followed: enter the final URL, for example with https or a trailing slash."
    ),
    gettext_noop(
        "{response} The PING has a valid signature: verify X-Signature-Ed25519 over X-Signature-Timestamp and "
        "the unchanged request body, with this application's public key."
    ),
    gettext_noop("{response} Check the path of the URL, and that your server accepts POST there."),
    gettext_noop("{response} Look for the error in the log of your server."),
    gettext_noop("{response} Respond to a PING, a request with type {type}, before other handling."),
    gettext_noop("The endpoint responded to the PING with status {status} instead of {expected}: “{body}”."),
    gettext_noop("The endpoint responded to the PING with status {status} instead of {expected}."),
    gettext_noop(
        "The endpoint responded to the PING with status {status}, but without a PONG: the body is empty. "
        "Respond with the JSON {json}."
    ),
    gettext_noop(
        "The endpoint responded to the PING with status {status}, but without a PONG: “{body}”. Respond with "
        "the JSON {json}."
    ),
    gettext_noop(
        "The endpoint responded with status {status} instead of {expected} to a PING with an invalid "
        "signature. Verify X-Signature-Ed25519 with the application's public key before you handle a request, "
        "and respond with status {expected} if the signature is invalid."
    ),
)
"""Messages with values that are shown as they are. A more specific message precedes a more general one."""

_NESTED_VALUES: Final = ("details", "problem", "response")
"""Values that are messages themselves."""
_PLACEHOLDER_PATTERN: Final = re.compile(r"\{(\w+)\}")


def translate_error(message: str) -> str:
    """Return the text for users of a message of the API, in the language of the page. An unknown message stays as it is."""
    text = REPLACEMENTS.get(message)
    if text is not None:
        return gettext(text)
    for pattern, text in _compile_patterns():
        match = pattern.fullmatch(message)
        if match is not None:
            values = match.groupdict()
            for name in _NESTED_VALUES:
                if name in values:
                    values[name] = translate_error(values[name])
            return gettext(text, **values)
    return gettext(message)


@functools.cache
def _compile_patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return the messages with values as patterns, with their texts."""
    texts = [*REPLACEMENTS.items(), *((message, message) for message in MESSAGES_WITH_VALUES)]
    return [(_compile_pattern(message), text) for message, text in texts if "{" in message]


def _compile_pattern(message: str) -> re.Pattern[str]:
    seen_names: set[str] = set()
    parts = []
    for index, part in enumerate(_PLACEHOLDER_PATTERN.split(message)):
        if index % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen_names else f"(?P<{part}>.+?)")
            seen_names.add(part)
    return re.compile("".join(parts), re.DOTALL)
