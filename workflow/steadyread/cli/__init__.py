"""The steadyread command: inspect, replay, doctor."""
