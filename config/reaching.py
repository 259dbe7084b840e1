"""How servers are reached. By themselves these are all settings that `bin/manage memkeys` runs with."""

from config import env

# Translations need Django's apps.
USE_I18N = False

POLL_CONNECT_TIMEOUT_SECONDS = env.number("SHARDWATCH_POLL_CONNECT_TIMEOUT_SECONDS", 3, minimum=0.05)
POLL_COMMAND_TIMEOUT_SECONDS = env.number("SHARDWATCH_POLL_COMMAND_TIMEOUT_SECONDS", 5, minimum=0.05)
# A reply above this is not read: INFO is about 10 kB, a hostile one must not fill the worker.
POLL_REPLY_LIMIT_BYTES = env.whole("SHARDWATCH_POLL_REPLY_LIMIT_BYTES", 16_777_216, minimum=65_536)
