-- A payment is kept before its provider is asked, so that it is asked for in the same words each time and can be given back.
-- state: 0 asked for, 1 taken, 2 being given back, 3 given back, 4 the provider keeps it. Declined ones are deleted.
CREATE TABLE payments (
    key TEXT NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL,
    application_id BIGINT NOT NULL,
    sku_id BIGINT NOT NULL,
    guild_id BIGINT,
    subscription_id BIGINT,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    asked_ms BIGINT NOT NULL,
    state INTEGER NOT NULL,
    entitlement_id BIGINT
);
CREATE INDEX payments_entitlement ON payments (entitlement_id) WHERE entitlement_id IS NOT NULL;

-- What was bought before can be given back too, at the price that it has now: the one that was paid was not kept.
INSERT INTO payments (key, user_id, application_id, sku_id, guild_id, subscription_id, amount, currency, asked_ms, state, entitlement_id)
SELECT 'purchase/' || purchases.id, purchases.user_id, purchases.application_id, purchases.sku_id, purchases.guild_id,
    purchases.subscription_id, skus.price, skus.currency, 0, purchases.state, purchases.entitlement_id
FROM purchases JOIN skus ON skus.id = purchases.sku_id WHERE purchases.state IN (0, 1);

-- Renewals and purchases that were given up because their provider could not be reached for a day begin again.
UPDATE jobs SET state = 'waiting', attempts = 0, first_tried_ms = NULL, ready_ms = due_ms, error = NULL, leased_by = ''
WHERE state = 'failed' AND kind IN ('subscriptions.renew', 'purchases.settle');
