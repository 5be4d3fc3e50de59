"""vgraph for other tools: llama-index, networkx, the Model Context Protocol. Each is imported only when asked for."""
