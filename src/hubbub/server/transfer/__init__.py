"""Transfer of guilds between servers: archives, imports of archives and of other programs' exports (decisions/0128, 0129)."""
