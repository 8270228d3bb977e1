"""How ``ncuview try`` does on the labelled programs."""
