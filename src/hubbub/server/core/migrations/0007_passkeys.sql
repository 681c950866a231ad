-- Passkeys of users. credential_id and public_key come from the authenticator.
CREATE TABLE passkeys (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    credential_id {blob} NOT NULL,
    public_key {blob} NOT NULL,
    sign_count BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    used_ms BIGINT
);
CREATE INDEX passkeys_user ON passkeys (user_id);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);

-- Challenges that authenticators sign. user_id is null for a login.
CREATE TABLE passkey_challenges (
    hash {blob} NOT NULL PRIMARY KEY,
    challenge {blob} NOT NULL,
    user_id BIGINT,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id);
CREATE INDEX passkey_challenges_expires ON passkey_challenges (expires_ms);
