"""Functions of the guilds slice for other slices, one module for each purpose."""
