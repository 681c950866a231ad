"""Verification of passwords and second factors for other slices."""

from hubbub.server.identity.accounts.routes import record_login, require_password, run_with_mfa, verify_credentials

__all__ = ["record_login", "require_password", "run_with_mfa", "verify_credentials"]
