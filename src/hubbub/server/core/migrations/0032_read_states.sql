-- Up to which message people have read a channel.
CREATE TABLE read_states (
    user_id BIGINT NOT NULL,
    channel_id BIGINT NOT NULL,
    last_message_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, channel_id)
) {without_rowid};
CREATE INDEX read_states_channel ON read_states (channel_id);
