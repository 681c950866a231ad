"""Definitions shared by the operator console's pages: the page decorator, rendering and search."""

import functools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources import administration
from hubbub.protocol.resources.administration import Operator
from hubbub.server.transports.web.console import audit_texts, texts
from hubbub.server.transports.web.console.texts import translate_labels
from hubbub.server.transports.web.page_requests import PageRequest, page

CONSOLE_PATH: Final = "/admin"
PAGE_SIZE: Final = 25
"""Number of entries on one page of a search."""

TARGET_PATHS: Final = {"user": "users", "guild": "guilds", "application": "applications", "report": "reports"}
"""Section of the pages of targets by the kind of the target."""

T = TypeVar("T")

ConsolePage = Callable[[PageRequest, Operator], Awaitable[web.Response]]


def console_page(method: str, path: str) -> Callable[[ConsolePage], Callable[[PageRequest], Awaitable[web.Response]]]:
    """Register `async def (request, operator) -> web.Response` as a page of the console; `path` is below `/admin`.

    Users who are not operators see an error page, and operators without two-factor authentication see how to enable it.
    """

    def register(function: ConsolePage) -> Callable[[PageRequest], Awaitable[web.Response]]:
        @functools.wraps(function)
        async def handle(request: PageRequest) -> web.Response:
            try:
                operator = await request.call(administration.GET_MY_OPERATOR)
            except ApiError as error:
                if error.kind is errors.TWO_FACTOR_REQUIRED:
                    # The status 401 would end the session of the browser.
                    return request.render("admin/two_factor.html", status=403)
                raise
            return await function(request, operator)

        return page(method, CONSOLE_PATH + path)(handle)

    return register


def render(request: PageRequest, template: str, operator: Operator, **context: Any) -> web.Response:
    """Render a page of the console."""
    return request.render(f"admin/{template}", **_frame_context(operator), **context)


def render_errors(
    request: PageRequest, template: str, error: ApiError, operator: Operator, *, fields: Sequence[str], **context: Any
) -> web.Response:
    """Render a page of the console with the errors of its form."""
    return request.render_errors(f"admin/{template}", error, fields=fields, **_frame_context(operator), **context)


def reason_body(request: PageRequest) -> dict[str, Any]:
    """Return the body of an action with the reason for the audit log, if the form has one."""
    reason = request.form.trimmed("audit_reason")
    return {"reason": reason} if reason else {}


@dataclass(frozen=True)
class TargetPage:
    """The page of an account, a guild or an application, from which operators act on it."""

    path: str
    """Path of the section of the console."""
    parameter: str
    """Name of the path parameter with the ID of the target."""
    template: str
    deletion: Operation[Any, Any]
    """Operation that deletes a target. Its reason is the field `deletion_reason` of the form."""
    read_context: Callable[[PageRequest], Awaitable[dict[str, Any]]]
    """Function that reads the target for the template."""
    replace_error: Callable[[ApiError], ApiError] = lambda error: error
    """Function that replaces errors whose message does not fit the page."""

    async def act(
        self,
        request: PageRequest,
        operator: Operator,
        operation: Operation[Any, Any],
        body: dict[str, Any],
        notice: str,
        fields: Sequence[str] = (),
    ) -> web.Response:
        """Run an operation on the target of the path and show the target again; on failure, show errors at `fields`."""
        target_id = request.path_parameter(self.parameter)
        is_deletion = operation is self.deletion
        try:
            await request.call(operation, target_id, body=body)
        except ApiError as error:
            return render_errors(
                request,
                self.template,
                self.replace_error(error),
                operator,
                fields=fields,
                form_field_names={"reason": "deletion_reason"} if is_deletion else None,
                **await self.read_context(request),
            )
        return request.redirect(f"{CONSOLE_PATH}{self.path}/{target_id}", notice=notice)


class SearchPage:
    """One page of the results of a search by text and state; the next page starts after the last ID."""

    def __init__(self, request: PageRequest, path: str, states: Sequence[tuple[str, str]] = ()) -> None:
        self.states = translate_labels(states)
        self.text = request.query_parameter("query").strip()[: administration.SEARCH_TEXT_MAX]
        state = request.query_parameter("state")
        self.state = state if state in dict(states) else ""
        after = request.query_parameter("after")
        self.is_first_page = not after
        self.path = CONSOLE_PATH + path
        self.next_path: str | None = None
        """Path of the next page; None on the last page, and before `cut`."""
        self.query = {"limit": [str(PAGE_SIZE + 1)], "query": [self.text]}
        """Query of the operation."""
        if self.state:
            self.query["state"] = [self.state]
        if after.isascii() and after.isdigit():
            self.query["after"] = [after]

    def cut(self, entries: list[T]) -> list[T]:
        """Return the entries of this page, and set `next_path` if there are more."""
        page_entries = entries[:PAGE_SIZE]
        if len(entries) > PAGE_SIZE:
            last_entry: Any = page_entries[-1]
            parameters = {"query": self.text, "state": self.state, "after": str(int(last_entry.id))}
            self.next_path = f"{self.path}?{urlencode({name: value for name, value in parameters.items() if value})}"
        return page_entries


def _frame_context(operator: Operator) -> dict[str, Any]:
    """Return the template context that all pages of the console share."""
    return {
        "operator": operator,
        "sections": translate_labels(texts.SECTIONS),
        "role_names": texts.ROLE_NAMES,
        "role_sentences": texts.ROLE_SENTENCES,
        "actions": audit_texts.ACTIONS,
        "automatic_actions": audit_texts.AUTOMATIC_ACTIONS,
        "action_sentence": audit_texts.action_sentence,
        "action_detail": audit_texts.action_detail,
        "target_name": audit_texts.target_name,
        "target_paths": TARGET_PATHS,
        "home": CONSOLE_PATH,
        "can_moderate": operator.role in (OperatorRole.OWNER, OperatorRole.MODERATOR),
        "is_owner": operator.role == OperatorRole.OWNER,
    }
