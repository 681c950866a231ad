"""Play tier: commands, interactions, lobbies, lobby calls, user messages of games, purchases and webhook events."""
