"""What it costs: machines, limits, costs, presets, placement."""
