"""Administration of applications by operators: search, disabling and deletion."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.application_administration import ports, routes
from hubbub.server.identity.application_administration.actions import delete, disable, enable
from hubbub.server.identity.application_administration.routes import search
from hubbub.server.identity.application_administration.views import application_details

SLICE = Slice(name="application_administration", modules=(routes, ports), tags={routes: "administration"})

__all__ = ["SLICE", "application_details", "delete", "disable", "enable", "ports", "search"]
