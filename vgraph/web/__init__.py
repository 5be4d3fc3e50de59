"""The page `vgraph serve` shows at `/`: plain files, no build step, nothing loaded from elsewhere."""
