"""From a failure to its diagnostic: what was refused, where, by whom it was placed, and what to change."""
