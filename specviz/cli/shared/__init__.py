"""Options, argument types and tables of several commands."""
