"""HTTP handlers for developers' applications, approvals, testers and rich presence assets."""

import secrets

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, AssetId, UserId
from hubbub.protocol.resources import developers as wire
from hubbub.protocol.resources.applications import Application, PublicApplication
from hubbub.protocol.resources.features import Feature
from hubbub.server.core import auth
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import accounts, applications, features, oauth2, users
from hubbub.server.identity.applications.testers import TESTER_ACCEPTED, TESTER_INVITED, TesterRow
from hubbub.server.identity.developers import actions, rules, store, views
from hubbub.server.identity.developers.store import AssetRow

NO_STORE = {"Cache-Control": "no-store"}
"""Response headers for secrets, which must not be cached."""

# Applications


@handles(wire.LIST_APPLICATIONS)
def list_applications(call: Call) -> list[PublicApplication]:
    """List the applications of the current user.

    Applications of teams that the user is a member of are included."""
    return oauth2.public_applications(
        call.tx, applications.management.list_managed_applications(call.tx, call.user_id), call.now_ms
    )


@handles(wire.CREATE_APPLICATION)
def create_application(call: Call, body: wire.CreateApplication) -> Application:
    """Create an application.

    The application has no bot. Its client secret is not returned; reset the client secret to get one."""
    features.require_enabled(call, Feature.APPLICATIONS)
    name = users.names.require_bot_name(body.name, "name")
    if len(applications.management.list_owned_applications(call.tx, call.user_id)) >= wire.APPLICATIONS_MAX:
        raise errors.APPLICATION_LIMIT()
    created_application = applications.management.create(call, name, call.user_id, with_bot=False)
    return applications.management.application_view(call, created_application.row, for_user=True)


@handles(wire.DELETE_APPLICATION)
async def delete_application(operation: AsyncOperation, application_id: ApplicationId, body: wire.Confirmation) -> None:
    """Delete an application and everything that belongs to it.

    The request must contain an MFA code if the owner has two-factor authentication."""
    await operation.read(lambda call: applications.access.require_owner(call, application_id))
    await accounts.logins.run_with_mfa(
        operation,
        body.code,
        lambda call: actions.delete(call, applications.access.require_owner(call, application_id)),
    )


@handles(wire.CREATE_APPLICATION_BOT)
def create_application_bot(call: Call, application_id: ApplicationId) -> Response:
    """Create the bot of an application."""
    row = applications.access.require_manager(call, application_id)
    if row.bot_id is not None:
        raise errors.invalid("application_id", "APPLICATION_HAS_BOT", "The application already has a bot.")
    return Response(201, wire.BotToken(token=applications.management.add_bot(call, row)), NO_STORE)


@handles(wire.RESET_BOT_TOKEN)
async def reset_bot_token(
    operation: AsyncOperation, application_id: ApplicationId, body: wire.Confirmation
) -> Response:
    """Reset a bot token.

    The old token is revoked and its gateway sessions end. The request must contain an MFA code if the caller has
    two-factor authentication."""
    await _require_manager_early(operation, application_id, with_bot=True)

    def reset(call: Call) -> str:
        return applications.management.reset_bot_token(call, applications.access.require_manager(call, application_id))

    return Response(200, wire.BotToken(token=await accounts.logins.run_with_mfa(operation, body.code, reset)), NO_STORE)


@handles(wire.RESET_CLIENT_SECRET)
async def reset_client_secret(
    operation: AsyncOperation, application_id: ApplicationId, body: wire.Confirmation
) -> Response:
    """Reset the client secret of an application.

    The request must contain an MFA code if the caller has two-factor authentication."""
    await _require_manager_early(operation, application_id)

    def reset(call: Call) -> str:
        return applications.management.reset_client_secret(
            call, applications.access.require_manager(call, application_id)
        )

    return Response(
        200, wire.ClientSecret(secret=await accounts.logins.run_with_mfa(operation, body.code, reset)), NO_STORE
    )


