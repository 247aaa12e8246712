# shellcheck shell=bash
# A real Debian with systemd, Postgres and nginx inside, for tests/host/run: made by mmdebstrap, booted by
# systemd-nspawn without a network but its own loopback. Sourced; needs root. Never touches the machine's own systemd.

# HOST_SUITE: bookworm or trixie. The package depends on the libraries of the release that it was built on, so the
# default is this machine's.
host_suite=${HOST_SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
host_tar=$PWD/build/host/$host_suite.tar
host_root='' host_nspawn='' host_pid=''

# packages_of DEB: what the host must have; the package itself is installed later, by the test.
packages_of() {
  dpkg-deb -f "$1" Depends | tr ',' '\n' | sed -e 's/[(|].*//' -e 's/ //g' | grep -v '^systemd'
  printf '%s\n' systemd systemd-sysv dbus nginx postgresql curl jq openssl procps wrk ca-certificates postfix
}

# make_host_tar DEB: once for a list of packages.
make_host_tar() {
  local list
  list=$(packages_of "$1" | sort -u | paste -sd,)
  if [ ! -s "$host_tar" ] || [ "$(cat "$host_tar.list" 2>/dev/null)" != "$list" ]; then
    mkdir -p "${host_tar%/*}"
    mmdebstrap --quiet --variant=apt --include="$list" "$host_suite" "$host_tar.new" --format=tar
    mv "$host_tar.new" "$host_tar"
    echo "$list" >"$host_tar.list"
  fi
}

# boot_host FOLDER: unpacks and boots below it.
boot_host() {
  host_root=$1/root
  mkdir "$host_root"
  tar -xf "$host_tar" -C "$host_root" --exclude='./dev/*'
  systemd-nspawn --quiet --directory "$host_root" --register=no --keep-unit --private-network --console=pipe \
    --machine hostler-test --boot >"$1/boot.log" 2>&1 </dev/null &
  host_nspawn=$!
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    host_pid=$(pgrep -P "$host_nspawn" | head -n 1)
    if [ -n "$host_pid" ]; then
      case $(inside systemctl is-system-running 2>/dev/null) in running | degraded) return 0 ;; esac
    fi
    kill -0 "$host_nspawn" 2>/dev/null || break
    sleep 0.2
  done
  echo "systemd did not come up:" >&2
  tail -n 20 "$1/boot.log" >&2
  return 1
}

# inside COMMAND…: as root on the host.
inside() {
  nsenter --target "$host_pid" --all env -C / -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    SYSTEMD_PAGER=cat "$@"
}

stop_host() {
  [ -n "$host_nspawn" ] || return 0
  [ -z "$host_pid" ] || inside systemctl poweroff >/dev/null 2>&1 || true
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    kill -0 "$host_nspawn" 2>/dev/null || break
    sleep 0.2
  done
  kill -KILL "$host_nspawn" 2>/dev/null || true
  wait "$host_nspawn" 2>/dev/null || true
}
