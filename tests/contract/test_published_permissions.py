"""Permissions in the published descriptions: each operation that requires some names them, or has a reason not to."""

import re

from hubbub.protocol import errors
from hubbub.protocol.permissions import Permissions
from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.transports.http import openapi_texts
from tests.contract.test_permission_matrix import HANDLER_PERMISSIONS

READ_PERMISSIONS = {"VIEW_CHANNEL", "READ_MESSAGE_HISTORY"}
"""Permissions that many operations declare and that say nothing about a write."""

OWNER_REASON = "the description names the owner or author"
TEAM_REASON = "the description names the roles of the team"
READ_REASON = "VIEW_CHANNEL and READ_MESSAGE_HISTORY are sufficient"
RESTRICTION_REASON = "requires no permission: members with a timeout or an open membership screening are rejected"
OWN_STATE_REASON = "changes only the caller's own state, for which access to the channel is sufficient"
TOKEN_REASON = "the token in the path authorizes; the permissions are those of the webhook or of the invoking user"
PROVISIONAL_ACCOUNT_REASON = "the description names the accounts that are rejected"

OPERATIONS_WITHOUT_NAMED_PERMISSION = {
    "update_team": TEAM_REASON,
    "delete_team": OWNER_REASON,
    "add_team_member": TEAM_REASON,
    "update_team_member": TEAM_REASON,
    "delete_team_member": TEAM_REASON,
    "transfer_team": OWNER_REASON,
    "set_guild_mfa_level": OWNER_REASON,
    "delete_guild": OWNER_REASON,
    "assign_guild_role_connection": "the description names the requirements of the role",
    "set_guild_onboarding_responses": RESTRICTION_REASON,
    "get_message": READ_REASON,
    "join_thread": RESTRICTION_REASON,
    "leave_thread": OWN_STATE_REASON,
    "list_public_archived_threads": READ_REASON,
    "list_my_private_archived_threads": READ_REASON,
    "list_message_reactions_by_emoji": READ_REASON,
    "delete_my_message_reaction": OWN_STATE_REASON,
    "list_pins": READ_REASON,
    "deprecated_list_pins": READ_REASON,
    "get_answer_voters": READ_REASON,
    "vote_in_poll": RESTRICTION_REASON,
    "poll_expire": OWNER_REASON,
    "thread_search": READ_REASON,
    "add_group_dm_user": "a group DM has recipients, not permissions",
    "delete_group_dm_user": OWNER_REASON,
    "execute_slack_compatible_webhook": TOKEN_REASON,
    "execute_github_compatible_webhook": TOKEN_REASON,
    "update_webhook_message": TOKEN_REASON,
    "create_interaction_response": TOKEN_REASON,
    "update_original_webhook_message": TOKEN_REASON,
    "create_linked_lobby_guild_invite_for_user": PROVISIONAL_ACCOUNT_REASON,
    "create_linked_lobby_guild_invite_for_self": PROVISIONAL_ACCOUNT_REASON,
    "leave_lobby": "the description names the lobbies that can be left",
    "delete_user_message": OWNER_REASON,
}
"""Operations that declare MISSING_PERMISSIONS and name no permission but those of `READ_PERMISSIONS`, with the reason."""


def published_permissions() -> dict[str, set[str]]:
    """Return the names of the permissions in the description of each operation."""
    known_names = set(openapi_texts.permission_names(Permissions.ALL))
    return {
        endpoint.name: known_names.intersection(re.findall(r"[A-Z_]+", openapi_texts.operation_description(endpoint)))
        for endpoint in EndpointTable(SLICES)
    }


def test_operations_that_require_permissions_name_them() -> None:
    permissions_by_operation = published_permissions()
    unnamed_permissions = {
        endpoint.name
        for endpoint in EndpointTable(SLICES)
        if errors.MISSING_PERMISSIONS in endpoint.operation.raises
        and permissions_by_operation[endpoint.name] <= READ_PERMISSIONS
    }

    assert sorted(unnamed_permissions - set(OPERATIONS_WITHOUT_NAMED_PERMISSION)) == []
    assert sorted(set(OPERATIONS_WITHOUT_NAMED_PERMISSION) - unnamed_permissions) == []


def test_permissions_that_handlers_check_are_published() -> None:
    permissions_by_operation = published_permissions()
    unpublished_permissions = {
        name: sorted(expected - permissions_by_operation[name])
        for name, bits in HANDLER_PERMISSIONS.items()
        if (expected := set(openapi_texts.permission_names(bits)) - READ_PERMISSIONS) - permissions_by_operation[name]
    }

    assert unpublished_permissions == {}
