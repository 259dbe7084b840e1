"""What people look at: findings, pages and the words and units on them."""

VERSION = "0.1.0"
