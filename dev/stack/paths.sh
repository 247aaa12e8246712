# shellcheck shell=bash disable=SC2034
# Where the private stack keeps its things and as whom it runs. Sourced by up, down, demo and tests/run.
# Sets: source_dir build_dir var_dir port stack_user run_as[]; after find_state: state_dir run_dir log_dir.
# Never touches a folder that is neither new, empty nor a stack's own.

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build_dir=${BUILD_DIR:-$source_dir/build/${VARIANT:-release}}
var_dir=${VAR:-$source_dir/var}
port=${PORT:-8443}
case $var_dir in /*) ;; *) var_dir=$PWD/$var_dir ;; esac
# Command that stops the stack again, as the caller would type it.
down_command="make down"
[ "$var_dir" = "$source_dir/var" ] || down_command="make down VAR=$var_dir"

# The longest socket of a stack, and what the kernel takes for a whole path (107 bytes), with some to spare.
run_sockets=/run/metrics-runner.sock
socket_path_max=100

if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

say() { printf '%s\n' "$*"; }
step() { printf '%s%-10s%s %s\n' "$bold" "$1" "$plain" "$2"; }
fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Root runs nothing but apt: everything else belongs to the owner of the checkout, or to postgres when that is root.
choose_user() {
  run_as=()
  stack_user=$(id -un 2>/dev/null) || fail "User $(id -u) has no entry in /etc/passwd, and Postgres insists on one."
  [ "$(id -u)" -eq 0 ] || return 0
  stack_user=$(stat -c %U "$source_dir")
  case $stack_user in root | UNKNOWN) stack_user=postgres ;; esac
  run_as=(setpriv --reuid="$stack_user" --regid="$(id -g "$stack_user")" --init-groups -- env -C /)
}

give_to_user() {
  [ "$(id -u)" -ne 0 ] || chown "$stack_user:" "$@"
}

# A folder outside var_dir, named by a link in it (so that a later call finds it again): $1 link, $2 parent.
folder_elsewhere() {
  local folder
  if [ -L "$1" ] && [ -d "$1" ]; then return 0; fi
  rm -f "$1"
  folder=$(mktemp -d "$2/hostler-XXXXXX")
  give_to_user "$folder"
  ln -s "$folder" "$1"
}

# Finds what an earlier call made, without making anything; fails when there is nothing.
find_state() {
  state_dir=$var_dir
  if [ -d "$var_dir/state" ]; then state_dir=$(realpath "$var_dir/state"); fi
  [ -f "$state_dir/.hostler-stack" ] || return 1
  run_dir=$(realpath -m "$state_dir/run")
  log_dir=$state_dir/log
}

make_state() {
  case $var_dir in
    *[!A-Za-z0-9/._+,:=~-]*) fail "VAR=$var_dir: use letters, digits and /._+,:=~- only, configurations name it." ;;
  esac
  if ! find_state; then
    if [ -e "$var_dir" ] && [ -n "$(ls -A "$var_dir")" ]; then
      fail "VAR=$var_dir is not empty and not the folder of a private stack. Name another one, or remove it."
    fi
    mkdir -p "$var_dir"
    give_to_user "$var_dir"
    # A checkout under /root cannot be entered by the user: then all but var/env lives elsewhere.
    if ! "${run_as[@]}" test -w "$var_dir"; then
      folder_elsewhere "$var_dir/state" /var/tmp
      step State "in $(readlink "$var_dir/state"): user $stack_user may not enter $var_dir"
    fi
    "${run_as[@]}" touch "$(realpath -e "$var_dir/state" 2>/dev/null || echo "$var_dir")/.hostler-stack"
    find_state
  fi
  if [ ${#state_dir} -gt $((socket_path_max - ${#run_sockets})) ]; then
    folder_elsewhere "$state_dir/run" /tmp
  fi
  "${run_as[@]}" mkdir -p "$state_dir/run" "$state_dir/log" "$state_dir/mail" "$state_dir/bin"
  "${run_as[@]}" mkdir -p -m 700 "$state_dir/secrets" "$state_dir/tls"
  find_state
  "${run_as[@]}" chmod 750 "$run_dir"
}

# One stack at a time: up and down of the same VAR wait for each other.
lock_state() {
  exec 9>"$state_dir/.lock"
  give_to_user "$state_dir/.lock"
  flock -w 120 9 || fail "Another make up or make down of $var_dir is at work and does not end."
}
