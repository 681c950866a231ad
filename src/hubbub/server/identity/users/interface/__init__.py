"""Functions of the users slice for other slices, one module for each purpose."""
