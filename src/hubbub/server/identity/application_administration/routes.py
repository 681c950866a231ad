"""HTTP handlers for the administration of applications."""

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import application_administration as wire
from hubbub.protocol.resources.administration import AdministrativeAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.identity.application_administration import actions, views
from hubbub.server.identity.applications import ApplicationRow


@handles(wire.SEARCH_APPLICATIONS)
def search_applications(call: Call, query: wire.SearchApplications) -> list[wire.AdministeredApplication]:
    """Search the applications of the server."""
    return views.application_list(call, search(call, query))


def search(call: Call, query: wire.SearchApplications) -> list[ApplicationRow]:
    """Return a page of the applications that match a query, by ascending ID."""
    return applications.administration.search(
        call.tx, query.query.strip(), only_disabled=query.disabled, after_id=query.after or 0, limit=query.limit
    )


@handles(wire.GET_ADMINISTERED_APPLICATION, long=True)
def get_administered_application(call: Call, application_id: ApplicationId) -> wire.AdministeredApplicationDetails:
    """Get an application with its usage counts."""
    return views.application_details(call, _require_application(call, application_id))


@handles(wire.DISABLE_APPLICATION)
def disable_application(
    call: Call, application_id: ApplicationId, body: wire.DisableApplication
) -> wire.AdministeredApplication:
    """Disable an application.

    Until the application is enabled, the server rejects its tokens and sends it no interactions and no webhook
    events.
    """
    actions.disable(call, _require_application(call, application_id), reason=body.reason)
    return views.application(call, _require_application(call, application_id))


@handles(wire.ENABLE_APPLICATION)
def enable_application(
    call: Call, application_id: ApplicationId, body: AdministrativeAction
) -> wire.AdministeredApplication:
    """Enable a disabled application.

    The tokens of the application are valid again.
    """
    actions.enable(call, _require_application(call, application_id), reason=body.reason)
    return views.application(call, _require_application(call, application_id))


@handles(wire.ADMINISTRATIVELY_DELETE_APPLICATION)
def administratively_delete_application(
    call: Call, application_id: ApplicationId, body: wire.AdministrativeApplicationDeletion
) -> wire.AdministeredApplication:
    """Delete an application after a grace period.

    The application is disabled immediately. Messages of the bot are kept unless `delete_messages` is true.
    """
    actions.schedule_deletion(
        call,
        _require_application(call, application_id),
        reason=body.reason,
        grace_days=body.grace_days,
        includes_messages=body.delete_messages,
    )
    return views.application(call, _require_application(call, application_id))


@handles(wire.RESTORE_APPLICATION)
def restore_application(
    call: Call, application_id: ApplicationId, body: AdministrativeAction
) -> wire.AdministeredApplication:
    """Cancel the deletion of an application.

    An application that the deletion disabled is enabled.
    """
    if not actions.restore(call, _require_application(call, application_id), reason=body.reason):
        raise errors.FORBIDDEN(message="No deletion of this application can be canceled.")
    return views.application(call, _require_application(call, application_id))


def _require_application(call: Call, application_id: ApplicationId) -> ApplicationRow:
    row = applications.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    return row
