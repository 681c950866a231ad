"""The platform: core, resource slices, and the doors."""
