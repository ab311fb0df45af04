"""Formulas, rules, estimators and a toy simulation: pure numpy, no events."""
