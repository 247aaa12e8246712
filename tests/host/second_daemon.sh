# shellcheck shell=bash
# One more daemon on the host, hostler-runner@2: part of tests/host/run, which sources it and has the helpers.

pid_of() { property "hostler-runner$1.service" MainPID; }
is_active() { prints active inside systemctl is-active "hostler-runner$1.service"; }
has_another_pid() { [ "$(pid_of "$1")" != "$2" ] && is_active "$1"; }

comes_back() {
  inside systemctl enable --now hostler-stream@2.socket hostler-runner@2.service && is_active @2 &&
    inside systemctl stop hostler.target && fails is_active @2 &&
    inside systemctl start hostler.target && until_well 20 is_active @2 && until_well 20 is_active ''
}
outlives_the_first() {
  local first second
  first=$(pid_of '') second=$(pid_of @2)
  inside kill -KILL "$first" && until_well 20 has_another_pid '' "$first" && [ "$(pid_of @2)" = "$second" ]
}
follows_an_upgrade() {
  local second
  second=$(pid_of @2)
  install_deb /root/hostler-99.2.deb && until_well 20 has_another_pid @2 "$second"
}

check "a second daemon goes and comes back with the target" comes_back
check "it outlives the first" outlives_the_first
check "an upgrade restarts it" follows_an_upgrade
