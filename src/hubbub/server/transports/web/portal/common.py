"""What every page of the portal begins and ends with."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.permissions import BITS
from hubbub.protocol.resources import applications
from hubbub.protocol.resources.applications import Application
from hubbub.server.transports.web.visits import Visit

HOME: Final = "/developers"
ONE: Final = HOME + r"/{application_id:\d{1,19}}"
"""The address of one application's pages."""

PERMISSIONS: Final = [(name, name.replace("_", " ").capitalize()) for name in BITS]
"""For lists to tick."""

SECTIONS: Final = (
    ("", "General"),
    ("/bot", "Bot"),
    ("/oauth2", "OAuth2"),
    ("/installation", "Installation"),
    ("/approvals", "Approvals"),
    ("/identity", "Identity"),
    ("/webhooks", "Webhook events"),
    ("/interactions", "Interactions"),
    ("/pictures", "Emoji and art"),
    ("/testers", "Testers"),
    ("/store", "Store"),
)


def address(visit: Visit, section: str = "") -> str:
    """A page of the application that this visit is about."""
    return f"{HOME}/{visit.path('application_id')}{section}"


async def load(visit: Visit) -> Application:
    """The application; to everybody but its owner it is as if there were none."""
    try:
        return await visit.ask(applications.GET_APPLICATION, visit.path("application_id"))
    except ApiError as error:
        if error.kind is errors.NOT_AUTHORIZED_ON_APPLICATION:
            raise errors.UNKNOWN_APPLICATION() from error
        raise


async def change(visit: Visit, body: Mapping[str, Any]) -> Application:
    """Change the application."""
    return await visit.ask(applications.UPDATE_APPLICATION, visit.path("application_id"), body=body)


def show(visit: Visit, template: str, application: Application, **context: Any) -> web.Response:
    """A page about an application."""
    return visit.show(f"portal/{template}", application=application, **_frame(visit), **context)


def refuse(
    visit: Visit,
    template: str,
    error: ApiError,
    application: Application,
    *,
    fields: Sequence[str],
    names: Mapping[str, str] | None = None,
    **context: Any,
) -> web.Response:
    """The same with what was wrong beside the fields; the second factor is a field too."""
    if error.kind is errors.TWO_FACTOR_REQUIRED:
        error = errors.invalid("code", *errors.required())
    return visit.refuse(
        f"portal/{template}",
        error,
        fields=fields,
        names=names,
        application=application,
        **_frame(visit),
        **context,
    )


def show_secret(visit: Visit, application: Application, **context: Any) -> web.Response:
    """A secret, this once: straight from the POST, so that no address and no notice ever holds it."""
    return show(visit, "secret.html", application, **context)


def numbered(name: str, to: str, count: int) -> dict[str, str]:
    """That errors inside a list belong to the one field in which it was typed."""
    return {f"{name}.{number}": to for number in range(count)}


def _frame(visit: Visit) -> dict[str, Any]:
    return {"sections": SECTIONS, "home": address(visit)}
