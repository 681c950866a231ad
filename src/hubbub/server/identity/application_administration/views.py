"""Wire models of applications for operators."""

from collections.abc import Sequence

from hubbub.protocol import codec
from hubbub.protocol.ids import ApplicationId, Snowflake, UserId
from hubbub.protocol.resources import application_administration as wire
from hubbub.protocol.resources.administration import ScheduledDeletion
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, users
from hubbub.server.identity.application_administration import ports, store
from hubbub.server.identity.applications import ApplicationRow


def application(call: Call, row: ApplicationRow) -> wire.AdministeredApplication:
    """Build the wire model of an application."""
    return application_list(call, [row])[0]


def application_list(call: Call, rows: Sequence[ApplicationRow]) -> list[wire.AdministeredApplication]:
    """Build the wire models of a page of applications."""
    owners_by_id = users.find_many(call.tx, [row.owner_id for row in rows])
    return [_application(call, row, owners_by_id.get(row.owner_id)) for row in rows]


def application_details(call: Call, row: ApplicationRow) -> wire.AdministeredApplicationDetails:
    """Build the wire model of an application with its usage counts."""
    application_view = application(call, row)
    fields = {name: getattr(application_view, name) for name in application_view.__struct_fields__}
    return wire.AdministeredApplicationDetails(
        **fields,
        description=row.description,
        guild_count=0 if row.bot_id is None else applications.ports.count_guilds(call, row.bot_id),
        user_install_count=applications.administration.count_user_installs(call.tx, row.id),
        user_authorization_count=applications.administration.count_user_authorizations(call.tx, row.id),
        command_count=ports.count_commands(call, row.id),
        token_count=auth.count_application_tokens(call.tx, row.id, call.now_ms),
    )


def _application(call: Call, row: ApplicationRow, owner: users.UserRow | None) -> wire.AdministeredApplication:
    disabled_row = applications.administration.find_disabled(call.tx, row.id) if row.disabled else None
    # A scheduled deletion disables its application, so an enabled one has none.
    deletion = store.find(call.tx, row.id) if row.disabled else None
    return wire.AdministeredApplication(
        id=ApplicationId(row.id),
        name=row.name,
        icon=row.icon,
        owner_id=UserId(row.owner_id),
        owner_name=None if owner is None else owner.username,
        bot_id=None if row.bot_id is None else UserId(row.bot_id),
        created_at=codec.timestamp(Snowflake(row.id).created_ms),
        disabled=None
        if disabled_row is None
        else wire.DisabledState(reason=disabled_row.reason, created_at=codec.timestamp(disabled_row.created_ms)),
        deletion=None
        if deletion is None
        else ScheduledDeletion(
            reason=deletion.reason,
            created_at=codec.timestamp(deletion.created_ms),
            due_at=codec.timestamp(deletion.due_ms),
        ),
    )
