-- Provisional accounts, external identities, providers, bans and families of tokens.

-- Who somebody is elsewhere. family_id is the head of the family of applications; provider_id is the issuer where one type has
-- several of them, and empty elsewhere.
CREATE TABLE external_identities (
    family_id BIGINT NOT NULL,
    provider_type TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    provider_user_id TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    username TEXT,
    metadata TEXT NOT NULL DEFAULT '{}',
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (family_id, provider_type, provider_id, provider_user_id)
) {without_rowid};
CREATE INDEX external_identities_user ON external_identities (user_id, family_id);

-- Whose a provisional account is; restricted_by is the banned account that it took the place of.
CREATE TABLE provisional_accounts (
    user_id BIGINT NOT NULL PRIMARY KEY,
    family_id BIGINT NOT NULL,
    restricted_by BIGINT,
    created_ms BIGINT NOT NULL
);
CREATE INDEX provisional_accounts_family ON provisional_accounts (family_id);

-- Which providers an application trusts; `settings` is JSON. level 0 was saved before issuers were checked.
CREATE TABLE identity_providers (
    application_id BIGINT NOT NULL,
    type TEXT NOT NULL,
    settings TEXT NOT NULL,
    level INTEGER NOT NULL,
    changed_ms BIGINT NOT NULL,
    PRIMARY KEY (application_id, type)
) {without_rowid};

-- Merges that were done: a person has few of them in a day.
CREATE TABLE merge_operations (
    id BIGINT NOT NULL PRIMARY KEY,
    family_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    source_user_id BIGINT NOT NULL,
    created_ms BIGINT NOT NULL
);
CREATE INDEX merge_operations_user ON merge_operations (user_id, created_ms);

-- Accounts that the operator closed; without an end for good.
CREATE TABLE account_bans (
    user_id BIGINT NOT NULL PRIMARY KEY,
    reason TEXT,
    created_ms BIGINT NOT NULL,
    ends_ms BIGINT
);

-- A game's token came of its publisher's, and ends with it: parent_id is that token's id.
ALTER TABLE tokens ADD COLUMN parent_id BIGINT;
CREATE INDEX tokens_parent ON tokens (parent_id) WHERE parent_id IS NOT NULL;
