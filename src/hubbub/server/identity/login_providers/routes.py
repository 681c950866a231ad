"""HTTP handlers for logins at external providers, and the identities that users link."""

import secrets

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import LOCALES
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import login_providers as wire
from hubbub.protocol.resources.accounts import RegistrationResult
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.login_config import LoginProviderConfig
from hubbub.server.core.slices import handles
from hubbub.server.identity import accounts
from hubbub.server.identity.login_providers import actions, authorization_code, store
from hubbub.server.identity.login_providers.claims import ProviderUser
from hubbub.server.identity.login_providers.store import AttemptRow

# Login


@handles(wire.LIST_LOGIN_PROVIDERS)
def list_login_providers(call: Call) -> list[wire.LoginProvider]:
    """List the providers at which users can log in."""
    return [wire.LoginProvider(id=provider.id, name=provider.name) for provider in call.config.login.providers]


@handles(wire.START_PROVIDER_LOGIN)
async def start_provider_login(operation: AsyncOperation, provider_id: str) -> wire.ProviderLoginStart:
    """Start a login at a provider."""
    return await _start_login(operation, provider_id, None)


async def _start_login(operation: AsyncOperation, provider_id: str, user_id: UserId | None) -> wire.ProviderLoginStart:
    provider, web_url, now_ms = await operation.read(
        lambda call: (actions.require_provider(call, provider_id), call.config.web_url, call.now_ms)
    )
    state = secrets.token_urlsafe(32)
    attempt = actions.new_attempt(provider, state, user_id)
    url = await authorization_code.build_login_url(operation, provider, attempt, state, web_url, now_ms)
    ticket = await operation.write(lambda call: actions.save_attempt(call, attempt))
    return wire.ProviderLoginStart(ticket=ticket, url=url)


async def _redeem_response(
    operation: AsyncOperation, body: wire.CompleteProviderLogin, user_id: UserId | None
) -> tuple[LoginProviderConfig, ProviderUser]:
    """Return the provider and its user for the response of the provider, or raise a form error."""

    # The ticket is consumed before the code is redeemed, so that it allows one attempt.
    def consume(call: Call) -> tuple[LoginProviderConfig, AttemptRow, str, int]:
        return *actions.consume_attempt(call, body.ticket, user_id), call.config.web_url, call.now_ms

    provider, attempt, web_url, now_ms = await operation.write(consume)
    actions.require_response_of(attempt, body)
    user = await authorization_code.redeem_code(operation, provider, attempt, body, web_url, now_ms)
    actions.require_allowed(provider, user)
    return provider, user


@handles(wire.AUTH_LOGIN_WITH_PROVIDER)
async def auth_login_with_provider(
    operation: AsyncOperation, body: wire.CompleteProviderLogin
) -> wire.ProviderLoginResult:
    """Log in with the response of a provider.

    If the identity has no account, the response contains a registration instead of a token. The account's
    two-factor code is required unless the operator trusts the methods that the provider reports.
    """
    provider, user = await _redeem_response(operation, body, None)

    def complete_login(call: Call) -> wire.ProviderLoginResult:
        row = actions.find_or_link(call, provider, user)
        if row is None:
            registration = actions.start_registration(call, provider, user)
            return wire.ProviderLoginResult(user_id=None, token=None, registration=registration)
        user_id = UserId(row.user_id)
        accounts.logins.require_admitted(call, user_id)
        store.record_use(call.tx, row.id, call.now_ms)
        if user.methods.isdisjoint(provider.second_factor_methods) and accounts.logins.has_authenticator(call, user_id):
            ticket = accounts.logins.issue_mfa_ticket(call, user_id)
            return wire.ProviderLoginResult(user_id=user_id, token=None, mfa=True, ticket=ticket)
        return wire.ProviderLoginResult(user_id=user_id, token=accounts.sign_in(call, user_id))

    return await operation.write(complete_login)


@handles(wire.AUTH_REGISTER_WITH_PROVIDER)
def auth_register_with_provider(call: Call, body: wire.RegisterWithProvider) -> RegistrationResult:
    """Register an account for an identity at a provider and sign it in.

    The account has no password. The user can set one in a session that is at most ten minutes old.
    """
    locale = "en-US" if body.locale is UNSET else body.locale
    if locale not in LOCALES:
        raise errors.invalid("locale", *errors.choices(sorted(LOCALES)))
    user_id, is_pending = actions.register(call, body, locale)
    return accounts.logins.admit(call, user_id, is_pending=is_pending, message=body.message)


@handles(wire.GET_PROVIDER_LOGOUT)
async def get_provider_logout(operation: AsyncOperation, provider_id: str) -> wire.ProviderLogout:
    """Get the URL that ends the session at a provider."""
    provider, web_url, now_ms = await operation.read(
        lambda call: (actions.require_provider(call, provider_id), call.config.web_url, call.now_ms)
    )
    return wire.ProviderLogout(url=await authorization_code.build_logout_url(operation, provider, web_url, now_ms))


# Management


@handles(wire.GET_LOGIN_METHODS)
def get_login_methods(call: Call) -> wire.LoginMethods:
    """Get the ways in which the current user can log in."""
    return wire.LoginMethods(
        has_password=accounts.logins.has_password(call, call.user_id),
        backup_code_count=accounts.logins.count_backup_codes(call, call.user_id),
        identities=[actions.view(call, row) for row in store.list_by_user(call.tx, call.user_id)],
    )


@handles(wire.START_IDENTITY_LINK)
async def start_identity_link(operation: AsyncOperation, body: wire.StartIdentityLink) -> wire.ProviderLoginStart:
    """Start linking an identity at a provider to the current user."""
    user_id = await accounts.logins.require_reauthentication(operation, body.password)
    return await _start_login(operation, body.provider_id, user_id)


@handles(wire.CREATE_LOGIN_IDENTITY)
async def create_login_identity(operation: AsyncOperation, body: wire.CompleteProviderLogin) -> wire.LoginIdentity:
    """Link an identity with the response of a provider."""
    user_id = await operation.read(lambda call: call.user_id)
    provider, user = await _redeem_response(operation, body, user_id)
    return await operation.write(lambda call: actions.view(call, actions.link(call, provider, user, call.user_id)))


@handles(wire.DELETE_LOGIN_IDENTITY)
async def delete_login_identity(
    operation: AsyncOperation, identity_id: Snowflake, body: wire.DeleteLoginIdentity
) -> None:
    """Delete an identity of the current user, which unlinks it.

    The last way to log in cannot be removed: the account needs a password or another identity.
    """
    await accounts.logins.require_reauthentication(operation, body.password)
    await operation.write(lambda call: actions.unlink(call, identity_id))
