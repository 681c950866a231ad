"""Labels that several pages of the operator console show."""

from collections.abc import Iterable
from typing import Final

from hubbub.server.core.translation import gettext, gettext_noop, ngettext

SECTIONS: Final = (
    ("/users", gettext_noop("Accounts")),
    ("/sessions", gettext_noop("Sessions")),
    ("/registrations", gettext_noop("Registrations")),
    ("/guilds", gettext_noop("Guilds")),
    ("/reports", gettext_noop("Reports")),
    ("/appeals", gettext_noop("Appeals")),
    ("/applications", gettext_noop("Applications")),
    ("/files", gettext_noop("Files")),
    ("/queues", gettext_noop("Queues")),
    ("/announcements", gettext_noop("Announcements")),
    ("/features", gettext_noop("Features")),
    ("/documents", gettext_noop("Documents")),
    ("/operators", gettext_noop("Operators")),
    ("/audit-log", gettext_noop("Audit log")),
)
"""Path and title of each section of the console."""

ROLE_NAMES: Final = {
    "auditor": gettext_noop("Auditor"),
    "moderator": gettext_noop("Moderator"),
    "owner": gettext_noop("Owner"),
}
"""Names of the roles of operators."""

ROLE_SENTENCES: Final = {
    "auditor": gettext_noop("You are an auditor of this server."),
    "moderator": gettext_noop("You are a moderator of this server."),
    "owner": gettext_noop("You are an owner of this server."),
}
"""Sentences that name the role of the operator who uses the console."""

FEATURES: Final = {
    "registration": (gettext_noop("Registration"), gettext_noop("New users can create accounts.")),
    "guild_creation": (gettext_noop("Guild creation"), gettext_noop("Users can create guilds, also from templates.")),
    "uploads": (gettext_noop("Uploads"), gettext_noop("Users and bots can send files.")),
    "voice": (
        gettext_noop("Voice calls"),
        gettext_noop("Users can join calls. Running calls continue while it is off."),
    ),
    "applications": (
        gettext_noop("Applications"),
        gettext_noop("Users can create, authorize and install applications."),
    ),
    "push": (gettext_noop("Push notifications"), gettext_noop("Browsers receive push notifications.")),
    "link_previews": (
        gettext_noop("Link previews"),
        gettext_noop("The server fetches the links of messages and shows previews of them."),
    ),
}
"""Title and description of each feature."""

DOCUMENT_TITLES: Final = {"terms": gettext_noop("Terms of use"), "privacy": gettext_noop("Privacy notice")}
"""Title of each kind of document."""


def grace_periods() -> list[tuple[str, str]]:
    """Return the choices for the days until a deletion, with their labels."""
    periods = [(str(days), ngettext("{count} day", "{count} days", days)) for days in (30, 7, 1, 90)]
    return [*periods, ("0", gettext("None: delete now"))]


def translate_labels(choices: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the choices of a form with their labels in the language of the page."""
    return [(value, gettext(label)) for value, label in choices]
