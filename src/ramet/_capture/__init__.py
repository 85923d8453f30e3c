"""From a live model to a graph. Nothing is called, nothing of the model changes."""
