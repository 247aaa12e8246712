# shellcheck shell=bash disable=SC2154
# Traps of nginx' configuration, seen in its text. Sourced by tests/nginx/run, whose check, fails and folder it uses.

grep -rhv '^ *#' nginx --include='*.conf' >"$folder/config"
has() { grep -qE -- "$1" "$folder/config" || { echo "nowhere: $1" && return 1; }; }
has_not() { ! grep -nE -- "$1" "$folder/config"; }

check "an answer that the pool does not end is told" has 'fastcgi_keep_conn +on'
# A write that meets the end of a kept connection could not be sent again.
only_reads_keep() {
  [ "$(grep -cE '^ *keepalive +[0-9]' "$folder/config")" = 1 ] &&
    sed -n '/upstream hostler_api_reads /,/}/p' "$folder/config" | grep -qE '^ *keepalive +[0-9]' &&
    [ "$(grep -E '^ +[A-Z]+ +hostler_api_reads;' "$folder/config" | awk '{print $1}' | sort | xargs)" = 'GET HEAD' ]
}
check "connections of reads alone are kept" only_reads_keep
check "the Proxy header reaches no program" has 'fastcgi_param +HTTP_PROXY +""'
check "streams are not buffered" has 'scgi_buffering +off'
check "a slow reader of an answer cannot block a worker" has_not 'fastcgi_max_temp_file_size +0'
check "no variable that overflows fastcgi_param" has_not '[$]tcpinfo_'
check "captures have names that nothing else has" has_not '[$][1-9]|\(\?P?<[^h=!]'
check "no alias" has_not '^ *alias '
check "no named location" has_not 'location +@|error_page.*@'
check "headers with an underscore are dropped" has 'underscores_in_headers +off'
check "the raw path stays as it came" has 'merge_slashes +off'
check "streams outlive the time between two pings" has 'scgi_read_timeout +75s'
