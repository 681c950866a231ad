"""Places tier: guilds, channels, roles, members and the objects that belong to them."""
