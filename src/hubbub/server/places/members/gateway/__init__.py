"""Members on the gateway: the command that requests them, and the members of GUILD_CREATE."""
