"""Pictures that the four texts ask for and nothing else does."""
