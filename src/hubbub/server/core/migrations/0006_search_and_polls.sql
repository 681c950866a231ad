-- The search index and poll votes.

-- Guilds whose messages are indexed, and whether a job to index their latest changes waits.
CREATE TABLE search_guilds (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    pending INTEGER NOT NULL DEFAULT 0
);

-- Guilds whose old messages are still being indexed, and how many are.
CREATE TABLE search_builds (
    guild_id BIGINT NOT NULL PRIMARY KEY,
    documents BIGINT NOT NULL DEFAULT 0
);

-- Messages of indexed guilds that came, changed or went since the index last looked.
CREATE TABLE search_changes (
    guild_id BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    PRIMARY KEY (guild_id, message_id)
) {without_rowid};

-- An indexed message: its words, and marks for all else it can be found by.
CREATE TABLE search_documents (
    id BIGINT NOT NULL PRIMARY KEY,
    guild_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    words TEXT NOT NULL,
    marks TEXT NOT NULL
) {without_rowid};
CREATE INDEX search_documents_channel ON search_documents (channel_id, id);

-- Terms are cut in Python, the same for both stores; here only spaces separate. The index keeps no text: documents have it.
-- only: sqlite
CREATE VIRTUAL TABLE search_terms USING fts5(terms, content='', tokenize="ascii tokenchars '_'");

-- only: postgres
ALTER TABLE search_documents ADD COLUMN terms TSVECTOR NOT NULL;
-- only: postgres
CREATE INDEX search_documents_terms ON search_documents USING GIN (terms);
-- only: postgres
CREATE INDEX search_documents_guild ON search_documents (guild_id, id);

CREATE TABLE poll_votes (
    message_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    answer_id INTEGER NOT NULL,
    PRIMARY KEY (message_id, user_id, answer_id)
) {without_rowid};
CREATE INDEX poll_votes_answer ON poll_votes (message_id, answer_id, user_id);

-- How many votes an answer has, so that showing a poll does not count them.
CREATE TABLE poll_counts (
    message_id BIGINT NOT NULL,
    answer_id INTEGER NOT NULL,
    votes BIGINT NOT NULL,
    PRIMARY KEY (message_id, answer_id)
) {without_rowid};
