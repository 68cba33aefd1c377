"""What carries a pattern: topologies, routing, graph files."""
