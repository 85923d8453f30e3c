"""The copier: object graph in, object graph out. `clone.py` is the door."""
