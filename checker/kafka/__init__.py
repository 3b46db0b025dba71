"""Kafka's logs as recordings, and Kafka's brokers as a system that can be driven."""
