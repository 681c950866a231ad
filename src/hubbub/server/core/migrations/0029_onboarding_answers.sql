-- What members answered to the questions of their guilds: a JSON list of the ids of options.
CREATE TABLE onboarding_answers (
    guild_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    option_ids TEXT NOT NULL,
    PRIMARY KEY (guild_id, user_id)
);
CREATE INDEX onboarding_answers_user ON onboarding_answers (user_id);