async def _require_manager_early(
    operation: AsyncOperation, application_id: ApplicationId, *, with_bot: bool = False
) -> None:
    """Reject callers who may not manage the application, before an MFA code is requested and consumed.

    With `with_bot`, reject an application without a bot as well."""

    def require_manager_and_bot(call: Call) -> None:
        row = applications.access.require_manager(call, application_id)
        if with_bot and row.bot_id is None:
            raise errors.APPLICATION_HAS_NO_BOT()

    await operation.read(require_manager_and_bot)


# Approvals


@handles(wire.GET_APPLICATION_APPROVALS)
def get_application_approvals(call: Call, application_id: ApplicationId) -> wire.Approvals:
    """Get the approvals of an application."""
    return views.approvals(call, applications.access.require_viewer(call, application_id))


@handles(wire.REQUEST_APPLICATION_APPROVAL)
def request_application_approval(
    call: Call, application_id: ApplicationId, body: wire.RequestApproval
) -> wire.Approval:
    """Request an approval for a scope or a privileged intent."""
    row = applications.access.require_manager(call, application_id)
    rules.require_requestable(call, row, body)
    actions.request_approval(call, row, body)
    return views.approval(call, applications.access.require_manager(call, application_id), body.kind, body.name)


# Testers


@handles(wire.LIST_APPLICATION_TESTERS)
def list_application_testers(call: Call, application_id: ApplicationId) -> list[wire.Tester]:
    """List the testers of an application."""
    row = applications.access.require_viewer(call, application_id)
    return views.testers(call.tx, applications.testers.list_testers(call.tx, row.id))


@handles(wire.INVITE_APPLICATION_TESTER)
def invite_application_tester(call: Call, application_id: ApplicationId, body: wire.AddTester) -> wire.Tester:
    """Invite a user to test an application."""
    row = applications.access.require_manager(call, application_id)
    user = users.names.find_by_username(call.tx, body.username.strip().lower())
    if user is None:
        raise errors.invalid("username", "TESTER_UNKNOWN", "No user has this username.")
    if user.id == row.owner_id:
        raise errors.invalid("username", "TESTER_IS_OWNER", "The owner does not need an invitation.")
    if applications.testers.find_tester(call.tx, row.id, user.id) is not None:
        raise errors.invalid("username", "TESTER_ALREADY_INVITED", "This user is already invited.")
    return _save_tester(call, row.id, user.id, TESTER_INVITED)


@handles(wire.DELETE_APPLICATION_TESTER)
def delete_application_tester(call: Call, application_id: ApplicationId, user_id: UserId) -> None:
    """Remove a tester from an application."""
    row = applications.access.require_manager(call, application_id)
    if not applications.testers.delete_tester(call.tx, row.id, user_id):
        raise errors.UNKNOWN_USER()


@handles(wire.CREATE_TEST_USER)
def create_test_user(call: Call, application_id: ApplicationId, body: wire.AddTester) -> Response:
    """Create a test user.

    Only rehearsals have this operation; other servers respond with 404.
    """
    row = applications.access.require_manager(call, application_id)
    if not call.config.control:
        raise errors.NOT_FOUND()
    user = accounts.create_user(call, body.username)
    password = secrets.token_urlsafe(12)
    # A rehearsal's password is not a secret: hash it cheaply, inside the transaction.
    accounts.set_password(
        call, user.id, accounts.passwords.hash_password_weakly(password, salt=secrets.token_bytes(16))
    )
    token = auth.issue(call.tx, kind="user", user_id=user.id, now=call.now_ms, ids=call.ids)
    tester = _save_tester(call, row.id, user.id, TESTER_ACCEPTED)
    return Response(201, wire.TestUser(user=tester.user, token=token, password=password), NO_STORE)


