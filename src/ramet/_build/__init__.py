"""From a graph and a model to a model: other inputs, a part of it, fresh weights, layers changed on the way."""
