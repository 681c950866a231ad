"""HTTP handlers for passkeys."""

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import passkeys as wire
from hubbub.protocol.resources.accounts import SessionToken
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.relying_party import RelyingParty
from hubbub.server.core.slices import handles
from hubbub.server.identity import accounts, users
from hubbub.server.identity.passkeys import actions, ceremonies, store
from hubbub.server.identity.passkeys.store import PasskeyRow

# Login


@handles(wire.START_PASSKEY_LOGIN)
def start_passkey_login(call: Call) -> wire.PasskeyChallenge:
    """Start a login with a passkey.

    The request is rejected with 403 if the public URL of the server does not allow passkeys.
    """
    party = actions.require_relying_party(call)
    ticket, challenge = actions.issue_challenge(call, None)
    return wire.PasskeyChallenge(ticket=ticket, options=ceremonies.login_options(party, challenge))


@handles(wire.AUTH_LOGIN_WITH_PASSKEY)
async def auth_login_with_passkey(operation: AsyncOperation, body: wire.LoginWithPasskey) -> SessionToken:
    """Log in with a passkey.

    The login needs neither a password nor a two-factor code, because the authenticator verifies the user.
    """
    credential_id = ceremonies.read_credential_id(body.credential)

    # The challenge is consumed before the verification, so that a ticket allows one attempt.
    def start_login(call: Call) -> tuple[RelyingParty, bytes, PasskeyRow | None]:
        challenge = actions.consume_challenge(call, body.ticket, None)
        return actions.require_relying_party(call), challenge, store.find_by_credential(call.tx, credential_id)

    party, challenge, row = await operation.write(start_login)
    if row is None:
        raise ceremonies.invalid_credential_error()
    passkey = row

    def verify() -> int:
        verified_login = ceremonies.verify_login(
            party, body.credential, challenge, public_key=bytes(passkey.public_key), sign_count=passkey.sign_count
        )
        return verified_login.new_sign_count

    sign_count = await operation.run_in_thread(verify)

    def complete_login(call: Call) -> SessionToken:
        current_row = store.find(call.tx, passkey.user_id, passkey.id)
        # Another login may have used the passkey, or the user may have deleted it, since the verification began.
        if current_row is None or (sign_count and sign_count <= current_row.sign_count):
            raise ceremonies.invalid_credential_error()
        accounts.logins.require_admitted(call, UserId(passkey.user_id))
        store.record_use(call.tx, passkey.id, sign_count, call.now_ms)
        token = accounts.sign_in(call, UserId(passkey.user_id))
        return SessionToken(user_id=UserId(passkey.user_id), token=token)

    return await operation.write(complete_login)


# Management


@handles(wire.LIST_PASSKEYS)
def list_passkeys(call: Call) -> list[wire.Passkey]:
    """List the passkeys of the current user."""
    return [actions.view(row) for row in store.list_by_user(call.tx, call.user_id)]


@handles(wire.START_PASSKEY_REGISTRATION)
async def start_passkey_registration(
    operation: AsyncOperation, body: wire.StartPasskeyRegistration
) -> wire.PasskeyChallenge:
    """Start the registration of a passkey."""
    await operation.read(actions.require_relying_party)
    await accounts.logins.require_password(operation, body.password)

    def issue_challenge(call: Call) -> wire.PasskeyChallenge:
        user = users.find(call.tx, call.user_id)
        if user is None:
            raise errors.UNAUTHORIZED()
        ticket, challenge = actions.issue_challenge(call, call.user_id)
        options = ceremonies.registration_options(
            actions.require_relying_party(call),
            user_id=user.id,
            username=user.username,
            display_name=user.global_name or user.username,
            challenge=challenge,
            existing_credential_ids=[bytes(row.credential_id) for row in store.list_by_user(call.tx, user.id)],
        )
        return wire.PasskeyChallenge(ticket=ticket, options=options)

    return await operation.write(issue_challenge)


@handles(wire.CREATE_PASSKEY)
async def create_passkey(operation: AsyncOperation, body: wire.CreatePasskey) -> wire.Passkey:
    """Create a passkey."""

    def consume_challenge(call: Call) -> tuple[RelyingParty, bytes]:
        return actions.require_relying_party(call), actions.consume_challenge(call, body.ticket, call.user_id)

    party, challenge = await operation.write(consume_challenge)
    verified_registration = await operation.run_in_thread(
        ceremonies.verify_registration, party, body.credential, challenge
    )

    def create(call: Call) -> wire.Passkey:
        row = PasskeyRow(
            id=call.new_id(Snowflake),
            user_id=call.user_id,
            credential_id=verified_registration.credential_id,
            public_key=verified_registration.credential_public_key,
            sign_count=verified_registration.sign_count,
            name=body.name.strip() or "Passkey",
            created_ms=call.now_ms,
            used_ms=None,
        )
        actions.create(call, row)
        return actions.view(row)

    return await operation.write(create)


@handles(wire.UPDATE_PASSKEY)
def update_passkey(call: Call, passkey_id: Snowflake, body: wire.UpdatePasskey) -> wire.Passkey:
    """Rename a passkey of the current user."""
    row = _require_passkey(call, passkey_id)._replace(name=body.name.strip() or "Passkey")
    store.rename(call.tx, row.id, row.name)
    return actions.view(row)


@handles(wire.DELETE_PASSKEY)
async def delete_passkey(operation: AsyncOperation, passkey_id: Snowflake, body: wire.DeletePasskey) -> None:
    """Delete a passkey of the current user."""
    await accounts.logins.require_password(operation, body.password)
    await operation.write(lambda call: actions.delete(call, _require_passkey(call, passkey_id)))


def _require_passkey(call: Call, passkey_id: int) -> PasskeyRow:
    row = store.find(call.tx, call.user_id, passkey_id)
    if row is None:
        raise errors.NOT_FOUND()
    return row
