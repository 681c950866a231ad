-- SKUs, entitlements and subscriptions, and how outgoing webhook events fare.

-- state: 0 not published, 1 published, 2 deleted. Flags are those of the kind; AVAILABLE follows from the state.
CREATE TABLE skus (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    flags INTEGER NOT NULL,
    price BIGINT NOT NULL,
    currency TEXT NOT NULL,
    state INTEGER NOT NULL,
    listed INTEGER NOT NULL,
    group_id BIGINT
);
CREATE INDEX skus_application ON skus (application_id, id);

-- user_id is the one who bought or made it; with a guild_id it is the guild that benefits.
CREATE TABLE entitlements (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    sku_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    guild_id BIGINT,
    type INTEGER NOT NULL,
    starts_ms BIGINT,
    ends_ms BIGINT,
    consumed INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    is_test INTEGER NOT NULL DEFAULT 0,
    subscription_id BIGINT
);
CREATE INDEX entitlements_application ON entitlements (application_id, id);
CREATE INDEX entitlements_user ON entitlements (user_id, application_id);
CREATE INDEX entitlements_guild ON entitlements (guild_id, application_id) WHERE guild_id IS NOT NULL;

-- anchor_day: the day of the month it renews on, where the month has one.
CREATE TABLE subscriptions (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    guild_id BIGINT,
    sku_id BIGINT NOT NULL,
    renewal_sku_id BIGINT NOT NULL,
    entitlement_id BIGINT,
    period_start_ms BIGINT NOT NULL,
    period_end_ms BIGINT NOT NULL,
    anchor_day INTEGER NOT NULL,
    status INTEGER NOT NULL,
    canceled_ms BIGINT
);
CREATE INDEX subscriptions_sku ON subscriptions (sku_id, id);
CREATE INDEX subscriptions_user ON subscriptions (user_id, application_id);
CREATE INDEX subscriptions_guild ON subscriptions (guild_id, application_id) WHERE guild_id IS NOT NULL;

-- A purchase is kept before it is paid, so that one which was paid is never forgotten. state: 0 pending, 1 done, 2 declined.
CREATE TABLE purchases (
    id BIGINT NOT NULL PRIMARY KEY,
    application_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    guild_id BIGINT,
    sku_id BIGINT NOT NULL,
    subscription_id BIGINT,
    state INTEGER NOT NULL,
    entitlement_id BIGINT
);
CREATE INDEX purchases_pending ON purchases (user_id, application_id) WHERE state = 0;

-- Applications whose event webhooks fail: how many attempts in a row, and since when.
CREATE TABLE webhook_event_failures (
    application_id BIGINT NOT NULL PRIMARY KEY,
    attempts INTEGER NOT NULL,
    since_ms BIGINT NOT NULL
);

CREATE INDEX jobs_failed ON jobs (kind, id) WHERE state = 'failed';