def _save_tester(call: Call, application_id: int, user_id: int, state: int) -> wire.Tester:
    """Store a tester with the state TESTER_INVITED or TESTER_ACCEPTED.

    Raise a form error if the application has too many testers."""
    if len(applications.testers.list_testers(call.tx, application_id)) >= wire.APPLICATION_TESTERS_MAX:
        raise errors.invalid(
            "username", "TESTER_LIMIT", f"An application can have at most {wire.APPLICATION_TESTERS_MAX} testers."
        )
    row = TesterRow(application_id, user_id, state, call.now_ms)
    applications.testers.save_tester(call.tx, row)
    return views.testers(call.tx, [row])[0]


@handles(wire.LIST_MY_TESTER_INVITATIONS)
def list_my_tester_invitations(call: Call) -> list[wire.TesterInvitation]:
    """List the applications that the current user tests or is invited to test."""
    testers_by_application = {
        row.application_id: row for row in applications.testers.list_user_tester_rows(call.tx, call.user_id)
    }
    tested_applications = oauth2.public_applications(
        call.tx, list(applications.find_many(call.tx, testers_by_application).values()), call.now_ms
    )
    return [
        wire.TesterInvitation(
            application=application,
            state=TESTER_INVITED if testers_by_application[application.id].state == TESTER_INVITED else TESTER_ACCEPTED,
        )
        for application in tested_applications
    ]


@handles(wire.ACCEPT_TESTER_INVITATION)
def accept_tester_invitation(call: Call, application_id: ApplicationId) -> None:
    """Accept a tester invitation."""
    row = applications.testers.find_tester(call.tx, application_id, call.user_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    applications.testers.save_tester(call.tx, row._replace(state=TESTER_ACCEPTED))


@handles(wire.DELETE_TESTER_INVITATION)
def delete_tester_invitation(call: Call, application_id: ApplicationId) -> None:
    """Decline a tester invitation, or stop testing an application."""
    if not applications.testers.delete_tester(call.tx, application_id, call.user_id):
        raise errors.UNKNOWN_APPLICATION()


# Rich presence assets


@handles(wire.LIST_APPLICATION_ASSETS)
def list_application_assets(call: Call, application_id: ApplicationId) -> list[wire.Asset]:
    """List the rich presence assets of an application.

    The operation works without a token, because games and clients of any user resolve the names of assets.
    """
    if applications.find(call.tx, application_id) is None:
        raise errors.UNKNOWN_APPLICATION()
    return [views.asset(row) for row in store.list_assets(call.tx, application_id)]


@handles(wire.CREATE_APPLICATION_ASSET)
def create_application_asset(call: Call, application_id: ApplicationId, body: wire.CreateAsset) -> wire.Asset:
    """Create a rich presence asset."""
    applications.access.require_manager(call, application_id)
    # spec/sdk.md#9: names of assets, which the specification calls keys, are stored in lower case.
    name = body.name.strip().lower()
    if not name:
        raise errors.invalid("name", *errors.required())
    if store.find_asset_by_name(call.tx, application_id, name) is not None:
        raise errors.invalid("name", "APPLICATION_ASSET_NAME_TAKEN", "Another asset already has this name.")
    if store.count_assets(call.tx, application_id) >= wire.APPLICATION_ASSETS_MAX:
        raise errors.invalid(
            "image", "APPLICATION_ASSET_LIMIT", f"An application can have at most {wire.APPLICATION_ASSETS_MAX} assets."
        )
    row = AssetRow(call.new_id(AssetId), application_id, name, body.type, body.image.hash)
    store.insert_asset(call.tx, row)
    return views.asset(row)


@handles(wire.DELETE_APPLICATION_ASSET)
def delete_application_asset(call: Call, application_id: ApplicationId, asset_id: AssetId) -> None:
    """Delete a rich presence asset."""
    applications.access.require_manager(call, application_id)
    if not store.delete_asset(call.tx, application_id, asset_id):
        raise errors.UNKNOWN_ASSET()
