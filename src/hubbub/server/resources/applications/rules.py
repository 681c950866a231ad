"""Who may manage an application, and what its flags may become."""

from collections.abc import Collection, Mapping
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import EventWebhooksStatus, Scope
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources.applications import InstallParams, IntegrationTypeConfiguration, UpdateApplication
from hubbub.protocol.scopes import ALIASES, INSTALLING
from hubbub.server.core.call import Call
from hubbub.server.resources.applications import store
from hubbub.server.resources.applications.store import ApplicationRow
from hubbub.server.resources.applications.views import Settings
from hubbub.server.resources.users import UserDeletionAsked

FREE_INTENT_USERS = 10_000
"""Spec, Limits: privileged intents are a free toggle below so many users, and granted by review from there on."""


FREE_INTENT_GUILDS = 100
"""Before 10 June 2026 guilds were counted instead (dated-changes.md 3)."""

CONTEXTS: Final = {"0": INSTALLING, "1": INSTALLING - {Scope.BOT.value}}
"""Where an application can be installed, and the scopes of that: nobody takes a bot along."""


class Size(NamedTuple):
    """How large an application is, as far as privileged intents are concerned."""

    counted: Literal["users", "guilds"]
    found: int
    free_below: int

    @property
    def free(self) -> bool:
        """Whether privileged intents are its own choice."""
        return self.found < self.free_below


def measure(call: Call, row: ApplicationRow) -> Size:
    """Count whom its bot can reach."""
    if changes.PRIVILEGED_INTENTS_BY_USERS.active(call.now):
        return Size("users", store.reachable_users(call.tx, row.bot_id) if row.bot_id else 0, FREE_INTENT_USERS)
    return Size("guilds", store.guild_count(call.tx, row.bot_id) if row.bot_id else 0, FREE_INTENT_GUILDS)


def require_manager(call: Call, application_id: int) -> ApplicationRow:
    """The application, for its own token or its owner; 20012 for everybody else."""
    row = store.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    # Anybody may hold a bearer token of the application; it manages in its owner's hands only.
    own = call.actor.application_id == row.id or call.actor.kind == "user"
    if not own or (call.actor.kind != "bot" and call.user_id != row.owner_id):
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    return row


def require_own(call: Call, application_id: int) -> ApplicationRow:
    """The application whose token this is, whoever holds it, or its owner's; 20012 for everybody else."""
    row = store.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.application_id != row.id and not (call.actor.kind == "user" and call.user_id == row.owner_id):
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    return row


def allowed_flags(call: Call, row: ApplicationRow, wanted: int) -> int:
    """The flags after an edit: only the three limited intent bits change, and are set only below the free limit."""
    bits = row.flags & ~ApplicationFlags.EDITABLE | wanted & ApplicationFlags.EDITABLE
    if bits & ~row.flags:
        size = measure(call, row)
        if not size.free:
            raise errors.invalid(
                "flags",
                "APPLICATION_INTENTS_NEED_REVIEW",
                f"Privileged intents need a review from {size.free_below} {size.counted} on.",
            )
    return bits


def require_event_webhooks(kept: Settings, body: UpdateApplication) -> None:
    """Raise unless what a body says of webhook events can be kept; without an address there are none."""
    form = FormErrors()
    for index, kind in enumerate(body.event_webhooks_types or ()):
        if kind in (body.event_webhooks_types or ())[:index]:
            form.add(("event_webhooks_types", index), *errors.duplicate())
    on = EventWebhooksStatus.ENABLED
    if not kept.event_webhooks_url:
        if body.event_webhooks_status == on:
            form.add("event_webhooks_url", *errors.required())
        elif kept.event_webhooks_status == on or body.event_webhooks_url is not UNSET:
            kept.event_webhooks_status = EventWebhooksStatus.DISABLED
    form.raise_if_any()


def require_install_params(params: InstallParams) -> None:
    """Raise unless all scopes that an installation asks for are those of installing (http.md 3.1)."""
    form = FormErrors()
    _check_scopes(form, ("install_params",), params, INSTALLING)
    form.raise_if_any()


def require_contexts(found: Mapping[str, IntegrationTypeConfiguration | None]) -> None:
    """Raise unless an application can be installed in these contexts, with what they ask for."""
    form = FormErrors()
    for key, value in found.items():
        at = ("integration_types_config", key)
        if key not in CONTEXTS:
            form.add(at, *errors.choices(list(CONTEXTS)))
        elif value is not None and isinstance(value.oauth2_install_params, InstallParams):
            _check_scopes(form, (*at, "oauth2_install_params"), value.oauth2_install_params, CONTEXTS[key])
    form.raise_if_any()


def _check_scopes(form: FormErrors, path: tuple[str, ...], params: InstallParams, allowed: Collection[str]) -> None:
    for number, scope in enumerate(params.scopes):
        if ALIASES.get(scope, scope) not in allowed:
            form.add((*path, "scopes", number), *errors.bad_enum(scope))


def require_own_kind(call: Call, row: ApplicationRow, public: bool) -> None:
    """Raise where one of a family would become another kind of client than the others (sdk.md 8.7)."""
    if bool(row.flags & ApplicationFlags.PUBLIC_OAUTH2_CLIENT) is not public and len(store.family(call.tx, row.id)) > 1:
        raise errors.invalid(
            "public_client",
            "APPLICATION_FAMILY_CLIENT_TYPE",
            "A publisher and its games are the same type of client, all public or all with a secret.",
        )


def require_origins(origins: list[str]) -> list[str]:
    """Origins as browsers send them, each once: scheme, host and port; a form error at each that is none."""
    form = errors.FormErrors()
    for number, origin in enumerate(origins):
        try:
            parts = urlsplit(origin)
            plain = f"{parts.scheme}://{parts.netloc}" == origin and bool(parts.hostname) and "@" not in parts.netloc
            _ = parts.port
        except ValueError:
            plain, parts = False, None
        if not plain or parts is None or parts.scheme not in ("http", "https"):
            form.add(("rpc_origins", number), "RPC_ORIGIN_INVALID", "Not an origin: http or https, a host, and a port.")
        elif origin in origins[:number]:
            form.add(("rpc_origins", number), *errors.duplicate())
    form.raise_if_any()
    return origins


def require_url(path: str, text: str | None) -> str | None:
    """A URL that a browser could open, or the form error."""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        host = None
        parts = None
    if parts is not None and parts.scheme not in ("http", "https"):
        raise errors.invalid(
            path,
            "URL_TYPE_INVALID_SCHEME",
            f"Scheme \"{parts.scheme}\" is not supported. Scheme must be one of ('http', 'https').",
        )
    if not host:
        raise errors.invalid(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    return text


def require_no_application(call: Call, asked: UserDeletionAsked) -> None:
    """Raise for somebody who owns an application and wants to be gone: nobody would answer for it."""
    if store.is_owner(call.tx, asked.user_id):
        raise errors.MUST_TRANSFER_OWNERSHIP(
            message="Your applications need another owner before you delete your account"
        )
