"""The foundation of all slices: calls, the store, the bus, the clock, tokens, jobs, files and rate limits."""
