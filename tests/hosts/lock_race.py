# A primary that is frozen between its look at the cluster and its next hold on the lock, and wakes
# when another has it: with Patroni's own code, on the etcd that a patroni.yml names. Called by
# tests/hosts/cluster: lock_race.py PATRONI_YML; prints who has the lock in the end.
import logging
import sys
import time

import yaml
from patroni.dcs import get_dcs

logging.disable(logging.CRITICAL)
with open(sys.argv[1], encoding="utf-8") as file:
    settings = yaml.safe_load(file)
interface = "etcd3" if "etcd3" in settings else "etcd"


def member(name):
    dcs = get_dcs({"scope": "race", "name": name, "ttl": 20, "loop_wait": 5, "retry_timeout": 5,
                   interface: settings[interface]})
    dcs._ttl = 4  # a lock that is over soon, so that nobody waits for long
    return dcs


frozen, other = member("frozen"), member("other")
for dcs, role in ((frozen, "master"), (other, "replica")):
    dcs.touch_member({"conn_url": "x", "state": "running", "role": role})
if not frozen.attempt_to_acquire_leader():
    raise SystemExit("the lock is not free")
frozen.get_cluster()  # what it knows when it is frozen
end = time.monotonic() + 40
while not other.attempt_to_acquire_leader():
    if time.monotonic() > end:
        raise SystemExit("the lock does not end")
    time.sleep(0.5)
frozen.update_leader(None)
print(other.get_cluster().leader.name)
