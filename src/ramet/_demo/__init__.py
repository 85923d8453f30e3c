"""`ramet demo`: two models, cloned by ramet and by Keras, and compared bit by bit."""
