-- Tokens that ended are dropped when their user gets another; among many that hold they are found without looking at all.
CREATE INDEX tokens_ends ON tokens (user_id, expires_ms) WHERE expires_ms IS NOT NULL;
