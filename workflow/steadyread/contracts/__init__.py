"""Arrow schemas of every table, the value rules beside them, and the one reader and writer."""
