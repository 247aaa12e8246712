# shellcheck shell=bash disable=SC2154
# Starts and ends the stack's programs, each in a session of its own. Sourced after paths.sh by up, down and demo.
# A record (run/NAME.pid: pid and start time) says which one is ours: no other is ever signalled.

# Reads /proc/PID/stat into stat_state, stat_session and stat_started (clock ticks since boot).
read_stat() {
  local stat fields
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  read -r -a fields <<<"${stat##*) }"
  stat_state=${fields[0]} stat_session=${fields[3]} stat_started=${fields[19]}
}

# Is our program NAME alive? Sets program_pid. A zombie that nobody reaps counts as gone.
is_running() {
  local started
  [ -f "$run_dir/$1.pid" ] || return 1
  read -r program_pid started <"$run_dir/$1.pid" || return 1
  read_stat "$program_pid" && [ "$stat_started" = "$started" ] && [ "$stat_state" != Z ]
}

# start_program NAME ENVIRONMENT_ARRAY COMMAND…: at once; whether it lives is for the caller to see.
# INT and QUIT get their defaults back, which a shell takes from what it starts in the background.
start_program() {
  local name=$1
  local -n start_environment=$2
  local held='' traps
  shift 2
  # A signal between start and record would lose the program: it is kept until then.
  traps=$(trap -p INT TERM HUP)
  trap 'held=130' INT
  trap 'held=143' TERM HUP
  (
    cd /
    exec </dev/null >>"$log_dir/$name.log" 2>&1 9>&-
    exec setsid "${run_as[@]}" env -i --default-signal "${start_environment[@]}" "$@"
  ) &
  read_stat $! || stat_started=0
  printf '%s %s\n' $! "$stat_started" >"$run_dir/$name.pid"
  eval "$traps"
  [ -z "$held" ] || exit "$held"
}

# Ends what is left of the session that NAME was started in: its workers, when it died without them.
end_session() {
  local session started entry pid
  read -r session started <"$run_dir/$1.pid" || return 0
  for entry in /proc/[0-9]*; do
    pid=${entry#/proc/}
    if read_stat "$pid" && [ "$stat_session" = "$session" ] && [ "$stat_started" -ge "$started" ] &&
      [ "$(stat -c %U "$entry" 2>/dev/null)" = "$stack_user" ]; then
      kill -KILL "$pid" 2>/dev/null || true
    fi
  done
}

# stop_programs SECONDS NAME…: asks all, waits for all, then ends what is left.
stop_programs() {
  local deadline=$((SECONDS + $1)) name
  shift
  for name in "$@"; do
    ! is_running "$name" || kill -TERM "$program_pid" 2>/dev/null || true
  done
  for name in "$@"; do
    while is_running "$name" && [ $SECONDS -lt $deadline ]; do sleep 0.03; done
    [ ! -f "$run_dir/$name.pid" ] || end_session "$name"
    rm -f "$run_dir/$name.pid" "$run_dir/$name.wanted"
  done
}

# The names of all that were started and not stopped since, in the order in which they are to end.
recorded_programs() {
  local record
  for record in "$run_dir"/{nginx,hostler-{api,runner}{,-[2-9]},hostler-files,fake-model,mcp-server}.pid; do
    [ ! -f "$record" ] || basename "$record" .pid
  done
}

# Workers that outlived their master hold its port. Returns when nobody listens on it, or after 2 s.
end_remnants() {
  local name ended=no deadline=$((SECONDS + 2))
  for name in $(recorded_programs); do
    ! is_running "$name" || continue
    stop_programs 0 "$name"
    ended=yes
  done
  while [ $ended = yes ] && ! is_running nginx && port_is_taken "$port" && [ $SECONDS -lt $deadline ]; do
    sleep 0.03
  done
}

# For a process, by its command line: the private stack to which it belongs, as stack_folder, and its part of that
# stack, as stack_file; fails for any other.
find_stack_of() {
  local words
  { words=$(tr '\0' ' ' <"/proc/$1/cmdline"); } 2>/dev/null || return 1
  case $words in
    "nginx: master process "*" -c "*/nginx/conf/nginx.conf*) words=${words#* -c } ;;
    */bin/postgres" -D "*/pg" "*) words=${words#* -D } ;;
    *python3" "*/bin/mcp_server.py" "*) words=${words#*python3 } ;;
    */bin/hostler-api" --config "* | */bin/hostler-runner" --config "* | */bin/fake-model" --port "* | \
      */bin/hostler-files" --socket "*) ;;
    *) return 1 ;;
  esac
  stack_file=${words%% *}
  stack_folder=${stack_file%/pg}
  stack_folder=${stack_folder%/nginx/conf/nginx.conf}
  stack_folder=${stack_folder%/bin/*}
}

# Describes the listener on the port of this call: another private stack is known by its nginx, or by its certificate
# when its folder was removed under it.
taker_of_port() {
  local entry pid gone=()
  for entry in /proc/[0-9]*; do
    pid=${entry#/proc/}
    find_stack_of "$pid" || continue
    if grep -qs "listen 127.0.0.1:$port " "$stack_folder/nginx/conf/hostler.conf"; then
      say "the Hostler stack in $stack_folder: make down VAR=$stack_folder stops it"
      return 0
    fi
    # This call may have created the folder again. For another user's stack this cannot be decided.
    if [ ! -e "$stack_file" ] && { [ "$(id -u)" -eq 0 ] || [ -O "$entry" ]; }; then gone+=("$pid"); fi
  done
  if [ ${#gone[@]} -gt 0 ] && timeout 5 openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null |
    grep -q 'Hostler private stack'; then
    say "a Hostler stack whose folder is gone: kill ${gone[*]}   ends what is left of it"
  else
    say "another program"
  fi
}

# Is a port of this machine listened on? Asked of the kernel: no tool, no connection.
port_is_taken() {
  awk -v port="$(printf ':%04X' "$1")" \
    '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }' \
    /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

end_of_log() { tail -n 5 "$log_dir/$1.log" 2>/dev/null | cut -c 1-400; }
