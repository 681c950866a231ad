"""Benchmarks. Most results are ratios against a reference in the same run, because machines differ and are noisy."""
