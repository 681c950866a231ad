-- request_state is JSON of the request data that responses to an interaction need.
ALTER TABLE interactions RENAME COLUMN asked TO request_state;
-- requested_ms is the time at which a payment was requested from the provider.
ALTER TABLE payments RENAME COLUMN asked_ms TO requested_ms;
