"""Implementations of the `hubbub` commands; `hubbub.server.cli` parses the command line and imports the right one."""
