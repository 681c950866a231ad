"""Links between lobbies and guild channels, and the messages that both share."""
