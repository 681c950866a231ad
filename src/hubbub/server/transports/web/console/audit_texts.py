"""Texts of the audit log of operators: a sentence for each action, and the details of entries."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final

from hubbub.protocol.resources.administration import OperatorAuditEntry
from hubbub.server.core import translation
from hubbub.server.core.translation import gettext, gettext_noop, ngettext
from hubbub.server.transports.web.console.texts import DOCUMENT_TITLES, FEATURES, ROLE_NAMES

ACTIONS: Final = {
    "announcement.create": gettext_noop("%(operator)s announced %(target)s"),
    "announcement.end": gettext_noop("%(operator)s ended the announcement %(target)s"),
    "appeal.granted": gettext_noop("%(operator)s granted the appeal of %(target)s"),
    "appeal.rejected": gettext_noop("%(operator)s rejected the appeal of %(target)s"),
    "application.add_bot": gettext_noop("%(operator)s added the bot of %(target)s"),
    "application.approve_intent": gettext_noop("%(operator)s approved an intent of %(target)s"),
    "application.approve_scope": gettext_noop("%(operator)s approved a scope of %(target)s"),
    "application.create": gettext_noop("%(operator)s created the application %(target)s"),
    "application.delete": gettext_noop("%(operator)s scheduled the deletion of %(target)s"),
    "application.deleted": gettext_noop("%(operator)s deleted the application %(target)s"),
    "application.deny_approval": gettext_noop("%(operator)s denied a request of %(target)s"),
    "application.disable": gettext_noop("%(operator)s disabled the application %(target)s"),
    "application.enable": gettext_noop("%(operator)s enabled the application %(target)s"),
    "application.link_publisher": gettext_noop("%(operator)s linked the game %(target)s"),
    "application.reset_bot_token": gettext_noop("%(operator)s reset the bot token of %(target)s"),
    "application.restore": gettext_noop("%(operator)s restored %(target)s"),
    "document.publish": gettext_noop("%(operator)s published the document %(target)s"),
    "feature.switch_off": gettext_noop("%(operator)s switched off %(target)s"),
    "feature.switch_on": gettext_noop("%(operator)s switched on %(target)s"),
    "file.delete": gettext_noop("%(operator)s deleted the file %(target)s"),
    "guild.delete": gettext_noop("%(operator)s scheduled the deletion of %(target)s"),
    "guild.deleted": gettext_noop("%(operator)s deleted the guild %(target)s"),
    "guild.restore": gettext_noop("%(operator)s restored %(target)s"),
    "guild.set_quota": gettext_noop("%(operator)s set the storage quota of %(target)s"),
    "guild.split_permissions": gettext_noop("%(operator)s split the permissions of %(target)s"),
    "guild.suspend": gettext_noop("%(operator)s suspended the guild %(target)s"),
    "guild.transfer": gettext_noop("%(operator)s transferred the guild %(target)s"),
    "guild.unsuspend": gettext_noop("%(operator)s lifted the suspension of %(target)s"),
    "guild.update": gettext_noop("%(operator)s changed the guild %(target)s"),
    "job.discard": gettext_noop("%(operator)s discarded a job of %(target)s"),
    "job.retry": gettext_noop("%(operator)s retried a job of %(target)s"),
    "operator.remove": gettext_noop("%(operator)s removed the operator %(target)s"),
    "operator.set": gettext_noop("%(operator)s set the operator role of %(target)s"),
    "queue.retry": gettext_noop("%(operator)s retried the failed jobs of %(target)s"),
    "registration.approve": gettext_noop("%(operator)s approved the registration of %(target)s"),
    "registration.reject": gettext_noop("%(operator)s rejected the registration of %(target)s"),
    "registration_invite.create": gettext_noop("%(operator)s created the registration invite %(target)s"),
    "registration_invite.delete": gettext_noop("%(operator)s deleted the registration invite %(target)s"),
    "report.assign": gettext_noop("%(operator)s took over the report on the %(target)s"),
    "report.decide": gettext_noop("%(operator)s decided about the report on the %(target)s"),
    "report.unassign": gettext_noop("%(operator)s released the report on the %(target)s"),
    "upload.reject": gettext_noop("%(operator)s rejected an upload of %(target)s"),
    "user.create": gettext_noop("%(operator)s created the account %(target)s"),
    "user.delete": gettext_noop("%(operator)s scheduled the deletion of %(target)s"),
    "user.deleted": gettext_noop("%(operator)s deleted the account %(target)s"),
    "user.end_session": gettext_noop("%(operator)s ended a session of %(target)s"),
    "user.end_sessions": gettext_noop("%(operator)s ended the sessions of %(target)s"),
    "user.export": gettext_noop("%(operator)s exported the data of %(target)s"),
    "user.restore": gettext_noop("%(operator)s restored %(target)s"),
    "user.set_password": gettext_noop("%(operator)s set the password of %(target)s"),
    "user.set_premium": gettext_noop("%(operator)s set the premium tier of %(target)s"),
    "user.set_quota": gettext_noop("%(operator)s set the storage quota of %(target)s"),
    "user.suspend": gettext_noop("%(operator)s suspended %(target)s"),
    "user.unsuspend": gettext_noop("%(operator)s lifted the suspension of %(target)s"),
}
"""Sentences for the actions of the audit log."""

AUTOMATIC_ACTIONS: Final = frozenset({"application.deleted", "guild.deleted", "upload.reject", "user.deleted"})
"""Actions that the server performs without an operator."""

_TIME_PATTERN: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d) UTC"
"""Pattern of times in details, see `administration.audit.format_time`."""


def action_sentence(entry: OperatorAuditEntry) -> str:
    """Return the English sentence for the action of an entry, with placeholders for its operator and target."""
    return ACTIONS.get(entry.action, f"%(operator)s: {entry.action.replace('%', '%%')} %(target)s")


def target_name(entry: OperatorAuditEntry) -> str:
    """Return the name of the target of an entry, or its ID if it has no name."""
    name = entry.target_name
    if entry.target_kind == "feature" and name in FEATURES:
        return gettext(FEATURES[name][0])
    if entry.target_kind == "document" and name in DOCUMENT_TITLES:
        return gettext(DOCUMENT_TITLES[name])
    if entry.target_kind == "report":
        kind, _, title = name.partition(": ")
        if kind == "message":
            return gettext("message: {title}", title=title)
        if kind == "user":
            return gettext("user: {title}", title=title)
        if kind == "guild":
            return gettext("guild: {title}", title=title)
    return name or (gettext("unknown account") if entry.target_id is None else str(int(entry.target_id)))


def action_detail(entry: OperatorAuditEntry) -> str:
    """Return the detail of an entry in the language of the page. A detail of unknown form is returned unchanged."""
    for actions, pattern, translate in _DETAILS:
        match = re.fullmatch(pattern, entry.detail) if entry.action in actions else None
        if match is not None:
            return translate(match)
    return entry.detail


def _format_time(text: str) -> str:
    return translation.format_time(datetime.fromisoformat(text))


def _role_name(role: str) -> str:
    return gettext(ROLE_NAMES[role]) if role in ROLE_NAMES else role


def _translate_decision(match: re.Match[str]) -> str:
    """Return the label of a decision about a report."""
    labels = {
        "dismiss": gettext("Dismissed"),
        "warn": gettext("Warning of the account"),
        "warn and delete message": gettext("Warning of the account, message deleted"),
        "delete message": gettext("Deleted message"),
        "suspend user": gettext("Suspension of the account"),
        "suspend user and delete message": gettext("Suspension of the account, message deleted"),
        "suspend guild": gettext("Suspension of the guild"),
    }
    return labels.get(match[0], match[0])


_DELETIONS: Final = ("user.delete", "guild.delete", "application.delete")
_QUOTAS: Final = ("user.set_quota", "guild.set_quota")

_DETAILS: Final[tuple[tuple[tuple[str, ...], str, Callable[[re.Match[str]], str]], ...]] = (
    (("user.suspend",), f"until {_TIME_PATTERN}", lambda match: gettext("until {time}", time=_format_time(match[1]))),
    (_DELETIONS, f"on {_TIME_PATTERN}", lambda match: gettext("on {time}", time=_format_time(match[1]))),
    (
        _DELETIONS,
        f"on {_TIME_PATTERN} with its messages",
        lambda match: gettext("on {time} with its messages", time=_format_time(match[1])),
    ),
    (
        ("user.deleted", "guild.deleted", "application.deleted"),
        r"The grace period ended\.",
        lambda match: gettext("The grace period ended."),
    ),
    (
        ("user.end_sessions",),
        r"(\d+) sessions?",
        lambda match: ngettext("{count} session", "{count} sessions", int(match[1])),
    ),
    (("user.end_session",), r"session (\d+)", lambda match: gettext("session {id}", id=match[1])),
    (("queue.retry",), r"(\d+) jobs", lambda match: ngettext("{count} job", "{count} jobs", int(match[1]))),
    (("operator.set",), r"to (\w+)", lambda match: gettext("to {role}", role=_role_name(match[1]))),
    (
        ("operator.set",),
        r"from (\w+) to (\w+)",
        lambda match: gettext("from {previous} to {role}", previous=_role_name(match[1]), role=_role_name(match[2])),
    ),
    (
        ("operator.remove",),
        r"with the role (\w+)",
        lambda match: gettext("with the role {role}", role=_role_name(match[1])),
    ),
    (
        ("guild.transfer",),
        r"from (\S+) to (\S+)",
        lambda match: gettext("from {previous} to {owner}", previous=match[1], owner=match[2]),
    ),
    (("report.assign",), r"to (\S+)", lambda match: gettext("to {username}", username=match[1])),
    (("report.decide",), r"[a-z ]+", _translate_decision),
    (("document.publish",), r"version (\d+)", lambda match: gettext("version {version}", version=match[1])),
    (
        ("document.publish",),
        r"version (\d+), without asking users",
        lambda match: gettext("version {version}, without asking users", version=match[1]),
    ),
    (("registration_invite.create",), "uses: no limit", lambda match: gettext("uses: no limit")),
    (("registration_invite.create",), r"uses: (\d+)", lambda match: gettext("uses: {count}", count=match[1])),
    (_QUOTAS, "to the default", lambda match: gettext("to the default")),
    (_QUOTAS, r"to (\S+ \S+)", lambda match: gettext("to {size}", size=match[1])),
    (
        ("file.delete",),
        r"(\S+ \S+) in message (\d+)",
        lambda match: gettext("{size} in message {id}", size=match[1], id=match[2]),
    ),
    (
        ("upload.reject",),
        r"(.+) \((\d+) bytes\): (.+) found (.+)",
        lambda match: gettext(
            "{file} ({size} bytes): {scanner} found {finding}",
            file=match[1],
            size=translation.format_number(int(match[2])),
            scanner=match[3],
            finding=match[4],
        ),
    ),
    (("application.add_bot",), r"guild (\d+)", lambda match: gettext("guild {id}", id=match[1])),
    (("application.link_publisher",), r"publisher (\d+)", lambda match: gettext("publisher {id}", id=match[1])),
)
"""Forms of details that the server writes in English: actions, a pattern, and a function that returns the translation."""
