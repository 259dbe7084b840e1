"""Settings are read once a process, so each case asks a process of its own."""

import json
import os
import subprocess
import sys

ASK = """
import json, django
django.setup()
from django.test import Client
plain = Client().get("/login/", headers={"Host": "localhost"})
secure = Client().get("/login/", secure=True, headers={"Host": "localhost", "X-Forwarded-Proto": "https"})
probe = Client().get("/healthz", headers={"Host": "localhost"})
print(json.dumps({"redirect": plain.get("Location", ""), "hsts": secure.get("Strict-Transport-Security", ""),
                  "secure": bool(secure.cookies["csrftoken"]["secure"]), "probe": probe.status_code}))
"""


def answers(behind_tls: str) -> dict[str, object]:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "SHARDWATCH_BEHIND_TLS": behind_tls}
    # Without it the page asks for files that only collectstatic makes.
    environment["SHARDWATCH_DEBUG"] = "yes"
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_it_insists_on_tls_behind_a_proxy_that_speaks_it() -> None:
    assert answers("yes") == {
        "redirect": "https://localhost/login/",
        "hsts": "max-age=31536000; includeSubDomains",
        "secure": True,
        "probe": 200,
    }


def test_it_serves_plain_http_without_one() -> None:
    assert answers("no") == {"redirect": "", "hsts": "", "secure": False, "probe": 200}
