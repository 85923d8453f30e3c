"""Two models compared: structure, settings, state, behaviour. The code that makes twins is never used here."""
