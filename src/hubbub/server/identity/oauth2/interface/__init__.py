"""Functions of the slice for other slices, by purpose."""
