"""Pages of alerting, one module a page."""
