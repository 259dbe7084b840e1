"""Pages of people, one module a page."""
