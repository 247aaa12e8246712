// Every setting of Hostler, in one table: what exists, what it may be, what it does. The sample
// file, the checks, the admin API and the look-ups are made from it; nothing else knows a name.
// Included by lib/config/settings.h; add a row only together with the code that reads it.
#pragma once

#include "lib/config/settings_rows.h"

namespace hostler::config {

// clang-format off
inline constexpr auto setting_rows = [] {
  using namespace settings_table;
  return std::to_array<SettingRow>({
    text_row("database.url", start, "postgresql:///hostler",
      "The address of Postgres: a connection URL or string of libpq; several hosts work too. "
      "Without a user in it the role is PGUSER, else the name of the system's user."),

    text_row("api.socket", start, "/run/hostler/api.sock",
      "The Unix socket on which nginx reaches the API pool (FastCGI)."),
    text_row("api.listen_tcp", start, "",
      "address:port in a private network on which the API pool also listens; empty: none."),
    strings_row("api.tcp_peers", start, SettingForm::network,
      "The addresses or CIDRs that may connect to api.listen_tcp."),
    integer_row("api.workers", start, "0", {0, 256}, "processes",
      "The number of workers of the API pool; 0: one for each core."),
    integer_row("api.own_connections", start, "8", {1, 100}, "connections",
      "The maximum of connections to Postgres of an API worker, besides the one for quick reads."),
    text_row("api.lock_dir", start, "/run/hostler-api",
      "The folder where all API pools of a host keep three lock files, so that together they "
      "hash at most two passwords at once, or one below four cores, besides one of a login from "
      "a known network. A pool that cannot use it counts only its own, and logs this."),

    text_row("stream.socket", start, "/run/hostler/stream.sock",
      "The Unix socket on which nginx reaches the event streams of the runner (SCGI)."),
    integer_row("stream.clients_max", start, "20000", {1, 1'000'000}, "streams",
      "The maximum of event streams that one daemon serves at once; others must try again."),
    text_row("stream.listen_tcp", start, "",
      "address:port in a private network on which streams are also served; empty: none."),
    strings_row("stream.tcp_peers", start, SettingForm::network,
      "The addresses or CIDRs that may connect to stream.listen_tcp."),

    integer_row("runner.database_connections", start, "4", {1, 100}, "connections",
      "The maximum of connections to Postgres of the runner, besides seven: for claims and "
      "LISTEN (one each), events (two) and streams (three)."),

    integer_row("run.slots", start, "2000", {0, 100'000}, "runs",
      "The maximum of runs that one daemon executes at once; 0: none, it only serves streams, "
      "and cleans up."),
    integer_row("run.input_seconds", live, "86400", lifetime, "seconds",
      "How long a run waits for the user's input before it fails."),
    integer_row("run.budget_wait_seconds", live, "2678400", lifetime, "seconds",
      "How long a run waits for a budget that never renews before it fails."),
    integer_row("run.lease_seconds", live, "10", {2, 300}, "seconds",
      "How long a daemon owns a run without renewing; then another takes it over."),

    text_row("secrets.key_file", start, "/etc/hostler/secret.key",
      "The keys that encrypt stored secrets: lines VERSION:base64 of 32 bytes, or 32 raw bytes. "
      "hostlerctl secret rotate puts all secrets under a new one."),

    text_row("metrics.api_socket", start, "/run/hostler/metrics-api.sock",
      "The Unix socket on which the API pool serves its metrics; empty: none."),
    text_row("metrics.runner_socket", start, "/run/hostler/metrics-runner.sock",
      "The Unix socket on which the runner serves its metrics; empty: none."),

    choice_row("log.level", start, "info", "debug|info|warning|error",
      "The lowest level of lines that are logged."),

    text_row("mail.dir", start, "",
      "The folder where mails are stored as .eml files while no SMTP server is set; empty: they "
      "wait."),
    text_row("mail.from", start, "",
      "The sender of all mail, unless an administrator stored mail settings."),
    host_row("mail.smtp_host", start, "",
      "The mail server, unless an administrator stored mail settings; empty: none."),
    integer_row("mail.smtp_port", start, "587", {1, 65535}, "",
      "The port of mail.smtp_host."),
    text_row("mail.smtp_user", start, "",
      "The login at mail.smtp_host; empty: no login."),
    secret_row("mail.smtp_pass", start,
      "The password at mail.smtp_host."),
    choice_row("mail.smtp_tls_mode", start, "starttls", "none|starttls|tls",
      "How the connection to mail.smtp_host is encrypted; starttls never falls back."),
    url_row("mail.site_url", live, "",
      "The address of this site as its users know it. Mails then link to its console; they have "
      "the token in any case. Empty: no links."),
    host_row("mail.helo", live, "",
      "The host name or IP address with which Hostler greets the mail server (EHLO). Empty: the "
      "host of mail.site_url, and this host's own name if that is empty too."),
    boolean_row("mail.smtputf8", live, "false",
      "Whether mail addresses may have letters beyond ASCII before the @. Mails to them need a "
      "mail server with SMTPUTF8, and wait while it has none."),
    integer_row("mail.retry_seconds", live, "172800", {60, 30 * 86'400}, "seconds",
      "How long a mail that the mail server refuses is tried again, from its first try."),

    text_row("outbound.socket", start, "",
      "The Unix socket on which the runner carries the API pool's calls to captcha and mail "
      "server, so that the pool needs no network; empty: the pool connects by itself. The "
      "packaged units set it."),
    text_row("outbound.ca_file", start, "",
      "A PEM file of certificates that outbound TLS trusts besides the system's; empty: none."),
    strings_row("outbound.allow_cidrs", live, SettingForm::network,
      "Private networks that tenants' URLs may reach. Only for tests, because it weakens "
      "protection."),

    choice_row("gateway.ip_mode", live, "direct", "direct|proxy|cdn",
      "The source of a client's address: nginx's peer, X-Forwarded-For, CF-Connecting-IP."),
    strings_row("gateway.trusted_cidrs", live, SettingForm::part_network,
      "The proxies that are trusted in the modes proxy and cdn; empty: none."),
    number_row("gateway.risk_reject_threshold", live, "0", {0, 1},
      "The risk score from which a request is refused; 0: none is."),
    strings_row("gateway.risk_files", start, SettingForm::any,
      "Files with one CIDR per line: clients from there get a higher risk score."),

    text_row("geoip.database", start, "",
      "An MMDB file with country and city of addresses; empty: both stay empty."),

    text_row("access_log.dir", start, "/var/log/hostler",
      "The folder where nginx writes access-*.json for the runner; empty: the runner reads "
      "none, and the site of nginx must have access_log off."),
    integer_row("access_log.retention_days", live, "30", some_days, "days", "How long rows of the access log are kept."),
    integer_row("run_events.retention_days", live, "90", some_days, "days",
      "The minimum time that the events of runs are kept; they are removed by whole months."),

    integer_row("audit.retention_days", live, "400", days_or_off, "days",
      "The minimum time that rows of the audit log are kept; they are removed by whole months; "
      "0: for ever."),

    integer_row("privacy.org_delete_days", live, "7", some_days, "days", "How long a deleted organization can be restored."),
    choice_row("auth.registration_mode", live, "open", "open|invite_only|disabled",
      "Who may register: everybody, people with an invitation code, or nobody."),
    boolean_row("auth.invitations_register", live, "false",
      "Whether a mailed invitation into an organization lets its address register while "
      "registration is not open."),
    boolean_row("auth.require_email_verification", live, "false", "Whether a login needs a verified mail address."),
    choice_row("auth.cookie_samesite", live, "lax", "lax|none",
      "none: pages of http.cors_origins on other sites can also refresh their sessions; lax: "
      "only those of this site."),
    integer_row("auth.access_token_seconds", live, "900", {10, 86'400}, "seconds", "How long an access token is valid."),
    integer_row("auth.refresh_token_seconds", live, "2592000", {60, 366 * 86'400}, "seconds",
      "How long a refresh token is valid; a session ends if it is not refreshed for so long."),
    integer_row("auth.refresh_race_seconds", live, "10", {0, 300}, "seconds",
      "How long a rotated refresh token is still accepted, for a second tab."),
    integer_row("auth.email_token_seconds", live, "3600", lifetime, "seconds", "How long the link of a verification mail is valid."),
    integer_row("auth.email_revert_seconds", live, "604800", lifetime, "seconds",
      "How long the link that takes a changed mail address back is valid."),
    integer_row("auth.otp_seconds", live, "600", {30, 86'400}, "seconds", "How long a login code sent by mail is valid."),
    integer_row("auth.forgot_password_seconds", live, "600", {0, 86'400}, "seconds",
      "How long after a login by mailed code the password may be changed without the old one."),
    integer_row("auth.fresh_seconds", live, "900", {0, lifetime.max}, "seconds",
      "How long a login counts as fresh, where a fresh one is needed; 0: no fresh login is "
      "needed."),

    choice_row("auth.require_factor", live, "none", "none|platform_admins|everyone",
      "Who may do nothing before they have a second factor, beside the members of organizations that ask for one."),
    integer_row("auth.factor_failures_per_hour", live, "20", {1, 1000}, "answers",
      "How many wrong second factors an account takes within an hour; then it takes none."),
    integer_row("auth.sso_session_seconds", live, "43200", {60, lifetime.max}, "seconds",
      "How long a session lives that an identity provider began; then the provider is asked again."),
    strings_row("auth.webauthn_origins", live, SettingForm::origin,
      "Origins beside that of mail.site_url whose pages may use passkeys, such as https://app.example.com."),

    text_row("captcha.site_key", live, "",
      "The public key of the Turnstile captcha; the captcha is on when both keys are set."),
    secret_row("captcha.secret_key", live,
      "The secret key of the Turnstile captcha."),
    url_row("captcha.verify_url", live,
      "https://challenges.cloudflare.com/turnstile/v0/siteverify",
      "The URL where captcha tokens are verified; any URL."),
    text_row("captcha.hostnames", live, "",
      "The hosts, with spaces between, on which a captcha may be solved; empty: any."),
    text_row("captcha.action", live, "",
      "The action that the page gives its captcha; a token of another is refused; empty: any."),
    integer_row("captcha.timeout_ms", live, "5000", timeout, "milliseconds",
      "How long the verification of a captcha may take."),

    integer_row("credit.initial_grant", live, "1000", any_count, "credits",
      "The credits with which a new user's personal organization starts."),
    integer_row("credit.workspace_grant", live, "0", any_count, "credits",
      "The credits with which a new workspace starts."),
    integer_row("credit.invite_reward", live, "500", any_count, "credits",
      "The credits that the owner of an invitation code gets for a registration with it."),
    integer_row("credit.invitee_reward", live, "200", any_count, "credits",
      "The credits that a new user gets for an invitation code."),
    integer_row("credit.per_usd", live, "1000", {1, 1'000'000'000}, "credits",
      "The credits for one US dollar of model cost."),
    integer_row("credit.run_hold", live, "10", any_count, "credits",
      "The credits that a run reserves when it is created."),
    integer_row("credit.tool_call", live, "0", any_count, "credits",
      "The credits that a tool call on the platform's credentials costs."),
    integer_row("budget.min_output_tokens", live, "64", {1, 100'000}, "tokens",
      "The output for which a budget and the balance must have room. With less left they are exhausted."),

    integer_row("invite.default_max_uses", live, "1", {0, 1'000'000}, "uses",
      "The number of times that a new invitation code may be used."),
    integer_row("invite.reset_seconds", live, "86400", lifetime, "seconds",
      "The time after a reset of the invitation code in which another one is refused."),
    integer_row("invite.member_seconds", live, "604800", lifetime, "seconds",
      "How long an invitation into an organization is valid."),

    integer_row("limit.requests_per_minute", live, "300", rate, "requests",
      "Requests a minute of one organization, unless an entitlement sets another limit."),
    integer_row("limit.anonymous_requests_per_minute", live, "300", rate, "requests",
      "Requests a minute without a caller, of one client address."),
    integer_row("limit.login_window_seconds", live, "600", {1, 86'400}, "seconds",
      "The time over which failed logins are counted."),
    integer_row("limit.login_failures_per_login_and_ip", live, "10", rate, "failures",
      "Failed logins for one login from one client address before it is refused."),
    integer_row("limit.login_failures_per_login", live, "100", rate, "failures",
      "Failed logins for one login from all addresses before it is refused."),
    integer_row("limit.sessions_per_user", live, "100", {1, 10'000}, "sessions",
      "Sessions of one user; one more ends the session that was idle longest."),
    integer_row("limit.login_failures_per_ip", live, "50", rate, "failures",
      "Failed logins from one client address for all logins before it is refused."),
    integer_row("limit.checks_per_minute", live, "30", rate, "requests",
      "How often a minute one client network may learn whether a login exists, by check or by "
      "registering."),
    integer_row("limit.verification_mails_per_minute", live, "1", rate, "mails",
      "Verification mails a minute of one user."),
    integer_row("limit.verification_mails_per_hour", live, "5", rate, "mails",
      "Verification mails an hour of one user."),
    integer_row("limit.otp_window_seconds", live, "600", {1, 86'400}, "seconds",
      "The time over which sent login codes are counted."),
    integer_row("limit.otp_sends_per_email", live, "5", rate, "mails",
      "Login codes sent to one mail address."),
    integer_row("limit.otp_sends_per_ip", live, "20", rate, "mails",
      "Login codes requested by one client address."),
    integer_row("limit.otp_guesses", live, "5", {1, 100}, "guesses",
      "Wrong guesses that end a login code."),
    integer_row("limit.otp_sends_per_email_day", live, "10", rate_or_off, "mails",
      "Login codes sent to one mail address within 24 hours; 0: any number."),
    integer_row("limit.otp_failures_per_account_day", live, "20", rate_or_off, "guesses",
      "Wrong login codes of one account within an hour before none is accepted; 0: any number."),
    integer_row("limit.registrations_per_network_hour", live, "10", rate_or_off, "registrations",
      "Registrations an hour from one network (an IPv4 address, an IPv6 /64); 0: any number."),
    integer_row("limit.invitations_per_inviter_day", live, "20", rate_or_off, "mails",
      "Invitations that one user may send within 24 hours; 0: any number."),
    integer_row("limit.invitations_per_recipient_day", live, "3", rate_or_off, "mails",
      "Invitations that one mail address gets within 24 hours; 0: any number."),
    integer_row("limit.redeem_tries_per_minute", live, "10", rate, "requests",
      "How often one user may try to redeem a code."),
    integer_row("limit.concurrent_runs", live, "10", {0, 1'000'000}, "runs",
      "Active runs of one organization, unless an entitlement sets another limit."),
    integer_row("limit.concurrent_runs_per_user", live, "50", {0, 1'000'000}, "runs",
      "Active runs of one user where no entitlement sets limit.concurrent_runs; 0: any number."),
    integer_row("limit.queued_runs", live, "100", {0, 1'000'000}, "runs",
      "Runs of one organization that are queued behind others of their thread."),
    integer_row("limit.waiting_runs", live, "1000", {0, 1'000'000}, "runs",
      "Runs of one organization that wait for results of tools. At the limit no run that "
      "declares tools begins."),
    integer_row("limit.input_bytes", live, "32768", {1, 32'768}, "bytes",
      "The longest answer to a run that waits, unless an entitlement sets a lower limit."),
    integer_row("limit.run_seconds", live, "1800", lifetime, "seconds",
      "How long a run may take, without its waits for the user."),
    integer_row("limit.agent_turns", live, "25", {1, 10'000}, "turns",
      "Model turns of one run."),
    integer_row("limit.tool_calls", live, "32", {0, 10'000}, "calls",
      "Tool calls of one run."),
    integer_row("limit.repair_turns", live, "2", {0, 10}, "turns",
      "How often a model gets a report that its answer does not fit response_format, before the "
      "run fails."),
    integer_row("limit.run_event_bytes", live, "16777216", any_bytes, "bytes",
      "Events of one run, before the run fails; 0: any number."),
    integer_row("limit.history_tool_bytes", live, "65536", {256, 1 << 20}, "bytes",
      "The part of a tool result of an earlier run that the model of the thread's next run gets."),
    integer_row("limit.platform_tool_calls_per_day", live, "1000", rate_or_off, "calls",
      "Tool calls a day of one organization on the platform's credentials; 0: any number."),
    integer_row("limit.workspaces_per_user", live, "20", rate_or_off, "workspaces",
      "Workspaces that one user may own; 0: any number."),
    integer_row("limit.stored_bytes", live, "10737418240", any_bytes, "bytes",
      "Messages, events and results that one organization may keep; 0: any number."),
    integer_row("limit.llm_models", live, "200", rate_or_off, "models",
      "Models that one organization may keep; 0: any number."),
    integer_row("limit.personas", live, "200", rate_or_off, "personas",
      "Versions of personas that one organization may keep; 0: any number."),
    integer_row("limit.tools", live, "200", rate_or_off, "tools",
      "Webhook tools that one organization may keep; 0: any number."),
    integer_row("limit.members", live, "10000", any_count, "members",
      "Members of one organization beyond which its identity provider adds none; 0: any number."),
    integer_row("limit.mcp_servers", live, "50", rate_or_off, "servers",
      "MCP servers that one organization may keep; 0: any number."),
    integer_row("limit.api_keys", live, "200", rate_or_off, "keys",
      "API keys of one organization that are neither revoked nor expired; 0: any number."),
    integer_row("limit.webhook_endpoints", live, "20", rate_or_off, "endpoints",
      "Webhook endpoints that one organization may keep; 0: any number."),
    integer_row("limit.budgets", live, "1000", rate_or_off, "budgets",
      "Budgets that one organization may keep; 0: any number."),
    integer_row("limit.streams_per_user", live, "20", rate_or_off, "streams",
      "Streams that one user's own tokens may have open; 0: any number."),
    integer_row("limit.streams", live, "200", rate_or_off, "streams",
      "Streams that one organization may have open, API keys included; 0: any number."),
    integer_row("limit.streams_per_network", live, "256", rate_or_off, "streams",
      "Streams that one network (an IPv4 address, an IPv6 /64) may have open; 0: any number."),

    integer_row("model.connect_timeout_ms", live, "10000", timeout, "milliseconds",
      "How long connecting to a model may take."),
    integer_row("model.first_byte_timeout_ms", live, "60000", timeout, "milliseconds",
      "How long a model may take before it begins to answer."),
    integer_row("model.idle_timeout_ms", live, "60000", timeout, "milliseconds",
      "How long a model may be silent within an answer."),

    integer_row("tool.search_timeout_ms", live, "10000", timeout, "milliseconds",
      "How long a web search may take."),
    integer_row("tool.fetch_timeout_ms", live, "20000", timeout, "milliseconds",
      "How long fetching a page may take."),

    choice_row("web_search.provider", live, "", "|alpha|beta",
      "The search backend if no tool provider is active; empty: none."),
    secret_row("web_search.alpha_api_key", live,
      "The key of web_search.provider alpha."),
    url_row("web_search.beta_base_url", live, "",
      "The address of web_search.provider beta."),
    choice_row("web_fetch.provider", live, "", "|gamma|delta|basic",
      "The page reader if no tool provider is active; basic is our own; empty: none."),
    secret_row("web_fetch.gamma_api_key", live,
      "The key of web_fetch.provider gamma."),
    secret_row("web_fetch.delta_api_key", live,
      "The key of web_fetch.provider delta."),
    url_row("web_fetch.delta_base_url", live, "",
      "The address of web_fetch.provider delta; empty: the provider's own."),

    integer_row("webhook.timeout_ms", live, "15000", timeout, "milliseconds",
      "How long the receiver of a webhook may take to answer."),

    url_row("mcp.client_id_url", live, "",
            "The address where authorization servers of MCP servers read Hostler's client "
            "document, if it is not mail.site_url with /v1/mcp-client.json: an https address "
            "that serves that document with itself as client_id."),
    strings_row("http.cors_origins", live, SettingForm::origin,
      "Origins of web pages that may call the API, such as https://app.example.com; hostlerctl "
      "cors-map writes them for nginx."),

    text_row("files.socket", start, "/run/hostler/files.sock",
      "The Unix socket on which hostler-files looks at uploaded files."),
    integer_row("files.request_bytes_max", start, "33554432", {1 << 20, 256 << 20}, "bytes",
      "The largest upload that nginx and the API pool accept; raise limit.file_bytes with it."),
    integer_row("files.checks", start, "0", {0, 64}, "files",
      "How many files one daemon has checked at once; 0: one for each core."),
    integer_row("files.unused_days", live, "7", some_days, "days",
      "How long a file is kept to which no message refers."),
    integer_row("limit.file_bytes", live, "33554432", {1, 256 << 20}, "bytes",
      "The largest file that may be uploaded, unless an entitlement sets another limit."),
    integer_row("limit.upload_bytes_per_day", live, "10737418240", any_bytes, "bytes",
      "Bytes that one organization may upload on a day (UTC); 0: any number."),
    integer_row("files.check_seconds", live, "600", {1, 86'400}, "seconds",
      "How long a run waits for a file of a message that is still being checked."),
  });
}();
// clang-format on

constexpr size_t setting_count = setting_rows.size();

// The row's index in the table, or setting_count.
constexpr size_t find_setting(std::string_view name) {
  for (size_t i = 0; i < setting_count; ++i) {
    if (setting_rows[i].name == name) return i;
  }
  return setting_count;
}

}  // namespace hostler::config
