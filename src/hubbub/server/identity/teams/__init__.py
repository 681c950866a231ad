"""Operations on teams of developers."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import applications
from hubbub.server.identity.teams import routes
from hubbub.server.identity.teams.routes import export_data
from hubbub.server.identity.users.signals import UserDeleting

SLICE = Slice(
    name="teams",
    modules=(routes,),
    listeners={UserDeleting: lambda call, signal: applications.teams.delete_user(call.tx, signal.user_id)},
)

__all__ = ["SLICE", "export_data"]
