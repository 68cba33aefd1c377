"""Programs of blocks that share open connections."""
