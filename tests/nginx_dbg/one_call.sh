# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # names of the caller, for the caller
# A run that one call creates and streams: what nginx does with the pool's redirect. Sourced by tests/nginx/run.
sent_from=/v1/runs
thread=01a20000-0000-7000-8000-0000000000aa
send_on "/_run/$run/native/$thread"
check "a run that is streamed at once is sent on, too" \
  hears ".HOSTLER_RUN == \"$run\" and .HOSTLER_FORMAT == \"native\""
check "its thread is named" has_field "X-Hostler-Thread: $thread\$"
send_on "/_run/$run/native/$thread" -H "X-Break: yes"
problem "the runner breaks its stream: 502" 502 http.bad_gateway
check "502 names the run in its body, too" \
  jq -e ".run_id == \"$run\" and (.detail | contains(\"/v1/runs/$run/events\"))" "$folder/body"
check "and the thread" has_field "X-Hostler-Thread: $thread\$"
ask "$base/_run/$run/native/$thread"
problem "from outside it is not there" 404 http.not_found
for place in /_run/ /_run/not-a-run/native "/_run/$run" "/_run/$run/native/other" "/_run/$run/NATIVE"; do
  send_on "$place"
  problem "a redirect that fits no run, $place: 502 by itself" 502 http.bad_gateway
done
has_no_place() { ! grep -rlF /_run/not-a-run "$folder"/log "$folder"/*log*; }
check "no log tells of the address" has_no_place
ask -H "X-Break: yes" "$base/v1/runs/$run/events"
problem "the runner breaks a stream that was asked for by its path: 502" 502 http.bad_gateway
check "that may be repeated" fails has_field 'x-should-retry'
