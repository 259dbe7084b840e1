"""What stands around the name in a line of `stats`."""

BEFORE, AFTER = b"STAT ", b" "
