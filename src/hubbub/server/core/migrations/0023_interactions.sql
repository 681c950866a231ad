-- Interactions are found by the id that their token says, and given up by when they were asked: one tree is written for each
-- instead of four.
CREATE TABLE interactions_by_id (
    id BIGINT NOT NULL PRIMARY KEY,
    token_hash {blob} NOT NULL,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    guild_id BIGINT,
    asked TEXT NOT NULL,
    callback_type INTEGER,
    original_id BIGINT,
    follow_ups INTEGER NOT NULL DEFAULT 0,
    modal TEXT,
    problem TEXT
) {without_rowid};
INSERT INTO interactions_by_id (
    id, token_hash, application_id, type, user_id, channel_id, guild_id, asked, callback_type, original_id, follow_ups, modal,
    problem
) SELECT
    id, token_hash, application_id, type, user_id, channel_id, guild_id, asked, callback_type, original_id, follow_ups, modal,
    problem
FROM interactions;
DROP TABLE interactions;
ALTER TABLE interactions_by_id RENAME TO interactions;
CREATE INDEX interactions_problem ON interactions (application_id, id) WHERE problem IS NOT NULL;
