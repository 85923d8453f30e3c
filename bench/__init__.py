"""How fast twins are made, beside every other way of copying a model. `make bench` runs all of it."""
