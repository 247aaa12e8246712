# Posts through one API host as fast as it takes it, and prints one JSON object at its end. Called
# by tests/scale/crowd.py: poster.py HOST:PORT CALLERS < LIST
#   LIST: a line a request, TOKEN, PATH and BODY between tabs
# Answers: {"answers": [of each its run_id, id or null], "refusals": how many, "refused": [the first
# of them, as they were told]}.
import http.client
import json
import ssl
import sys
import threading

ADDRESS, CALLERS = sys.argv[1], int(sys.argv[2])
lines = [line.rstrip("\n").split("\t") for line in sys.stdin]
answers, refused = [None] * len(lines), []


def post_share(first):
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    line = http.client.HTTPSConnection(ADDRESS, timeout=60, context=trust)
    for position in range(first, len(lines), CALLERS):
        token, path, body = lines[position]
        try:
            line.request("POST", path, body, {"Authorization": f"Bearer {token}",
                                              "Content-Type": "application/json"})
            answer = line.getresponse()
            text = answer.read()
            if answer.status not in (200, 201, 202, 204):
                refused.append(f"{path}: {answer.status} {text[:300]}")
                continue
            said = json.loads(text) if text else {}
            answers[position] = said.get("run_id") or said.get("id")
        except (OSError, http.client.HTTPException) as fault:
            refused.append(f"{path}: {fault!r}")
            line.close()


threads = [threading.Thread(target=post_share, args=(first,)) for first in range(CALLERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"answers": answers, "refused": refused[:5], "refusals": len(refused)}))
