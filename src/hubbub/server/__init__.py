"""The server: core, resource slices, and transports."""
