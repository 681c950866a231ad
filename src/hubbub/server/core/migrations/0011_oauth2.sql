-- Authorizations, codes, refresh tokens and installations. Codes and tokens are kept as SHA-256 of the text, like all tokens.

-- What a person lets an application do: everything granted so far, umbrella names as they were asked for.
CREATE TABLE authorizations (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX authorizations_user ON authorizations (user_id, application_id);
CREATE INDEX authorizations_application ON authorizations (application_id);

-- family_id is set when the code is exchanged: a code that comes again ends what the first exchange gave.
CREATE TABLE authorization_codes (
    hash {blob} NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    redirect_sent INTEGER NOT NULL,
    code_challenge TEXT,
    nonce TEXT,
    guild_id BIGINT,
    permissions BIGINT NOT NULL DEFAULT 0,
    installs INTEGER NOT NULL DEFAULT 0,
    webhook_channel_id BIGINT,
    expires_ms BIGINT NOT NULL,
    family_id BIGINT
);
CREATE INDEX authorization_codes_user ON authorization_codes (user_id, application_id);
CREATE INDEX authorization_codes_expires ON authorization_codes (expires_ms);

-- All that one grant gave, by rotation, is a family, and its number is the id of each of its access tokens: a gateway session
-- goes on when its token is refreshed, and ends with the family. Used ones stay for a while, to know a replay by.
CREATE TABLE refresh_tokens (
    hash {blob} NOT NULL PRIMARY KEY,
    family_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    used_ms BIGINT
);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_user ON refresh_tokens (user_id, application_id);

-- state is pending, granted or denied.
CREATE TABLE device_codes (
    hash {blob} NOT NULL PRIMARY KEY,
    user_code TEXT NOT NULL,
    application_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    user_id BIGINT,
    interval_s INTEGER NOT NULL,
    polled_ms BIGINT NOT NULL DEFAULT 0,
    expires_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX device_codes_user_code ON device_codes (user_code);
CREATE INDEX device_codes_expires ON device_codes (expires_ms);

-- Keys that sign ID tokens, as JWK; the newest signs, older ones are still shown until what they signed has ended.
CREATE TABLE signing_keys (
    kid TEXT NOT NULL PRIMARY KEY,
    jwk TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);

-- Where an application is installed: integration_type 0 in a guild, 1 for a user, whose id the target is.
CREATE TABLE installations (
    application_id BIGINT NOT NULL,
    integration_type INTEGER NOT NULL,
    target_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (application_id, integration_type, target_id)
) {without_rowid};
CREATE INDEX installations_target ON installations (target_id);

-- Scopes that the operator let an application ask for.
CREATE TABLE approved_scopes (
    application_id BIGINT NOT NULL,
    scope TEXT NOT NULL,
    PRIMARY KEY (application_id, scope)
) {without_rowid};
