"""Every operation of operators has a command of `hubbub admin` and is used by the console."""

import ast
import inspect
from typing import Any

from hubbub.protocol.operation import Operation
from hubbub.protocol.resources import administration
from hubbub.server.app import App
from hubbub.server.commands import admin_socket
from hubbub.server.transports.web.console import PAGE_MODULES
from tests.world import small_config

COMMANDS = {
    "GET /admin/announcements": "list-announcements",
    "POST /admin/announcements": "announce",
    "POST /admin/announcements/{announcement_id}/end": "end-announcement",
    "GET /admin/applications": "list-applications",
    "GET /admin/applications/{application_id}": "show-application",
    "POST /admin/applications/{application_id}/delete": "delete-application",
    "POST /admin/applications/{application_id}/restore": "restore-application",
    "POST /admin/applications/{application_id}/disable": "disable-application",
    "POST /admin/applications/{application_id}/enable": "enable-application",
    "GET /admin/audit-log": "audit-log",
    "GET /admin/decisions": "list-decisions",
    "POST /admin/decisions/{decision_id}/appeal": "decide-appeal",
    "PUT /admin/documents/{document_kind}": "publish-document",
    "GET /admin/features": "list-features",
    "PUT /admin/features/{feature_name}": "switch-feature",
    "GET /admin/files": "list-files",
    "POST /admin/files/{attachment_id}/delete": "delete-file",
    "GET /admin/guilds": "list-guilds",
    "GET /admin/guilds/{guild_id}": "show-guild",
    "POST /admin/guilds/{guild_id}/delete": "delete-guild",
    "POST /admin/guilds/{guild_id}/restore": "restore-guild",
    "GET /admin/guilds/{guild_id}/storage": "show-guild",
    "PUT /admin/guilds/{guild_id}/storage": "set-quota",
    "POST /admin/guilds/{guild_id}/suspend": "suspend-guild",
    "POST /admin/guilds/{guild_id}/transfer": "transfer-guild",
    "POST /admin/guilds/{guild_id}/unsuspend": "unsuspend-guild",
    "GET /admin/jobs": "list-jobs",
    "POST /admin/jobs/{job_id}/discard": "discard-job",
    "POST /admin/jobs/{job_id}/retry": "retry-job",
    "GET /admin/operators": "list-operators",
    "GET /admin/operators/@me": "list-operators",
    "PUT /admin/operators/{user_id}": "set-operator",
    "POST /admin/operators/{user_id}/remove": "remove-operator",
    "GET /admin/queues": "list-jobs",
    "POST /admin/queues/{job_kind}/retry": "retry-jobs",
    "GET /admin/registration-invites": "list-registration-invites",
    "POST /admin/registration-invites": "create-registration-invite",
    "POST /admin/registration-invites/{registration_invite_id}/delete": "delete-registration-invite",
    "GET /admin/registrations": "list-registrations",
    "POST /admin/registrations/{user_id}/approve": "approve-registration",
    "POST /admin/registrations/{user_id}/reject": "reject-registration",
    "GET /admin/reports": "list-reports",
    "GET /admin/reports/{case_id}": "show-report",
    "POST /admin/reports/{case_id}/assign": "assign-report",
    "POST /admin/reports/{case_id}/decide": "decide-report",
    "GET /admin/sessions": "list-sessions",
    "POST /admin/sessions/{session_id}/end": "end-session",
    "GET /admin/storage": "storage",
    "GET /admin/users": "list-users",
    "GET /admin/users/{user_id}": "show-user",
    "POST /admin/users/{user_id}/delete": "delete-user",
    "POST /admin/users/{user_id}/end-sessions": "end-sessions",
    "POST /admin/users/{user_id}/restore": "restore-user",
    "POST /admin/users/{user_id}/export": "export-user",
    "GET /admin/users/{user_id}/export/messages": "export-user",
    "GET /admin/users/{user_id}/storage": "show-user",
    "PUT /admin/users/{user_id}/storage": "set-quota",
    "POST /admin/users/{user_id}/suspend": "ban-user",
    "POST /admin/users/{user_id}/unsuspend": "unban-user",
}
"""Commands that do the same as an operation."""


def list_console_operations() -> list[Operation[Any, Any]]:
    """Return the operations that the source of the console's pages names."""
    operations = []
    for module in PAGE_MODULES:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                value = getattr(getattr(module, node.value.id, None), node.attr, None)
            elif isinstance(node, ast.Name):
                value = getattr(module, node.id, None)
            else:
                continue
            if isinstance(value, Operation):
                operations.append(value)
    return operations


def test_the_console_uses_every_operation_of_operators() -> None:
    operations = {
        endpoint.operation
        for endpoint in App(small_config()).table.endpoints
        if endpoint.operation.operator is not None
    }
    used_operations = {*list_console_operations(), administration.GET_MY_OPERATOR}

    assert {f"{operation.method} {operation.path}" for operation in operations - used_operations} == set()


def test_every_operation_of_operators_has_a_command() -> None:
    endpoints = App(small_config()).table.endpoints
    operations = {
        f"{endpoint.operation.method} {endpoint.operation.path}"
        for endpoint in endpoints
        if endpoint.operation.operator is not None
    }

    assert operations == set(COMMANDS)
    assert set(COMMANDS.values()) <= set(admin_socket.ACTIONS)
