-- Users see which applications they added to guilds.
CREATE INDEX installations_user ON installations (user_id);
