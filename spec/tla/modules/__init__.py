"""From trees to names with meanings: the modules of a specification and what they define."""
