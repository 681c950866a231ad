"""Identity tier: users, accounts, applications and OAuth2."""
