"""A cluster of LLM workers, simulated event by event."""
