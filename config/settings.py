"""Every setting of Shardwatch. Environment variables are described one by one in docs/settings.md."""

import os
from pathlib import Path

from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from config import env
from config.reaching import POLL_COMMAND_TIMEOUT_SECONDS as POLL_COMMAND_TIMEOUT_SECONDS
from config.reaching import POLL_CONNECT_TIMEOUT_SECONDS as POLL_CONNECT_TIMEOUT_SECONDS
from config.reaching import POLL_REPLY_LIMIT_BYTES as POLL_REPLY_LIMIT_BYTES

BASE_DIR = Path(__file__).resolve().parent.parent

# gRPC would start its threads in forked children, and abort those that close its files on their way to another program.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

DEBUG = env.flag("SHARDWATCH_DEBUG", False)
SECRET_KEY = env.text("SECRET_KEY", "")
ALLOWED_HOSTS = env.words("SHARDWATCH_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("SHARDWATCH_TRUSTED_ORIGINS")
# Keys for secrets at rest, newest first: the first encrypts, all decrypt (fleet/secrets.py).
ENCRYPTION_KEYS = env.words("SHARDWATCH_ENCRYPTION_KEYS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "config",
    "fleet",
    "accounts",
    "collectors",
    "switches",
    "alerts",
    "dashboard",
    "demo",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Django pads compressed pages by a random length, so that their size betrays no token.
    "django.middleware.gzip.GZipMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.middleware.NulMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.SignInMiddleware",
    "accounts.middleware.ViewerTimeZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "config.middleware.MethodMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["dashboard.templatetags.units"],
            "loaders": [
                ("django.template.loaders.cached.Loader", ["django.template.loaders.filesystem.Loader"]),
            ],
        },
    }
]

DATABASES = {
    "default": {
        **env.database("DATABASE_URL", "postgres:///shardwatch"),
        "CONN_MAX_AGE": env.whole("SHARDWATCH_DATABASE_CONN_MAX_AGE_SECONDS", 600),
        # A backend killed between two requests must cost nobody an HTTP 500.
        "CONN_HEALTH_CHECKS": True,
        # pgbouncer in transaction mode has no server-side cursors.
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
}
# Poolers that hand each transaction another connection lose prepared statements: pgbouncer before 1.21.
DATABASE_PREPARE = env.flag("SHARDWATCH_DATABASE_PREPARE", True)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # Rows of the fleet page: a process draws each again only when its cache has a new sample.
    "template_fragments": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "template_fragments",
        "OPTIONS": {"MAX_ENTRIES": 4_000},
    },
}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "fleet"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = env.whole("SHARDWATCH_LOGIN_FAILURE_LIMIT", 6, minimum=1)
AXES_COOLOFF_TIME = env.number("SHARDWATCH_LOGIN_COOLOFF_HOURS", 0.25)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "accounts.views.session.locked_out"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

