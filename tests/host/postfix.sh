# shellcheck shell=bash
# Mails through Debian's Postfix on the host: part of tests/host/run, which sources it and has the helpers. Postfix
# takes mail for this host alone, and says whatever it refuses at RCPT.
# shellcheck disable=SC2154  # host_root and folder are of tests/host/run

as_postgres() { inside runuser -u postgres -- psql -X -q -A -t -d hostler -c "$1"; }
queue_mail_to() { as_postgres "SELECT mail_queue('password_changed', '$1', 'en', '{\"username\": \"Ada\"}')"; }
mail_is() { # ADDRESS STATUS WORDS: the words stand in what the server said last
  [ "$(as_postgres "SELECT count(*) FROM outbox WHERE recipient = '$1' AND status = '$2'
                    AND coalesce(last_error, '') LIKE '%$3%'")" = 1 ]
}
set_up_postfix() {
  inside postconf -e 'inet_interfaces = loopback-only' 'inet_protocols = ipv4' 'mynetworks =' \
    'mydestination = host.test' 'myhostname = host.test' 'smtpd_recipient_restrictions = reject_unauth_destination' \
    'smtpd_relay_restrictions = reject_unauth_destination' 'smtpd_sasl_auth_enable = no' 'alias_maps =' &&
    inside systemctl restart postfix && until_well 20 inside postfix status
}
send_through_postfix() {
  printf '[mail]\nsmtp_host = "127.0.0.1"\nsmtp_port = 25\nsmtp_tls_mode = "none"\n%s\n%s\n' \
    'from = "hostler@host.test"' "$1" >"$host_root/etc/hostler/conf.d/mail.toml"
  as_postgres 'DELETE FROM email_config; DELETE FROM outbox' && inside systemctl restart hostler-runner.service
}
is_in_mailbox() { inside grep -qs "$1" /var/mail/reader; }

check "Postfix takes mail for this host alone" set_up_postfix
inside useradd --create-home reader
check "the daemon sends through it" send_through_postfix 'helo = "hostler.test"'
queue_mail_to reader@host.test >/dev/null
check "a mail arrives" until_well 30 is_in_mailbox 'Subject: Your Hostler password was changed'
check "… and the greeting was mail.helo" is_in_mailbox 'from hostler.test'
queue_mail_to nobody-here@host.test >/dev/null
check "an answer about the mailbox ends a mail" until_well 30 mail_is nobody-here@host.test failed '5.1.1'
queue_mail_to ada@elsewhere.test >/dev/null
check "a relay that is denied does not" until_well 30 mail_is ada@elsewhere.test pending 'Relay access denied'
check "… and the doctor tells of it" doctor_output '^(ok|warning) +mails +.*Relay access denied'
check "a login that Postfix does not offer is a fault" send_through_postfix $'smtp_user = "user"\nsmtp_pass = "secret"'
queue_mail_to reader@host.test >/dev/null
check "… of each mail, which waits" until_well 30 mail_is reader@host.test pending 'offers no login'
check "… and for the doctor" doctor_output '^failure +mail +.*offers no login'
rm -f "$host_root/etc/hostler/conf.d/mail.toml"
