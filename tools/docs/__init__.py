"""The docs site: run the examples of every page, generate the reference, and build the pages."""
