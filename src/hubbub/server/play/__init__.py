"""Play tier: lobbies, commands, interactions and purchases."""
