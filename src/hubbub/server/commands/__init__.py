"""What each `hubbub` command does; `hubbub.server.cli` reads the command line and imports the one it needs."""
