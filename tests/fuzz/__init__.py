"""Fuzzing of model files: a campaign of mutated inputs. See `python -m tests.fuzz --help`."""
