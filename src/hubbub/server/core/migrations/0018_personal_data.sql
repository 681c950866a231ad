-- Deletion of everything that a user wrote, and scheduled deletion of applications.

-- The channel of the message; null in rows of earlier versions, whose deletion publishes no event.
ALTER TABLE reactions ADD COLUMN channel_id BIGINT;
ALTER TABLE poll_votes ADD COLUMN channel_id BIGINT;

CREATE INDEX reactions_user ON reactions (user_id);
CREATE INDEX poll_votes_user ON poll_votes (user_id);
CREATE INDEX channels_owner ON channels (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX scheduled_events_creator ON scheduled_events (creator_id) WHERE creator_id IS NOT NULL;
CREATE INDEX invites_inviter ON invites (inviter_id) WHERE inviter_id IS NOT NULL;
CREATE INDEX invites_target_user ON invites (target_user_id) WHERE target_user_id IS NOT NULL;
CREATE INDEX invite_targets_user ON invite_targets (user_id);
CREATE INDEX join_requests_by_user ON join_requests (user_id);
CREATE INDEX webhooks_user ON webhooks (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX emojis_user ON emojis (user_id);
CREATE INDEX stickers_user ON stickers (user_id);
CREATE INDEX sounds_user ON sounds (user_id);
CREATE INDEX purchases_user ON purchases (user_id);
CREATE INDEX payments_user ON payments (user_id);
CREATE INDEX quotas_user ON quotas (user_id) WHERE user_id <> 0;
CREATE INDEX slowmodes_user ON slowmodes (user_id);

-- Applications that an operator deletes after a grace period. has_disabled: the deletion disabled the application, which a restoration
-- enables again. deletes_messages: everything that the bot wrote is deleted, too.
CREATE TABLE application_deletions (
    application_id BIGINT NOT NULL PRIMARY KEY,
    operator_id BIGINT,
    reason TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    due_ms BIGINT NOT NULL,
    has_disabled INTEGER NOT NULL,
    deletes_messages INTEGER NOT NULL
);
