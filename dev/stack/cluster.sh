# shellcheck shell=bash disable=SC2154
# A Postgres cluster of our own: nothing but a Unix socket, peer authentication, no password anywhere.
# Sourced after paths.sh by up and down, tests/run, tests/prism/run and tests/hosts/net.py: nothing else starts one.
# run_as[] are the words before every command. Never touches a cluster of the system.

# A cluster that exists is run by the programs of its version, a new one by the newest (postgres-bin).
postgres_bin_of() { "$source_dir/dev/stack/postgres-bin" "$1"; }

# make_cluster DATA_DIR: once; what an interrupted call left is thrown away.
make_cluster() {
  local data_dir=$1 os_user role bin
  [ ! -f "$data_dir/PG_VERSION" ] || return 0
  bin=$(postgres_bin_of '') || return
  rm -rf "$data_dir.new" "$data_dir"
  "${run_as[@]}" "$bin/initdb" -D "$data_dir.new" -U postgres --locale=C.UTF-8 --encoding=UTF8 \
    --auth=peer "${@:2}" >"$log_dir/initdb.log" 2>&1 || fail "initdb failed:" "$(tail -n 5 "$log_dir/initdb.log")"
  {
    echo "# Root and the stack's user may be any of these."
    for os_user in root "$stack_user"; do
      for role in postgres hostler_api hostler_runner; do echo "stack $os_user $role"; done
    done
  } | "${run_as[@]}" tee "$data_dir.new/pg_ident.conf" >/dev/null
  echo "local all all peer map=stack" | "${run_as[@]}" tee "$data_dir.new/pg_hba.conf" >/dev/null
  echo "include 'hostler.conf'" | "${run_as[@]}" tee -a "$data_dir.new/postgresql.conf" >/dev/null
  mv "$data_dir.new" "$data_dir"
}

cluster_is_running() {
  local bin
  bin=$(postgres_bin_of "$1" 2>/dev/null) && "${run_as[@]}" "$bin/pg_ctl" -D "$1" status >/dev/null 2>&1
}

# start_cluster DATA_DIR SOCKET_DIR LOG_FILE [setting…]
start_cluster() {
  local data_dir=$1 socket_dir=$2 log_file=$3 bin
  bin=$(postgres_bin_of "$data_dir") || return
  ! cluster_is_running "$data_dir" || return 0
  {
    echo "# Written at every start. Durable like an installation: fsync stays on unless the caller says otherwise."
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$socket_dir'" "max_connections = 200" \
      "shared_buffers = 256MB" "random_page_cost = 1.1" "timezone = 'UTC'" "log_timezone = 'UTC'" \
      "log_line_prefix = '%m [%p] %u@%d '" "${@:4}"
  } | "${run_as[@]}" tee "$data_dir/hostler.conf" >/dev/null
  # In a session of its own a Ctrl-C does not reach it half-way; the caller, who gets it, stops what then runs.
  env -u PGHOST -u PGPORT -u PGDATABASE -u PGUSER -u PGOPTIONS setsid -w "${run_as[@]}" \
    "$bin/pg_ctl" -D "$data_dir" -l "$log_file" -w -t 60 -s start >/dev/null 9>&- ||
    fail "Postgres does not start; the end of $log_file:" "$(tail -n 5 "$log_file")"
}

# For tests: one that nobody needs after a crash, below VAR, as TEST_DATABASE_URL.
start_throwaway_cluster() {
  choose_user
  make_state
  make_cluster "$state_dir/pg" --no-sync
  start_cluster "$state_dir/pg" "$run_dir" "$log_dir/postgres.log" "fsync = off" "full_page_writes = off" \
    "max_connections = 600" "track_commit_timestamp = on"
  TEST_DATABASE_URL=$(database_url "$run_dir" postgres)
  export TEST_DATABASE_URL
}

stop_cluster() {
  ! cluster_is_running "$1" || "${run_as[@]}" "$(postgres_bin_of "$1")/pg_ctl" -D "$1" -m fast -w -t 60 -s stop
}

# The address of a database in it, as a superuser: database_url SOCKET_DIR DATABASE
database_url() { printf 'postgresql:///%s?host=%s&user=postgres' "$2" "$1"; }
