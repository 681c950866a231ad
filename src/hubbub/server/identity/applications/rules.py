"""Rules for applications: callers, privileged intents, webhook events, install scopes, client types, origins, URLs."""

from collections.abc import Collection, Mapping
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import EventWebhooksStatus, Scope, TeamRole
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources.applications import InstallParams, IntegrationTypeConfiguration, UpdateApplication
from hubbub.protocol.scopes import ALIASES, INSTALL_SCOPES
from hubbub.server.core.call import Call
from hubbub.server.identity.applications import ports, store, teams, testers
from hubbub.server.identity.applications.store import ApplicationRow
from hubbub.server.identity.applications.views import ApplicationSettings

INTENT_REVIEW_USERS_MIN = 10_000
"""Number of users at which privileged intents begin to require a review. Below it an application can enable them itself."""


INTENT_REVIEW_GUILDS_MIN = 100
"""Number of guilds at which privileged intents required a review before 10 June 2026.

Then `INTENT_REVIEW_USERS_MIN` replaced it (spec/dated-changes.md#3)."""

CONTEXT_SCOPES: Final = {"0": INSTALL_SCOPES, "1": INSTALL_SCOPES - {Scope.BOT.value}}
"""Scopes allowed in each installation context (0 guild, 1 user). A bot cannot be installed for a user."""


class ApplicationSize(NamedTuple):
    """The size of an application, which decides whether privileged intents require a review."""

    unit: Literal["users", "guilds"]
    current_count: int
    """Number of users or guilds."""
    review_count_min: int
    """Number of users or guilds at which privileged intents begin to require a review."""

    @property
    def requires_review(self) -> bool:
        """Whether privileged intents require a review; otherwise the application can enable them itself."""
        return self.current_count >= self.review_count_min


def measure_size(call: Call, row: ApplicationRow) -> ApplicationSize:
    """Count the users (before 10 June 2026: guilds) that the application's bot can reach."""
    if changes.PRIVILEGED_INTENTS_BY_USERS.is_active(call.now_ms):
        return ApplicationSize(
            "users", ports.count_reachable_users(call, row.bot_id) if row.bot_id else 0, INTENT_REVIEW_USERS_MIN
        )
    return ApplicationSize(
        "guilds", ports.count_guilds(call, row.bot_id) if row.bot_id else 0, INTENT_REVIEW_GUILDS_MIN
    )


def require_manager(call: Call, application_id: int, role: TeamRole = TeamRole.DEVELOPER) -> ApplicationRow:
    """Return the application if the caller is its bot, its owner or a member of its team with at least this role.

    Otherwise raise NOT_AUTHORIZED_ON_APPLICATION, or UNKNOWN_APPLICATION if there is no such application."""
    row = store.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    # Any user may hold a bearer token of the application; only the owner's bearer token manages it.
    is_accepted_token = call.actor.application_id == row.id or call.actor.kind == "user"
    if not is_accepted_token or (call.actor.kind != "bot" and not _is_owner_or_member(call, row, role)):
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    return row


def require_viewer(call: Call, application_id: int) -> ApplicationRow:
    """Return the application if the caller may see its settings: as `require_manager`, with any role in the team."""
    return require_manager(call, application_id, TeamRole.READ_ONLY)


def require_owner(call: Call, application_id: int) -> ApplicationRow:
    """Return the application if the caller is the user who owns it or its team.

    Otherwise raise NOT_AUTHORIZED_ON_APPLICATION, or UNKNOWN_APPLICATION if there is no such application."""
    row = store.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.kind != "user" or call.user_id != row.owner_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    return row


def is_developer_or_tester(call: Call, row: ApplicationRow, user_id: int) -> bool:
    """Return whether a user owns an application, is a member of its team or one of its testers."""
    return (
        user_id == row.owner_id
        or teams.has_role(call.tx, row.team_id, user_id, TeamRole.READ_ONLY)
        or testers.is_tester(call.tx, row.id, user_id)
    )


def _is_owner_or_member(call: Call, row: ApplicationRow, role: TeamRole) -> bool:
    if call.user_id == row.owner_id:
        return True
    # Access tokens of team members do not manage the application.
    return call.actor.kind == "user" and teams.has_role(call.tx, row.team_id, call.user_id, role)


def require_own_token_or_owner(call: Call, application_id: int) -> ApplicationRow:
    """Return the application if the caller has one of its tokens or is its owner.

    Otherwise raise NOT_AUTHORIZED_ON_APPLICATION, or UNKNOWN_APPLICATION if there is no such application. The
    tokens of an application include the access tokens of users who authorized it."""
    row = store.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.application_id != row.id and not (call.actor.kind == "user" and call.user_id == row.owner_id):
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    return row


def apply_requested_flags(call: Call, row: ApplicationRow, requested_flags: int) -> int:
    """Return the flags of an application after an edit that requested `requested_flags`.

    Only the three bits of limited intents change. Raise a form error if a bit is newly set and the size of the
    application requires a review."""
    flags = row.flags & ~ApplicationFlags.EDITABLE | requested_flags & ApplicationFlags.EDITABLE
    if flags & ~row.flags:
        application_size = measure_size(call, row)
        if application_size.requires_review:
            raise errors.invalid(
                "flags",
                "APPLICATION_INTENTS_NEED_REVIEW",
                f"Privileged intents require a review from {application_size.review_count_min} {application_size.unit} on.",
            )
    return flags


