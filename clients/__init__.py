"""What applications install to ask for their switches; nothing of Shardwatch itself imports it."""
