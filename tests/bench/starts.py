"""How long the programs take from exec to ready, and `make up` on a stack that is up."""

import os
import socket
import subprocess
import time

from rig import ROUNDS


def ready_after(program, environment, folder):
    """Seconds from exec to READY=1, as systemd would hear it."""
    path = os.path.join(folder, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(path)
        told.settimeout(20)
        begin = time.perf_counter()
        running = subprocess.Popen(program, env={**environment, "NOTIFY_SOCKET": path},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while b"READY=1" not in told.recv(4096):
                continue
            return time.perf_counter() - begin
        except TimeoutError:
            raise SystemExit(f"{program[0]} is not ready after 20 s") from None
        finally:
            running.terminate()
            running.wait(40)
            os.unlink(path)


def starts(rig, peers, meter, figures):
    del peers, meter
    state = os.path.dirname(rig.env["CA_CERT"])
    folder = os.path.join(rig.scratch, "starts")
    os.makedirs(folder, exist_ok=True)
    for name, user, sockets in (("hostler-api", "hostler_api", ("API", "METRICS_API")),
                                ("hostler-runner", "hostler_runner", ("STREAM", "METRICS_RUNNER"))):
        environment = {**os.environ, "PGUSER": user,
                       "HOSTLER_DATABASE_URL": f"postgresql:///hostler?host={rig.socket_dir}"}
        environment.update({f"HOSTLER_{socket_name}_SOCKET":
                            os.path.join(folder, socket_name.lower() + ".sock")
                            for socket_name in sockets})
        program = [os.path.join(state, "bin", name), "--config",
                   os.path.join(state, "hostler.toml")]
        figures.add(f"{name}, exec to ready", [ready_after(program, environment, folder)
                                               for _ in range(ROUNDS)], "s", at_most=1)
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("MAKE", "MFLAGS"))}
    if subprocess.run(["make", "-q", "programs"], cwd=rig.source, env=environment, check=False,
                      capture_output=True).returncode != 0:
        return figures.skip("make up, the second time", "the programs are older than the sources")
    begin = time.perf_counter()
    subprocess.run(["make", "--no-print-directory", "up", f"PORT={rig.port}",
                    f"VAR={os.environ['VAR']}"], cwd=rig.source, env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    figures.add("make up, the second time", time.perf_counter() - begin, "s", at_most=5)
    return None
