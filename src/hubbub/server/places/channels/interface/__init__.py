"""Functions of the channels slice for other slices, one module for each purpose."""
