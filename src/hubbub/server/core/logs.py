"""The log of the process, with formatters for JSON and text, and a filter that removes secrets.

`Secrets.clean` recognizes the forms of tokens and secrets, and exact secret values that were added. `SecretFilter`
applies it to all parts of a record. It is attached to the handler, not to a logger, so it also covers records of libraries.
"""

import base64
import contextlib
import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO
from urllib.parse import quote, quote_plus

import msgspec

REMOVED: Final = "[removed]"

TEXT_CHARACTERS_MAX: Final = 32 * 1024
"""Maximum length of one text in the log, in characters; longer texts are cut after cleaning."""

SECRET_CHARACTERS_MIN: Final = 4
"""Minimum length of a registered value, in characters; removing shorter ones would make the log unreadable."""

_SECRET_WORDS: Final = (
    "token", "secret", "password", "passwd", "passphrase", "authorization", "api_key", "apikey", "api-key",
    "private_key", "private-key", "code_verifier", "cookie", "credential", "secret_key", "ticket", "device_code", "user_code",
    "backup_codes", "assertion",
)  # fmt: skip
_SECRET_NAME_PATTERN: Final = re.compile("|".join(_SECRET_WORDS), re.IGNORECASE)
_CODE_PATTERN: Final = r"(?![A-Z_]+(?![\w.~%+/-]))[\w.~%+/-]{16,}={0,2}"
"""An authorization code. Numbers and names such as BASE_TYPE_REQUIRED are error codes and stay readable."""
_SECRET_CODE_PATTERN: Final = re.compile(rf"{_CODE_PATTERN}|\d{{6,8}}")

