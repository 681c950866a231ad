"""Registering, logging in and out."""

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import accounts as wire
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.core.work import Work
from hubbub.server.resources import users
from hubbub.server.resources.accounts import actions, passwords


@handles(wire.AUTH_REGISTER)
async def auth_register(work: Work, body: wire.Register) -> wire.Session:
    """Make an account and sign it in."""
    # The name is checked before the expensive hash, and again where it is taken.
    users.require_username(body.username)
    password_hash = await work.heavy(passwords.hash_password, body.password)

    def register(call: Call) -> wire.Session:
        row = actions.create(call, body.username, email=body.email, global_name=body.global_name)
        actions.set_password(call, row.id, password_hash)
        return _sign_in(call, row.id)

    return await work.write(register)


@handles(wire.AUTH_LOGIN)
async def auth_login(work: Work, body: wire.Login) -> wire.Session:
    """Sign in by name or address."""
    login = body.login.strip().lower()
    known = await work.read(
        lambda call: call.tx.one(
            "SELECT a.user_id, a.password_hash FROM users u JOIN accounts a ON a.user_id = u.id "
            "WHERE u.bot = 0 AND (u.username = ? OR u.email = ?)",
            login,
            login,
        )
    )
    if not await work.heavy(passwords.verify, known[1] if known else None, body.password) or known is None:
        form = errors.FormErrors()
        for field in ("login", "password"):
            form.add(field, "INVALID_LOGIN", "Login or password is invalid.")
        raise form.error()
    user_id = UserId(known[0])
    return await work.write(lambda call: _sign_in(call, user_id))


@handles(wire.AUTH_LOGOUT)
def auth_logout(call: Call) -> None:
    """End the token this call came with."""
    auth.revoke(call.tx, call.user_id, token_id=call.actor.token_id)


def _sign_in(call: Call, user_id: UserId) -> wire.Session:
    token = auth.issue(call.tx, kind="user", user_id=user_id, now=call.now, ids=call.ids)
    return wire.Session(user_id=user_id, token=token)
