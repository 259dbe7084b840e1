"""What Shardwatch tells Prometheus: of itself, and of the watched nodes under redis_exporter's names."""
