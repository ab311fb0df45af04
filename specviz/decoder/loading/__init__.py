"""Weights onto devices."""
