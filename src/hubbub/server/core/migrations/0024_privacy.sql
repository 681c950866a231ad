-- Whether the player let the game read their direct messages: only such a game's webhook hears of them.
ALTER TABLE game_sessions ADD COLUMN reads_messages INTEGER NOT NULL DEFAULT 0;

-- What people decided about themselves, as JSON; who decided nothing has no row.
CREATE TABLE user_settings (
    user_id BIGINT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL
);
