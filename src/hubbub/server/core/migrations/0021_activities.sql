-- Activities that run: one of an application in a channel, while somebody takes part in it.
CREATE TABLE activity_instances (
    id BIGINT PRIMARY KEY,
    application_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    guild_id BIGINT,
    launch_id BIGINT NOT NULL,
    UNIQUE (application_id, channel_id)
);
CREATE INDEX activity_instances_channel ON activity_instances (channel_id);
CREATE INDEX activity_instances_guild ON activity_instances (guild_id) WHERE guild_id IS NOT NULL;

-- Who takes part, by which gateway session; '' where somebody was brought in without naming one.
CREATE TABLE activity_participants (
    instance_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    joined_ms BIGINT NOT NULL,
    PRIMARY KEY (instance_id, user_id, session_id)
);
CREATE INDEX activity_participants_user ON activity_participants (user_id);

-- Who opened a stage speaks its last word where it closes by itself.
ALTER TABLE stage_instances ADD COLUMN opened_by BIGINT;
