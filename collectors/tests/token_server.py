"""A stand-in for Google's token endpoint, and keys of service accounts that lead to it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


class TokenServer:
    """Hands out `tokens`, the last one for ever; counts who asks. A `refusal` is answered with 400 instead."""

    def __init__(self, *tokens: str, lives: int = 3600) -> None:
        self.tokens, self.lives = list(tokens), lives
        self.refusal = ""
        self.grants: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/token"

    def key(self) -> str:
        """Return the JSON of a service account's key whose tokens come from here."""
        key = rsa.generate_private_key(65537, 2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return json.dumps(
            {
                "type": "service_account",
                "project_id": "shop-prod",
                "private_key_id": "1",
                "private_key": pem.decode(),
                "client_email": "watch@shop-prod.iam.gserviceaccount.com",
                "client_id": "1",
                "token_uri": self.url,
            }
        )

    def answer(self, form: dict[str, list[str]]) -> tuple[int, dict[str, object]]:
        self.grants.append(form["grant_type"][0])
        if self.refusal:
            return 400, {"error": "invalid_grant", "error_description": self.refusal}
        token = self.tokens.pop(0) if len(self.tokens) > 1 else self.tokens[0]
        return 200, {"access_token": token, "expires_in": self.lives, "token_type": "Bearer"}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, said = owner.answer(parse_qs(body))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(said).encode())

            def log_message(self, *_args: object) -> None:
                return

        return Handler
