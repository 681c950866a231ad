-- request_state is JSON of the request data that responses to an interaction need.
ALTER TABLE interactions RENAME COLUMN asked TO request_state;
-- requested_ms is the time at which a payment was requested from the provider.
ALTER TABLE payments RENAME COLUMN asked_ms TO requested_ms;
-- Kinds of waiting jobs have the names of their functions.
UPDATE jobs SET kind = 'developers.expire_grant' WHERE kind = 'developers.lapse';
UPDATE jobs SET kind = 'guild_tags.update_members' WHERE kind = 'guild_tags.retell';
UPDATE jobs SET kind = 'developers.check_size' WHERE kind = 'developers.watch';
UPDATE jobs SET kind = 'voice_states.move_to_afk' WHERE kind = 'voice_states.away';
UPDATE jobs SET kind = 'invites.store_targets' WHERE kind = 'invites.read_targets';
UPDATE jobs SET kind = 'user_messages.delete_expired' WHERE kind = 'user_messages.forget';
UPDATE jobs SET kind = 'payments.refund' WHERE kind = 'payments.give_back';
UPDATE jobs SET kind = 'lobbies.delete_expired_messages' WHERE kind = 'lobbies.forget';
UPDATE jobs SET kind = 'private_calls.ring_timeout' WHERE kind = 'private_calls.silence';
UPDATE jobs SET kind = 'search.remove' WHERE kind = 'search.forget';
UPDATE jobs SET kind = 'messages.delete_channel_messages' WHERE kind = 'messages.forget_channel';
UPDATE jobs SET kind = 'messages.delete_files' WHERE kind = 'messages.forget_files';
UPDATE jobs SET kind = 'webhooks.copy' WHERE kind = 'webhooks.bring';
UPDATE jobs SET kind = 'webhooks.update' WHERE kind = 'webhooks.renew';
