"""Refusals as formulas, and questions about formulas: the only place that imports z3.

`prover` answers questions and needs no torch. `exploration` runs the real code on proxy calls.
"""
