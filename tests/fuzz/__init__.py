"""Model files with anything in them: a campaign of mutated inputs. `python -m tests.fuzz --help` tells the options."""
