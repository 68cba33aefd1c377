"""The Pattern, generators of named ones, readers of files, and specs that name either."""
