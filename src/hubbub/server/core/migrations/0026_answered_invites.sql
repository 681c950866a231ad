-- A game that connects learns which invites its player has not answered yet: accepted, or a request that was granted.
ALTER TABLE game_invites ADD COLUMN answered_ms BIGINT;
CREATE INDEX game_invites_recipient ON game_invites (recipient_id);
