# shellcheck shell=bash disable=SC2154
# What `make demo MCP=1` shows besides: a small MCP server (dev/mcp_server.py) beside the stand-in model, registered for
# the platform, and a persona that names all of its tools. Sourced by dev/stack/demo after the stack is up; the server
# runs until `make down`.

# Keeps its port while it is free, so that the row of the server stays right.
start_mcp_server() {
  find_state || fail "The stack in $var_dir is gone."  # it may be new since it was looked for
  choose_user
  local program=$state_dir/bin/mcp_server.py
  # shellcheck disable=SC2034  # read by name
  local environment=("PATH=$PATH" LANG=C.UTF-8 PYTHONUNBUFFERED=1)
  mcp_port=$(cat "$state_dir/mcp-port" 2>/dev/null || echo 0)
  if ! is_running mcp-server; then
    cp "$here/../mcp_server.py" "$program"
    give_to_user "$program"
    while [ "$mcp_port" -eq 0 ] || port_is_taken "$mcp_port"; do mcp_port=$((30000 + RANDOM % 10000)); done
    echo "$mcp_port" >"$state_dir/mcp-port"
    start_program mcp-server environment python3 "$program" --port "$mcp_port"
  fi
  local deadline=$((SECONDS + 10))
  until port_is_taken "$mcp_port"; do
    is_running mcp-server || fail "The MCP server ended:" "$(end_of_log mcp-server)"
    [ $SECONDS -lt $deadline ] || fail "The MCP server does not listen on port $mcp_port."
    sleep 0.03
  done
}

# By the administrator, for everybody: the server, and the persona. Sets mcp_server.
register_mcp_server() {
  local url=http://127.0.0.1:$mcp_port/mcp
  # shellcheck disable=SC2034  # for post, get and ask of the demo
  token=$(admin_token)
  mcp_server=$(get '/v1/mcp-servers?limit=200' | jq -r 'map(select(.key == "notes"))[0].id // ""')
  if [ -n "$mcp_server" ]; then
    ask -X PATCH -H 'Content-Type: application/json' --data-binary "{\"url\":\"$url\"}" "/v1/mcp-servers/$mcp_server" \
      >/dev/null
    post "/v1/mcp-servers/$mcp_server:refresh" '{}' >/dev/null
  else
    mcp_server=$(post /v1/mcp-servers "{\"key\":\"notes\",\"url\":\"$url\",\"trust\":\"run\"}" | jq -r .id)
  fi
  local deadline=$((SECONDS + 20)) listing
  while listing=$(get "/v1/mcp-servers/$mcp_server" | jq -c .listing) && [[ $listing == *'"pending"'* ]]; do
    [ $SECONDS -lt $deadline ] || fail "The MCP server was not listed within 20 s; see $log_dir."
    sleep 0.1
  done
  [[ $listing == *'"state":"ok"'* ]] || fail "The MCP server could not be listed: $listing"
  get '/v1/personas?scope=platform&limit=200' | jq -e 'any(.persona_key == "notes")' >/dev/null ||
    post '/v1/personas?scope=platform' '{"persona_key":"notes","version":"1","display_name":"Notes",
      "system_prompt":"You keep notes for the user.","tools":["notes__*"]}' >/dev/null
}

show_mcp_tools() {
  get "/v1/mcp-servers/$mcp_server/tools" | jq -r '.[] | "   \(.name)  \(.state)  \(.description)"'
}
