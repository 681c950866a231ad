"""Making people."""

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.resources import users
from hubbub.server.resources.users import UserRow


def create(
    call: Call,
    username: str,
    *,
    user_id: UserId | None = None,
    email: str | None | UnsetType = UNSET,
    global_name: str | None | UnsetType = UNSET,
) -> UserRow:
    """A new person with a unique name, or the form error that says why not."""
    name = users.require_username(username).lower()
    form = errors.FormErrors()
    if users.find_person(call.tx, name) is not None:
        form.add("username", "USERNAME_ALREADY_TAKEN", "Username is unavailable.")
    address = email.lower() if isinstance(email, str) else None
    if address is not None and call.tx.value("SELECT 1 FROM users WHERE email = ?", address) is not None:
        form.add("email", "EMAIL_ALREADY_REGISTERED", "Email is already registered.")
    form.raise_if_any()
    row = UserRow(
        id=user_id or call.new_id(UserId),
        username=name,
        discriminator="0",
        global_name=users.clean_name(global_name) if isinstance(global_name, str) else None,
        avatar=None,
        banner=None,
        accent_color=None,
        bio="",
        bot=0,
        system=0,
        flags=0,
        public_flags=0,
        premium_type=0,
        locale="en-US",
        email=address,
        verified=0,
        mfa_enabled=0,
    )
    users.insert(call.tx, row)
    return row


def set_password(call: Call, user_id: UserId, password_hash: str) -> None:
    """Keep a password's hash."""
    call.tx.run(
        "INSERT INTO accounts (user_id, password_hash, changed_ms) VALUES (?, ?, ?) "
        "ON CONFLICT (user_id) DO UPDATE SET password_hash = excluded.password_hash, changed_ms = excluded.changed_ms",
        user_id,
        password_hash,
        call.now,
    )
