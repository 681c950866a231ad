"""Files with invites: the archive of a guild, and lists of target users."""
