"""Messages before they are stored: creation, validation, resolution of references, nonces and system messages."""