def require_valid_event_webhooks(settings: ApplicationSettings, body: UpdateApplication) -> None:
    """Reject repeated event types, and a request that enables webhook events without a URL.

    `settings` already contains the changes of `body`."""
    form = FormErrors()
    event_types = body.event_webhooks_types or ()
    for index, event_type in enumerate(event_types):
        if event_type in event_types[:index]:
            form.add(("event_webhooks_types", index), *errors.duplicate())
    enabled_status = EventWebhooksStatus.ENABLED
    if not settings.event_webhooks_url and body.event_webhooks_status == enabled_status:
        form.add("event_webhooks_url", *errors.required())
    form.raise_if_any()


def adjust_event_webhooks_status(settings: ApplicationSettings, body: UpdateApplication) -> None:
    """Set the status of webhook events that follows from the URL.

    `settings` already contains the changes of `body`. Without a URL, ENABLED becomes DISABLED, and DISABLED_BY_PLATFORM
    becomes DISABLED only if the request itself removes the URL. With a URL in the request, which has been verified,
    DISABLED_BY_PLATFORM becomes ENABLED."""
    is_url_written = body.event_webhooks_url is not UNSET
    if settings.event_webhooks_url:
        if is_url_written and settings.event_webhooks_status == EventWebhooksStatus.DISABLED_BY_PLATFORM:
            settings.event_webhooks_status = EventWebhooksStatus.ENABLED
    elif is_url_written or settings.event_webhooks_status == EventWebhooksStatus.ENABLED:
        settings.event_webhooks_status = EventWebhooksStatus.DISABLED


def require_valid_install_params(install_params: InstallParams) -> None:
    """Reject install parameters with scopes that are not for installation (spec/http.md#3.1)."""
    form = FormErrors()
    _check_install_scopes(form, ("install_params",), install_params, INSTALL_SCOPES)
    form.raise_if_any()


def require_valid_integration_types_config(configurations: Mapping[str, IntegrationTypeConfiguration | None]) -> None:
    """Reject unknown installation contexts and scopes that a context does not allow."""
    form = FormErrors()
    for context, configuration in configurations.items():
        path = ("integration_types_config", context)
        if context not in CONTEXT_SCOPES:
            form.add(path, *errors.choices(list(CONTEXT_SCOPES)))
        elif configuration is not None and isinstance(configuration.oauth2_install_params, InstallParams):
            _check_install_scopes(
                form, (*path, "oauth2_install_params"), configuration.oauth2_install_params, CONTEXT_SCOPES[context]
            )
    form.raise_if_any()


def _check_install_scopes(
    form: FormErrors, path: tuple[str, ...], install_params: InstallParams, allowed_scopes: Collection[str]
) -> None:
    for index, scope in enumerate(install_params.scopes):
        if ALIASES.get(scope, scope) not in allowed_scopes:
            form.add((*path, "scopes", index), *errors.bad_enum(scope))


def require_family_client_type(call: Call, row: ApplicationRow, is_public: bool) -> None:
    """Reject a client type that differs from the client type of the application's family (spec/sdk.md#8.7)."""
    if (
        bool(row.flags & ApplicationFlags.PUBLIC_OAUTH2_CLIENT) is not is_public
        and len(store.list_family_ids(call.tx, row.id)) > 1
    ):
        raise errors.invalid(
            "public_client",
            "APPLICATION_FAMILY_CLIENT_TYPE",
            "A publisher and its games must have the same client type: all public or all confidential.",
        )


def require_valid_rpc_origins(origins: list[str]) -> list[str]:
    """Return the origins if all are valid, or raise a form error that names each invalid or repeated origin.

    An origin has a scheme, a host and an optional port, as browsers send it."""
    form = errors.FormErrors()
    for index, origin in enumerate(origins):
        if not _is_web_origin(origin):
            form.add(
                ("rpc_origins", index),
                "RPC_ORIGIN_INVALID",
                "Not an origin. Use http or https, a host and an optional port.",
            )
        elif origin in origins[:index]:
            form.add(("rpc_origins", index), *errors.duplicate())
    form.raise_if_any()
    return origins


def _is_web_origin(text: str) -> bool:
    try:
        url_parts = urlsplit(text)
        _ = url_parts.port  # Raises ValueError for an invalid port.
    except ValueError:
        return False
    return (
        f"{url_parts.scheme}://{url_parts.netloc}" == text
        and bool(url_parts.hostname)
        and "@" not in url_parts.netloc
        and url_parts.scheme in ("http", "https")
    )


def require_valid_url(path: str, url_text: str | None) -> str | None:
    """Return `url_text` if it is an http or https URL, or None if it is empty; otherwise raise a form error at `path`."""
    if not url_text:
        return None
    malformed_error = errors.invalid(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    try:
        url_parts = urlsplit(url_text)
    except ValueError:
        raise malformed_error from None
    if url_parts.scheme not in ("http", "https"):
        raise errors.invalid(
            path,
            "URL_TYPE_INVALID_SCHEME",
            f"Scheme \"{url_parts.scheme}\" is not supported. Scheme must be one of ('http', 'https').",
        )
    if not url_parts.hostname:
        raise malformed_error
    return url_text


def reject_application_owner(call: Call, user_id: int) -> None:
    """Reject the deletion of a user who owns an application."""
    if store.owns_application(call.tx, user_id):
        raise errors.MUST_TRANSFER_OWNERSHIP(
            message="Transfer your applications to another owner before you delete your account"
        )
