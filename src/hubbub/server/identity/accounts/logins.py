"""Steps of a login, for other slices: password, second factor, state of the account, and admission of a new account."""

from hubbub.server.identity.accounts.actions import admit, issue_mfa_ticket, require_admitted
from hubbub.server.identity.accounts.routes import (
    count_backup_codes,
    has_authenticator,
    has_password,
    record_login,
    require_password,
    require_reauthentication,
    run_with_mfa,
    verify_credentials,
)

__all__ = [
    "admit",
    "count_backup_codes",
    "has_authenticator",
    "has_password",
    "issue_mfa_ticket",
    "record_login",
    "require_admitted",
    "require_password",
    "require_reauthentication",
    "run_with_mfa",
    "verify_credentials",
]
