"""What every slice stands on: calls, the store, the bus, the clock, access, limits."""
