-- Messages between players: those that pass without being kept, invites to join, and what an application's moderation says.

-- A message that only games show and nobody keeps: who said it to whom, for as long as it may be changed or moderated.
CREATE TABLE passing_messages (
    id BIGINT NOT NULL PRIMARY KEY,
    author_id BIGINT NOT NULL,
    recipient_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    family_id BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX passing_messages_expires ON passing_messages (expires_ms);

-- An invite to join a party, or a request for one; what is to be joined is the sender's session, so the secret is asked there.
CREATE TABLE game_invites (
    message_id BIGINT NOT NULL PRIMARY KEY,
    channel_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    sender_id BIGINT NOT NULL,
    recipient_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    party_id TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX game_invites_expires ON game_invites (expires_ms);

CREATE TABLE message_moderation (
    message_id BIGINT NOT NULL,
    family_id BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (message_id, family_id)
);

-- Notices that somebody has read, by application.
CREATE TABLE disclosures (
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    PRIMARY KEY (user_id, application_id, type)
);
