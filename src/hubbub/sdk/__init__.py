"""The client library that games, bots and apps hold in their hands."""
