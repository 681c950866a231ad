"""Fuzzing of the running platform: generated and mutated inputs for every interface (docs/fuzzing.md)."""
