"""Screens that return an answer."""
