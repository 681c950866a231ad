"""Places tier: guilds, channels, roles, members and what belongs to them."""
