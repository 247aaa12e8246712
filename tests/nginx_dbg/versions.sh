# shellcheck shell=bash
# shellcheck disable=SC2154  # folder is the caller's
# Differences between versions of nginx in the rendered site. Sourced by tests/nginx/run.
# http2_of NGINX: what the site says about HTTP/2 for that version, once a server.
http2_of() {
  nginx/render "$folder/rendered" NGINX="$1" &&
    sed -n '/^ *#/d; s/ default_server.*//; /http2/s/^ *//p' "$folder/rendered/hostler.conf" | paste -sd+
}
says_http2() { [ "$(http2_of "$1")" = "$2" ] || { http2_of "$1" && return 1; }; }
check "nginx 1.25.0 is asked for HTTP/2 where it listens" \
  says_http2 1.25.0 'listen 443 ssl http2+listen [::]:443 ssl http2'
for version in 1.25.1 1.100.0; do
  check "nginx $version is asked for HTTP/2 by the directive" says_http2 $version 'http2 on;'
done
