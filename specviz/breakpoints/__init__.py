"""Conditions on rounds, and the monitor that checks them."""
