-- Second factors and sign-ins.

-- With what a token of a person's own was got; a token of which nothing is known has no row.
CREATE TABLE sign_ins (
    token_id BIGINT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    ip TEXT NOT NULL,
    user_agent TEXT NOT NULL
);
CREATE INDEX sign_ins_user ON sign_ins (user_id);

-- Wrong passwords and codes, counted in windows. The key is a hash: what is typed into a name's field may be a password.
CREATE TABLE sign_in_failures (
    key TEXT NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    ends_ms BIGINT NOT NULL
);
CREATE INDEX sign_in_failures_ends ON sign_in_failures (ends_ms);

-- A person's authenticator; last_step is the last moment whose code was taken, so that none works twice.
CREATE TABLE authenticators (
    user_id BIGINT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL,
    last_step BIGINT NOT NULL
);

CREATE TABLE backup_codes (
    user_id BIGINT NOT NULL,
    hash {blob} NOT NULL,
    PRIMARY KEY (user_id, hash)
) {without_rowid};

-- Who gave the right password and still owes the code.
CREATE TABLE mfa_tickets (
    hash {blob} NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX mfa_tickets_expires ON mfa_tickets (expires_ms);
