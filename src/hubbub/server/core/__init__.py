"""The foundation of all slices: calls, the store, the bus, the clock, permission checks and limits."""
