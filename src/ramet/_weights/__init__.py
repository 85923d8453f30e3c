"""Weights from one model to another, by path: `transfer` once, `sync` at every training step."""
