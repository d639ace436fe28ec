"""The database file of a workspace: connection, layout, owner, damage and backup."""
