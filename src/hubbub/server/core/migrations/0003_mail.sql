-- An address belongs to one account once it is confirmed; unconfirmed addresses may repeat.
DROP INDEX users_email;
CREATE INDEX users_email ON users (email) WHERE email IS NOT NULL;
CREATE UNIQUE INDEX users_verified_email ON users (email) WHERE email IS NOT NULL AND verified = 1;

-- Links sent by email. purpose is 'confirm' or 'reset'; email is the address that the link was sent to.
CREATE TABLE email_tokens (
    hash {blob} NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    purpose TEXT NOT NULL,
    email TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX email_tokens_user ON email_tokens (user_id);
CREATE INDEX email_tokens_expires ON email_tokens (expires_ms);

-- New addresses that replace the address of an account when they are confirmed.
CREATE TABLE email_changes (
    user_id BIGINT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL
);

-- Clients that a user has logged in with, as hashes of user agent and network. A login from another client is reported.
CREATE TABLE known_clients (
    user_id BIGINT NOT NULL,
    hash {blob} NOT NULL,
    seen_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, hash)
) {without_rowid};

-- Number of mails per address, account and IP address in the current window. key contains a hash.
CREATE TABLE email_limits (
    key TEXT NOT NULL PRIMARY KEY,
    uses INTEGER NOT NULL,
    ends_ms BIGINT NOT NULL
);
CREATE INDEX email_limits_ends ON email_limits (ends_ms);
