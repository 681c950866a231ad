-- Interactions come in the order of their ids. On the embedded store a table that is kept by such a number grows at its end,
-- where one that is kept by any other key is balanced again for every page that fills.
-- only: sqlite
CREATE TABLE interactions_appended (
    id INTEGER PRIMARY KEY,
    token_hash BLOB NOT NULL,
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
);
-- only: sqlite
INSERT INTO interactions_appended (
    id, token_hash, application_id, type, user_id, channel_id, guild_id, asked, callback_type, original_id, follow_ups, modal,
    problem
) SELECT
    id, token_hash, application_id, type, user_id, channel_id, guild_id, asked, callback_type, original_id, follow_ups, modal,
    problem
FROM interactions;
-- only: sqlite
DROP TABLE interactions;
-- only: sqlite
ALTER TABLE interactions_appended RENAME TO interactions;
-- only: sqlite
CREATE INDEX interactions_problem ON interactions (application_id, id) WHERE problem IS NOT NULL;
