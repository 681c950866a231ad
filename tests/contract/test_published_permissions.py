"""Permissions in the published descriptions: each operation that requires some names them, or has a reason not to."""

import re

from hubbub.protocol import errors
from hubbub.protocol.permissions import Permissions
from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.transports.http import openapi_texts
from tests.contract.test_permission_matrix import HANDLER_PERMISSIONS

READING = {"VIEW_CHANNEL", "READ_MESSAGE_HISTORY"}
"""Permissions that many operations declare and that say nothing about a write."""

OWNER = "the description names the owner or author"
TEAM = "the description names the roles of the team"
READ = "VIEW_CHANNEL and READ_MESSAGE_HISTORY are sufficient"
RESTRICTED = "requires no permission: members with a timeout or an open membership screening are rejected"
OWN_STATE = "changes only the caller's own state, for which access to the channel is sufficient"
BY_TOKEN = "the token in the path authorizes; the permissions are those of the webhook or of the invoking user"
PROVISIONAL = "the description names the accounts that are rejected"

UNNAMED = {
    "update_team": TEAM,
    "delete_team": OWNER,
    "add_team_member": TEAM,
    "update_team_member": TEAM,
    "delete_team_member": TEAM,
    "transfer_team": OWNER,
    "set_guild_mfa_level": OWNER,
    "delete_guild": OWNER,
    "assign_guild_role_connection": "the description names the requirements of the role",
    "set_guild_onboarding_responses": RESTRICTED,
    "get_message": READ,
    "join_thread": RESTRICTED,
    "leave_thread": OWN_STATE,
    "list_public_archived_threads": READ,
    "list_my_private_archived_threads": READ,
    "list_message_reactions_by_emoji": READ,
    "delete_my_message_reaction": OWN_STATE,
    "list_pins": READ,
    "deprecated_list_pins": READ,
    "get_answer_voters": READ,
    "vote_in_poll": RESTRICTED,
    "poll_expire": OWNER,
    "thread_search": READ,
    "add_group_dm_user": "a group DM has recipients, not permissions",
    "delete_group_dm_user": OWNER,
    "execute_slack_compatible_webhook": BY_TOKEN,
    "execute_github_compatible_webhook": BY_TOKEN,
    "update_webhook_message": BY_TOKEN,
    "create_interaction_response": BY_TOKEN,
    "update_original_webhook_message": BY_TOKEN,
    "create_linked_lobby_guild_invite_for_user": PROVISIONAL,
    "create_linked_lobby_guild_invite_for_self": PROVISIONAL,
    "leave_lobby": "the description names the lobbies that can be left",
    "delete_user_message": OWNER,
}
"""Operations that declare MISSING_PERMISSIONS and name no permission but those of `READING`, with the reason."""


def published_permissions() -> dict[str, set[str]]:
    """Return the names of the permissions in the description of each operation."""
    known = set(openapi_texts.permission_names(Permissions.ALL))
    return {
        endpoint.name: known.intersection(re.findall(r"[A-Z_]+", openapi_texts.operation_description(endpoint)))
        for endpoint in EndpointTable(SLICES)
    }


def test_operations_that_require_permissions_name_them() -> None:
    published = published_permissions()
    unnamed = {
        endpoint.name
        for endpoint in EndpointTable(SLICES)
        if errors.MISSING_PERMISSIONS in endpoint.operation.raises and published[endpoint.name] <= READING
    }

    assert sorted(unnamed - set(UNNAMED)) == []
    assert sorted(set(UNNAMED) - unnamed) == []


def test_permissions_that_handlers_check_are_published() -> None:
    published = published_permissions()
    missing = {
        name: sorted(expected - published[name])
        for name, bits in HANDLER_PERMISSIONS.items()
        if (expected := set(openapi_texts.permission_names(bits)) - READING) - published[name]
    }

    assert missing == {}
