"""Wire protocol shared by server, SDK and tests. It does no I/O and imports nothing else from hubbub."""
