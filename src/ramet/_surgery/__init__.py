"""Edits carried out on a live model, with its weights."""
