"""Contents of guilds: their initial roles and channels, and their archive."""
