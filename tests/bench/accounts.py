"""Users with their personal organization, credits, a token and threads of one message, made in SQL
(accounts.sql): a password's hash costs more than all else. For the bench and for tests/scale."""

import base64
import hashlib
import pathlib
import re
import secrets
import types

Account = types.SimpleNamespace  # token, org, user, threads


def make_accounts(rows_of, count, threads_each, message):
    """rows_of: runs SQL as a superuser, and answers rows of texts."""
    tokens = ["hat_" + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
              for _ in range(count)]
    mark = "b" + secrets.token_hex(5)
    hashes = ",".join(f"('{mark}n{i}', '\\x{hashlib.sha256(token.encode()).hexdigest()}')"
                      for i, token in enumerate(tokens))
    text = pathlib.Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").format(
        hashes=hashes, each=threads_each, message=message.replace("'", "''"),
        words=" ".join(sorted(set(re.findall("[a-z0-9]+", message)))))
    made = {login: Account(user=user, org=org, threads=threads.split(",") if threads else [])
            for login, user, org, threads in rows_of(text)}
    accounts = []
    for i, token in enumerate(tokens):
        made[f"{mark}n{i}"].token = token
        accounts.append(made[f"{mark}n{i}"])
    return accounts
