"""Text from outside in every place that it can come from and every output that it can reach: it does nothing there."""
