"""Experiments on the simulated cluster: settings, sweeps, the paper's tables, ten questions."""
