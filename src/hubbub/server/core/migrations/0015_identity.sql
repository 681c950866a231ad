-- Identities at external providers with which users log in (decisions/0143). name is the name or address of the user at the provider when the
-- identity was linked.
CREATE TABLE login_identities (
    id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    used_ms BIGINT
);
CREATE UNIQUE INDEX login_identities_subject ON login_identities (issuer, subject);
CREATE INDEX login_identities_user ON login_identities (user_id, id);

-- Logins at providers that were started, by the hash of their ticket. user_id is the user who links an identity, null for a login.
CREATE TABLE login_attempts (
    hash {blob} NOT NULL PRIMARY KEY,
    provider_id TEXT NOT NULL,
    state_hash {blob} NOT NULL,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    user_id BIGINT,
    expires_ms BIGINT NOT NULL
) {without_rowid};
CREATE INDEX login_attempts_expiry ON login_attempts (expires_ms);

-- Identities without an account whose users choose a username, by the hash of their ticket.
CREATE TABLE login_registrations (
    hash {blob} NOT NULL PRIMARY KEY,
    provider_id TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT,
    email_verified INTEGER NOT NULL,
    expires_ms BIGINT NOT NULL
) {without_rowid};
CREATE INDEX login_registrations_expiry ON login_registrations (expires_ms);

-- Invites with which visitors register (decisions/0144), by the hash of their code. creator_id is null for the command line.
CREATE TABLE registration_invites (
    id BIGINT NOT NULL PRIMARY KEY,
    hash {blob} NOT NULL,
    creator_id BIGINT,
    note TEXT NOT NULL,
    uses INTEGER NOT NULL,
    uses_max INTEGER,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT
);
CREATE UNIQUE INDEX registration_invites_hash ON registration_invites (hash);
CREATE INDEX registration_invites_creator ON registration_invites (creator_id, id);

-- Accounts that cannot log in until an operator approves them. rejected_ms is null while a request is pending.
CREATE TABLE registration_requests (
    user_id BIGINT NOT NULL PRIMARY KEY,
    message TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    rejected_ms BIGINT,
    reason TEXT
);

-- Versions of the terms and the privacy notice (decisions/0144). required_version is the oldest version whose acceptance is sufficient.
CREATE TABLE legal_documents (
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    required_version INTEGER NOT NULL,
    content TEXT NOT NULL,
    published_ms BIGINT NOT NULL,
    PRIMARY KEY (kind, version)
);

-- Versions that users accepted.
CREATE TABLE legal_acceptances (
    user_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    accepted_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, kind, version)
) {without_rowid};
