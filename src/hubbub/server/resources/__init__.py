"""Resource slices: one package per resource of the API."""
