"""Identity tier: users, accounts, relationships, applications, OAuth2, identities of players, and administration."""
