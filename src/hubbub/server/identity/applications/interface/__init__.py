"""Functions of the applications slice for other slices, one module for each purpose."""
