"""Support for Kafka: recordings of its logs, and brokers as a system that can be driven."""
