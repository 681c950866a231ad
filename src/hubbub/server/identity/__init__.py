"""Identity tier: users, accounts, applications, OAuth2 and the administration of the server."""
