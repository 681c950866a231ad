"""Every stored credential has a limit, so that no caller can create any number of them."""

import re
from pathlib import Path
from typing import Final

from tests.server.personal_rows import read_schema

TESTS: Final = Path(__file__).parents[1]

CREDENTIAL_PATTERN: Final = re.compile(r"token|secret|code|ticket|challenge|hash|verifier|password|credential")
"""Names of columns that may contain a credential."""

LIMITS: Final = {
    "accounts.password_hash": "One for each account; test_brute_force_over_many_usernames_is_throttled_by_ip_address",
    "applications.client_secret_hash": "One for each application; "
    "test_application_names_are_validated_and_the_number_of_applications_is_limited",
    "authenticators.secret": "One for each account; test_enabling_an_authenticator_requires_a_valid_code_and_password",
    "authorization_codes.hash": "test_the_oldest_unused_codes_end_above_the_limit",
    "backup_codes.hash": "test_new_backup_codes_replace_the_earlier_ones",
    "device_codes.hash": "test_pending_device_codes_are_limited",
    "device_codes.user_code": "test_pending_device_codes_are_limited",
    "email_tokens.hash": "One for each purpose and account; test_requests_per_account_are_limited",
    "guild_templates.code": "One for each guild; test_a_template_contains_roles_and_channels_of_the_guild",
    "interactions.token_hash": "Created by the platform for each command; test_old_interactions_and_ephemeral_messages_are_deleted",
    "invites.code": "test_a_guild_has_at_most_1000_invites",
    "lobbies.secret": "test_a_user_is_in_at_most_a_hundred_lobbies_of_a_game",
    "login_attempts.hash": "test_a_ticket_is_valid_once_for_its_state_and_for_ten_minutes",
    "login_attempts.state_hash": "test_a_ticket_is_valid_once_for_its_state_and_for_ten_minutes",
    "login_attempts.verifier": "test_a_ticket_is_valid_once_for_its_state_and_for_ten_minutes",
    "login_registrations.hash": "One for each user of a provider; test_an_account_has_a_limited_number_of_linked_logins",
    "mfa_tickets.hash": "test_the_oldest_mfa_tickets_end_above_the_limit",
    "passkey_challenges.challenge": "test_a_challenge_is_valid_once_for_its_user_and_purpose_and_for_five_minutes",
    "passkey_challenges.hash": "test_a_challenge_is_valid_once_for_its_user_and_purpose_and_for_five_minutes",
    "passkeys.credential_id": "test_an_account_has_a_limited_number_of_passkeys",
    "placeholders.code_hash": "One for each placeholder account; test_a_code_works_once_and_only_if_it_is_valid",
    "push_subscriptions.token_id": "test_subscriptions_are_limited_and_an_endpoint_belongs_to_the_last_user",
    "refresh_tokens.hash": "test_the_oldest_grants_end_above_the_limit",
    "registration_invites.hash": "test_users_create_a_limited_number_of_invites_if_the_operator_allows_it",
    "sign_ins.token_id": "test_the_oldest_sessions_end_above_the_limit",
    "tokens.hash": "test_the_oldest_sessions_end_above_the_limit, test_the_oldest_grants_end_above_the_limit, "
    "test_client_credentials_tokens_are_limited",
    "vanity_urls.code": "One for each guild; test_a_vanity_url_must_be_unused_and_well_formed",
    "voice_tickets.token_hash": "test_each_join_has_its_own_ticket",
    "widget_invites.code": "One for each guild; test_a_widget_with_a_channel_creates_an_invite",
}
"""What bounds the number of each credential, with the test."""

NOT_CREDENTIALS: Final = {
    "applications.bot_require_code_grant": "Setting of an application.",
    "authorization_codes.code_challenge": "Public hash of a secret of the client.",
    "guilds.vanity_url_code": "Copy of the code of a vanity URL.",
    "invite_targets.code": "Refers to an invite.",
    "known_clients.hash": "Hash of a client that logged in before; grants nothing.",
    "link_previews.url_hash": "Hash of a public URL.",
    "lobbies.by_secret": "Whether a lobby has a secret.",
    "lobbies.secret_expires_ms": "Time of a secret.",
    "roles.unicode_emoji": "Icon of a role.",
}
"""Columns whose names match and that contain no credential."""


def test_every_credential_has_a_limit() -> None:
    columns = {f"{table}.{column.name}" for table, fields in read_schema().items() for column in fields}
    matching_columns = {column for column in columns if CREDENTIAL_PATTERN.search(column.partition(".")[2])}

    assert sorted(matching_columns ^ (LIMITS.keys() | NOT_CREDENTIALS.keys())) == []


def test_the_tests_of_the_limits_exist() -> None:
    text = "\n".join(path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__))
    names = {name for reason in LIMITS.values() for name in re.findall(r"\btest_\w+", reason)}

    assert [name for name in sorted(names) if f"def {name}(" not in text] == []
    assert [column for column, reason in LIMITS.items() if "test_" not in reason] == []