# Each pattern starts at a rare literal or at the start of a run of letters, so that matching takes linear time.
_QUOTE_PATTERN = r"\\*[\"']"
_VALUE_PATTERN = rf"(?:b?({_QUOTE_PATTERN})(?:(?!\2).){{0,8192}}?(?<!\\)\2|b?{_QUOTE_PATTERN}[^\n]*|[^\s,;&)}}\]\"']+)"
_PATTERNS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), REMOVED),
    # Authorization: Bot x / 'authorization': 'x' / (b'Authorization', b'Bearer x') / authorization=x
    (
        re.compile(
            rf"(authorization(?:{_QUOTE_PATTERN})?\s*[:=,]\s*(?:b?{_QUOTE_PATTERN})?)(?:(?:Bot|Bearer|Basic)\s+)?[^\s\"',;)}}\]\\]+",
            re.IGNORECASE,
        ),
        rf"\1{REMOVED}",
    ),
    (re.compile(rf"((?:set-)?cookie(?:{_QUOTE_PATTERN})?\s*[:=,]\s*)[^\n]*", re.IGNORECASE), rf"\1{REMOVED}"),
    (re.compile(r"\b(Bot)\s+(?=[\w-]*\.|[\w-]{20})[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {REMOVED}"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {REMOVED}"),
    # A bot token or a JWT: three base64url parts.
    (re.compile(r"(?<![\w-])[\w-]{12,}\.[\w-]{5,}\.[\w-]{20,}"), REMOVED),
    (re.compile(r"(/(?:webhooks|interactions)/\d+/)[\w-]{8,}(?:\.[\w.-]+)?"), rf"\1{REMOVED}"),
    (re.compile(r"(/register\?invite=)[\w-]+"), rf"\1{REMOVED}"),
    # scheme://user:password@host and scheme://token@host
    (re.compile(r"(?<=://)([^\s/:@\"']*):([^\s/\"']*)@"), rf"\1:{REMOVED}@"),
    (re.compile(r"(?<=nats://)([^\s/:@\"']+)@"), f"{REMOVED}@"),
    # An authorization code in a URL, a form, JSON or a repr.
    (
        re.compile(rf"(?<![A-Za-z0-9])([Cc]ode(?:{_QUOTE_PATTERN})?\s*[:=]\s*(?:b?{_QUOTE_PATTERN})?){_CODE_PATTERN}"),
        rf"\1{REMOVED}",
    ),
    # A code of an authenticator, which is quoted; the number of an error is not.
    (
        re.compile(
            rf"(?<![A-Za-z0-9])(code(?:{_QUOTE_PATTERN})?\s*[:=]\s*{_QUOTE_PATTERN})\d{{6,8}}(?={_QUOTE_PATTERN})"
        ),
        rf"\1{REMOVED}",
    ),
    (
        re.compile(rf"((?:{'|'.join(_SECRET_WORDS)})(?:{_QUOTE_PATTERN})?\s*[:=]\s*){_VALUE_PATTERN}", re.IGNORECASE),
        lambda match: f"{match[1]}{match[2] or ''}{REMOVED}{match[2] or ''}",
    ),
)

_PLAIN_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""The attributes that every record has; callers add others with `extra`."""


class Secrets:
    """Removes secrets from texts: registered values, and texts that match the patterns of tokens and secrets."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._values_pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def add(self, value: str) -> None:
        """Remove this exact value from now on, also in its URL, JSON, repr and base64 forms.

        Ignore a value that is shorter than `SECRET_CHARACTERS_MIN`."""
        if len(value) >= SECRET_CHARACTERS_MIN:
            with self._lock:
                self._values.add(value)
                self._compile()

    def discard(self, value: str) -> None:
        """Stop removing a value that is no longer secret."""
        with self._lock:
            self._values.discard(value)
            self._compile()

    def _compile(self) -> None:
        forms: set[str] = set()
        for value in self._values:
            base64_value = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()
            forms |= {value, json.dumps(value)[1:-1], repr(value)[1:-1], base64_value}
            with contextlib.suppress(UnicodeEncodeError):
                forms |= {quote(value, safe=""), quote(value), quote_plus(value)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._values_pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def clean(self, text: str) -> str:
        """Return the text without secrets, cut to TEXT_CHARACTERS_MAX."""
        values_pattern = self._values_pattern
        if values_pattern is not None:
            text = values_pattern.sub(REMOVED, text)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        if not text.isascii():
            # A lone surrogate cannot be encoded as UTF-8.
            text = text.encode("utf-8", "backslashreplace").decode()
        return text if len(text) <= TEXT_CHARACTERS_MAX else text[:TEXT_CHARACTERS_MAX] + "... (cut)"

    def clean_value(self, value: Any, name: str = "", depth: int = 6) -> Any:
        """Return a value for the log: numbers unchanged, texts cleaned, values named like a secret removed.

        `name` is the key or attribute of the value, and `depth` the number of levels of containers to clean."""
        if value is None or isinstance(value, bool | float):
            return value
        if name and _SECRET_NAME_PATTERN.search(name):
            return REMOVED
        if name == "code" and isinstance(value, str) and _SECRET_CODE_PATTERN.fullmatch(value):
            return REMOVED
        if isinstance(value, int):
            return int(value)
        if depth and isinstance(value, Mapping):
            return {self.clean(str(key)): self.clean_value(inner, str(key), depth - 1) for key, inner in value.items()}
        if depth and isinstance(value, list | tuple | set | frozenset):
            return [self.clean_value(inner, "", depth - 1) for inner in value]
        if isinstance(value, bytes | bytearray):
            return self.clean(bytes(value).decode("utf-8", "backslashreplace"))
        return self.clean(value if isinstance(value, str) else str(value))


class SecretFilter(logging.Filter):
    """Removes secrets from a record, or withholds its content if that fails. It never raises."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self.secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean the record in place and accept it."""
        try:
            self._clean(record)
        except Exception as error:
            _withhold(record, type(error).__name__)
        return True

    def _clean(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception:
            message = f"{record.msg} (the arguments could not be formatted)"
        record.msg = self.secrets.clean(message)
        record.args = None
        record.message = record.msg
        # The filter renders the exception, so that no later formatter prints it or its cause uncleaned.
        if record.exc_info:
            record.exc_text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        record.exc_info = None
        if record.exc_text:
            record.exc_text = self.secrets.clean(record.exc_text)
        if record.stack_info:
            record.stack_info = self.secrets.clean(record.stack_info)
        for name in [name for name in record.__dict__ if name not in _PLAIN_FIELDS]:
            try:
                record.__dict__[name] = self.secrets.clean_value(record.__dict__[name], name)
            except Exception:
                record.__dict__[name] = "(could not be formatted)"


def _withhold(record: logging.LogRecord, reason: str) -> None:
    """Replace the content of a record by a notice."""
    record.msg = f"A log record was withheld because secrets could not be removed from it ({reason})"
    record.message = record.msg
    record.args = None
    record.exc_info = record.exc_text = record.stack_info = None
    for name in [name for name in record.__dict__ if name not in _PLAIN_FIELDS]:
        del record.__dict__[name]


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the attributes that the caller added to a record."""
    return {name: value for name, value in record.__dict__.items() if name not in _PLAIN_FIELDS}


def _format_time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


class JsonFormatter(logging.Formatter):
    """Formats each record as one line with a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the record as one line of JSON."""
        fields: dict[str, Any] = {
            "time": _format_time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {f"{name}_" if name in fields else name: value for name, value in _extra_fields(record).items()}
        if record.exc_text:
            fields["exception"] = record.exc_text
        if record.stack_info:
            fields["stack"] = record.stack_info
        return msgspec.json.encode(fields, enc_hook=str).decode("utf-8", "replace")


class TextFormatter(logging.Formatter):
    """Formats each record as a line with the message and key=value pairs, and the exception and stack below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line, followed by its exception and stack."""
        message = record.getMessage().replace("\n", "\\n")
        pairs = "".join(f" {name}={_quote_value(value)}" for name, value in _extra_fields(record).items())
        line = f"{_format_time(record)} {record.levelname:<7} {record.name} {message}{pairs}"
        return "\n".join(part for part in (line, record.exc_text, record.stack_info) if part)


def _quote_value(value: Any) -> str:
    text = str(value)
    return text if text and not re.search(r"[\s=\"]", text) else json.dumps(text, ensure_ascii=False)


Format = Literal["json", "text", "auto"]


class Logs:
    """The process's log: one handler on the root logger, with the secret filter."""

    def __init__(
        self,
        *,
        level: str = "info",
        library_level: str = "warning",
        format: Format = "auto",
        stream: TextIO | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        self.secrets = secrets or Secrets()
        stream = sys.stderr if stream is None else stream
        self.handler: logging.Handler = logging.StreamHandler(stream)
        self.handler.addFilter(SecretFilter(self.secrets))
        is_text = format == "text" or (format == "auto" and stream.isatty())
        self.handler.setFormatter(TextFormatter() if is_text else JsonFormatter())
        self._levels = {"": library_level.upper(), "hubbub": level.upper()}
        self._previous_levels: dict[str, int] | None = None

    def install(self) -> None:
        """Start to write the log records of this process."""
        if self._previous_levels is None:
            self._previous_levels = {name: logging.getLogger(name).level for name in self._levels}
            for name, level in self._levels.items():
                logging.getLogger(name).setLevel(level)
            logging.getLogger().addHandler(self.handler)

    def remove(self) -> None:
        """Stop writing log records, and restore the levels of the loggers."""
        if self._previous_levels is not None:
            logging.getLogger().removeHandler(self.handler)
            for name, level in self._previous_levels.items():
                logging.getLogger(name).setLevel(level)
            self._previous_levels = None
