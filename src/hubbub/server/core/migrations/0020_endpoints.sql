-- One table says where applications are: those that people installed for themselves move to the others.
INSERT INTO installations (application_id, integration_type, target_id, user_id, scopes, created_ms)
SELECT application_id, 1, user_id, user_id, 'applications.commands', created_ms FROM user_installs WHERE true
ON CONFLICT (application_id, integration_type, target_id) DO NOTHING;
DROP TABLE user_installs;

-- Why an application's own address did not answer, in words, for its owner to see.
ALTER TABLE interactions ADD COLUMN problem TEXT;
CREATE INDEX interactions_problem ON interactions (application_id, id) WHERE problem IS NOT NULL;
