"""The API under /api/v1/, one module a resource; config/api.py puts them together."""