TLS_IN_FRONT = env.flag("SHARDWATCH_BEHIND_TLS", False)
if TLS_IN_FRONT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = env.flag("SHARDWATCH_TLS_REDIRECT", True)
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
    SECURE_HSTS_SECONDS = env.whole("SHARDWATCH_HSTS_SECONDS", 31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
# Two checkouts on one host must not sign each other out, and cookies ignore ports.
SESSION_COOKIE_NAME = env.text("SHARDWATCH_SESSION_COOKIE_NAME", "shardwatch_session")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = TLS_IN_FRONT
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("ja", _("Japanese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = Path(env.text("SHARDWATCH_STATIC_ROOT", str(BASE_DIR / "var" / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage" if DEBUG else "config.static.HashedStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG

CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", "redis://127.0.0.1:6379/0")
# Results live in tables; Celery keeps none.
CELERY_TASK_IGNORE_RESULT = True
# Who is told of caches with news (collectors/landing.py): the judge of rules.
LANDED_TASK, LANDED_QUEUE = "alerts.tasks.evaluate", "judge"

# How often a cache is polled unless it says otherwise, and the grid that all polls lie on.
POLL_INTERVAL_SECONDS = env.whole("SHARDWATCH_POLL_INTERVAL_SECONDS", 15, minimum=1)
POLL_TICK_SECONDS = env.whole("SHARDWATCH_POLL_TICK_SECONDS", 5, minimum=1)
POLL_BATCH_NODES = env.whole("SHARDWATCH_POLL_BATCH_NODES", 50, minimum=1)
TOPOLOGY_INTERVAL_SECONDS = env.whole("SHARDWATCH_TOPOLOGY_INTERVAL_SECONDS", 60, minimum=1)
# What each command did since the time before. LATENCY HISTOGRAM takes a server about a millisecond.
COMMANDS_INTERVAL_SECONDS = env.whole("SHARDWATCH_COMMANDS_INTERVAL_SECONDS", 60, minimum=5)
LATENCY_INTERVAL_SECONDS = env.whole("SHARDWATCH_LATENCY_INTERVAL_SECONDS", 60, minimum=5)
SLOWLOG_INTERVAL_SECONDS = env.whole("SHARDWATCH_SLOWLOG_INTERVAL_SECONDS", 60, minimum=5)
# A server is blocked while it writes its client list: it is read rarely, and above the limit when asked for only.
CLIENTS_INTERVAL_SECONDS = env.whole("SHARDWATCH_CLIENTS_INTERVAL_SECONDS", 300, minimum=10)
CLIENTS_TIMEOUT_SECONDS = env.number("SHARDWATCH_CLIENTS_TIMEOUT_SECONDS", 30, minimum=0.05)
CLIENTS_LIMIT = env.whole("SHARDWATCH_CLIENTS_LIMIT", 5_000)
# CLUSTER SLOT-STATS takes a server half a millisecond. Hot keys are looked for only when asked to, unless this is set.
SLOTS_INTERVAL_SECONDS = env.whole("SHARDWATCH_SLOTS_INTERVAL_SECONDS", 300, minimum=5)
HOT_KEYS_INTERVAL_SECONDS = env.whole("SHARDWATCH_HOT_KEYS_INTERVAL_SECONDS", 0)
# Scans of keys may take this much of a node's time in a day, in seconds; 0 is no limit.
SCAN_BUDGET_SECONDS = env.whole("SHARDWATCH_SCAN_BUDGET_SECONDS", 3_600)
# Whether people who only look see ids in key names as hashes.
MASK_KEY_NAMES = env.flag("SHARDWATCH_MASK_KEY_NAMES", False)
DETAIL_INTERVAL_SECONDS = env.whole("SHARDWATCH_DETAIL_INTERVAL_SECONDS", 300, minimum=5)
# A refusal is asked again after this time: ACLs change.
COMMAND_RECHECK_SECONDS = env.whole("SHARDWATCH_COMMAND_RECHECK_SECONDS", 3_600, minimum=10)
# The longest that somebody waits for a test of a connection, all steps together.
TEST_CONNECTION_SECONDS = env.number("SHARDWATCH_TEST_CONNECTION_SECONDS", 10, minimum=0.05)
MYSQL_INTERVAL_SECONDS = env.whole("SHARDWATCH_MYSQL_INTERVAL_SECONDS", 300, minimum=10)
# Reading the settings of a MySQL, from the connection to the last row.
MYSQL_TIMEOUT_SECONDS = env.number("SHARDWATCH_MYSQL_TIMEOUT_SECONDS", 5, minimum=0.05)
POLL_WORKER_LOST_SECONDS = env.whole("SHARDWATCH_POLL_WORKER_LOST_SECONDS", 20, minimum=2)

RETENTION_RAW_DAYS = env.whole("SHARDWATCH_RETENTION_RAW_DAYS", 7, minimum=1)
RETENTION_5M_DAYS = env.whole("SHARDWATCH_RETENTION_5M_DAYS", 90, minimum=1)
RETENTION_1H_DAYS = env.whole("SHARDWATCH_RETENTION_1H_DAYS", 730, minimum=1)
RETENTION_DETAIL_DAYS = env.whole("SHARDWATCH_RETENTION_DETAIL_DAYS", 90, minimum=1)
RETENTION_EVENTS_DAYS = env.whole("SHARDWATCH_RETENTION_EVENTS_DAYS", 730, minimum=1)
RETENTION_SLOWLOG_DAYS = env.whole("SHARDWATCH_RETENTION_SLOWLOG_DAYS", 30, minimum=1)
RETENTION_CLIENTS_DAYS = env.whole("SHARDWATCH_RETENTION_CLIENTS_DAYS", 14, minimum=1)
RETENTION_LATENCY_DAYS = env.whole("SHARDWATCH_RETENTION_LATENCY_DAYS", 30, minimum=1)
RETENTION_SLOTS_DAYS = env.whole("SHARDWATCH_RETENTION_SLOTS_DAYS", 7, minimum=1)
RETENTION_SCANS_DAYS = env.whole("SHARDWATCH_RETENTION_SCANS_DAYS", 180, minimum=1)
# Incidents and alerts that are over, with all decisions about them; their messages go sooner.
RETENTION_ALERTS_DAYS = env.whole("SHARDWATCH_RETENTION_ALERTS_DAYS", 730, minimum=31)
RETENTION_MESSAGES_DAYS = env.whole("SHARDWATCH_RETENTION_MESSAGES_DAYS", 90, minimum=1)
# Counts by command and by error, in four widths of time.
RETENTION_TALLY_1M_DAYS = env.whole("SHARDWATCH_RETENTION_TALLY_1M_DAYS", 2, minimum=1)
RETENTION_TALLY_10M_DAYS = env.whole("SHARDWATCH_RETENTION_TALLY_10M_DAYS", 30, minimum=1)
RETENTION_TALLY_2H_DAYS = env.whole("SHARDWATCH_RETENTION_TALLY_2H_DAYS", 180, minimum=1)
RETENTION_TALLY_12H_DAYS = env.whole("SHARDWATCH_RETENTION_TALLY_12H_DAYS", 730, minimum=1)
ROLLUP_INTERVAL_SECONDS = env.whole("SHARDWATCH_ROLLUP_INTERVAL_SECONDS", 60, minimum=1)
RETENTION_INTERVAL_SECONDS = env.whole("SHARDWATCH_RETENTION_INTERVAL_SECONDS", 3_600, minimum=10)

# /readyz turns red when beat or the poll loop showed no life for this long.
READY_BEAT_SECONDS = env.whole("SHARDWATCH_READY_BEAT_SECONDS", 60, minimum=5)
READY_POLL_SECONDS = env.whole("SHARDWATCH_READY_POLL_SECONDS", 90, minimum=5)
READY_SEND_SECONDS = env.whole("SHARDWATCH_READY_SEND_SECONDS", 60, minimum=5)
READY_JUDGE_SECONDS = env.whole("SHARDWATCH_READY_JUDGE_SECONDS", 60, minimum=5)

# Where people find Shardwatch, for links in messages; without it messages carry none.
PUBLIC_URL = env.text("SHARDWATCH_PUBLIC_URL", "").rstrip("/")
# The service outside that is pinged as long as everything works; empty pings none.
HEARTBEAT_URL = env.text("SHARDWATCH_HEARTBEAT_URL", "")
HEARTBEAT_SECONDS = env.whole("SHARDWATCH_HEARTBEAT_SECONDS", 60, minimum=5)
# How often a self-test goes through every channel; 0 is only when somebody asks for it.
SELF_TEST_HOURS = env.whole("SHARDWATCH_SELF_TEST_HOURS", 0)
# How long the link of a message acknowledges its incident without a sign-in.
ACKNOWLEDGE_LINK_HOURS = env.whole("SHARDWATCH_ACKNOWLEDGE_LINK_HOURS", 24, minimum=1)
# How often incidents are looked at for news, repeats and silences that ended.
ALERT_SWEEP_SECONDS = env.whole("SHARDWATCH_ALERT_SWEEP_SECONDS", 5, minimum=1)
# Rules are judged by ticks only that are so close to the database's clock.
ALERT_SKEW_SECONDS = env.whole("SHARDWATCH_ALERT_SKEW_SECONDS", 300, minimum=30)
# What one attempt to deliver a message may take, and what follows from it.
DELIVERY_CONNECT_TIMEOUT_SECONDS = env.number("SHARDWATCH_DELIVERY_CONNECT_TIMEOUT_SECONDS", 5, minimum=0.05)
DELIVERY_READ_TIMEOUT_SECONDS = env.number("SHARDWATCH_DELIVERY_READ_TIMEOUT_SECONDS", 10, minimum=0.05)
# A pager may accept what it did not answer to; until then no resolve may overtake it.
DELIVERY_RESOLVE_HOLD_SECONDS = env.number("SHARDWATCH_DELIVERY_RESOLVE_HOLD_SECONDS", 60)
DELIVERY_FALLBACK_SECONDS = env.number("SHARDWATCH_DELIVERY_FALLBACK_SECONDS", 120, minimum=1)
DELIVERY_WAKE_SECONDS = env.whole("SHARDWATCH_DELIVERY_WAKE_SECONDS", 2, minimum=1)
PAGERDUTY_URL = env.text("SHARDWATCH_PAGERDUTY_URL", "https://events.pagerduty.com").rstrip("/")
SLACK_URL = env.text("SHARDWATCH_SLACK_URL", "https://slack.com/api").rstrip("/")
# Host names, addresses and networks that messages may go to although they are private.
ALLOWED_PRIVATE_HOSTS = env.words("SHARDWATCH_ALLOWED_PRIVATE_HOSTS")

# The mail server; without a host no mail is sent.
EMAIL_HOST = env.text("SHARDWATCH_EMAIL_HOST", "")
EMAIL_PORT = env.whole("SHARDWATCH_EMAIL_PORT", 587, minimum=1)
EMAIL_HOST_USER = env.text("SHARDWATCH_EMAIL_USER", "")
EMAIL_HOST_PASSWORD = env.text("SHARDWATCH_EMAIL_PASSWORD", "")
EMAIL_SECURITY = env.text("SHARDWATCH_EMAIL_SECURITY", "starttls")
EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL_SECURITY == "starttls", EMAIL_SECURITY == "tls"
DEFAULT_FROM_EMAIL = env.text("SHARDWATCH_EMAIL_FROM", "shardwatch@localhost")

# The copy of all switches that a web process begins with while the database is away; empty keeps none.
SWITCHES_COPY = env.text("SHARDWATCH_SWITCHES_COPY", str(BASE_DIR / "var" / "switches"))

# host:port of an emulator that stands in for Google's services, without TLS; empty asks Google.
GOOGLE_ENDPOINT = env.text("SHARDWATCH_GOOGLE_ENDPOINT", "")
# How long one call to Google may take; the packages' own limits would hold a worker for up to twenty minutes.
CLOUD_CALL_TIMEOUT_SECONDS = env.number("SHARDWATCH_CLOUD_CALL_TIMEOUT_SECONDS", 15, minimum=0.05)
# For how long a listing is asked for again when its service is unavailable; the next one comes within a minute.
CLOUD_RETRY_SECONDS = env.number("SHARDWATCH_CLOUD_RETRY_SECONDS", 3, minimum=0.001)
# All pages of one listing together.
CLOUD_LISTING_SECONDS = env.number("SHARDWATCH_CLOUD_LISTING_SECONDS", 45, minimum=0.05)
CLOUD_TOKEN_TIMEOUT_SECONDS = env.number("SHARDWATCH_CLOUD_TOKEN_TIMEOUT_SECONDS", 5, minimum=0.05)
# How often it is looked which projects and feeds are due, and how often each feed of Cloud Monitoring is.
CLOUD_LOOK_SECONDS = env.whole("SHARDWATCH_CLOUD_LOOK_SECONDS", 15, minimum=1)
# Rules take a service for unread after five minutes and its places for silent after ten, five of them hidden by Google.
CLOUD_INTERVAL_SECONDS = env.whole("SHARDWATCH_CLOUD_INTERVAL_SECONDS", 60, minimum=60, maximum=240)
CLOUD_ROLLUP_SECONDS = env.whole("SHARDWATCH_CLOUD_ROLLUP_SECONDS", 300, minimum=60)
# Half of what Cloud Monitoring allows a project: the rest is for its dashboards.
CLOUD_QUERIES_PER_MINUTE = env.whole("SHARDWATCH_CLOUD_QUERIES_PER_MINUTE", 3_000, minimum=1)

# Whether /metrics/fleet offers the watched nodes under redis_exporter's names.
FLEET_METRICS = env.flag("SHARDWATCH_FLEET_METRICS", True)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {"refusals": {"()": "config.refusals.WithoutTraceback"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["refusals"]}},
    "root": {"handlers": ["stderr"], "level": env.text("SHARDWATCH_LOG_LEVEL", "INFO")},
}
