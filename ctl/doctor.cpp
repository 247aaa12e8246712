// The doctor's report; see ctl/doctor.h. Each examination is a function that adds its findings.
#include "ctl/doctor.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "ctl/cors_map.h"
#include "ctl/doctor_report.h"
#include "ctl/gateway.h"
#include "ctl/names.h"
#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "ctl/secrets.h"
#include "ctl/setup_steps.h"
#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/error.h"
#include "lib/health/database_health.h"
#include "lib/json.h"
#include "lib/postgres/pooler.h"
#include "queries/operator.h"
#include "queries/settings.h"

namespace hostler {
namespace {

// Nothing when it cannot be used.
std::optional<config::SecretBox> look_at_key_file(const config::Settings& settings,
                                                  DoctorReport& report) {
  const std::string& path = settings.text("secrets.key_file");
  std::variant<config::SecretBox, std::string> box = config::SecretBox::load(path);
  if (const std::string* fault = std::get_if<std::string>(&box)) {
    report.fault("key file", *fault);
    return std::nullopt;
  }
  struct stat found {};
  mode_t mode = stat(path.c_str(), &found) == 0 ? found.st_mode : 0;
  if ((mode & S_IWGRP) != 0) {
    report.warn("key file", fmt::format("its group may write {}: chmod g-w {}", path, path));
  } else if ((mode & S_IRGRP) != 0 && has_systemd()) {
    report.warn("key file",
                fmt::format("its group may read {}: where systemd hands it to the programs nobody "
                            "else needs it, chmod 0600 {}",
                            path, path));
  } else {
    report.well("key file", path);
  }
  return std::get<config::SecretBox>(std::move(box));
}

void look_at_secrets_without_key(const postgres::Result& newest, DoctorReport& report) {
  if (newest.empty()) {
    report.well("secrets", "none is stored");
  } else {
    report.fault("secrets",
                 "some are stored, and none opens here until the key file is as the finding "
                 "above says; a new key would open none of them");
  }
}

// The newest: a host with another key file than the others' stores under its own.
// usable: null when the key file is not.
void look_at_secrets(const config::SecretBox* usable, int64_t version_wanted,
                     postgres::DbSession& session, DoctorReport& report) {
  postgres::Result newest = session.run(query::DoctorSecrets{});
  if (usable == nullptr) return look_at_secrets_without_key(newest, report);
  const config::SecretBox& box = *usable;
  if (version_wanted > box.newest_version()) {
    report.fault("secrets",
                 fmt::format("some need version {} of the key file, which ends with {}: copy it "
                             "from the host where hostlerctl secret rotate was said",
                             version_wanted, box.newest_version()));
    return;
  }
  int64_t opened = 0;
  for (int i = 0; i < newest.size(); ++i) opened += secret_opens(box, newest[i]) ? 1 : 0;
  if (opened == newest.size()) {
    report.well("secrets", opened == 0   ? "none is stored"
                           : opened == 1 ? "the newest opens"
                                         : fmt::format("the newest {} open", opened));
  } else {
    report.fault("secrets", fmt::format("of the newest {}, {} cannot be opened with this host's "
                                        "key file: give every host the one with which hostlerctl "
                                        "secret verify opens most, and enter the others again",
                                        newest.size(), newest.size() - opened));
  }
}

void look_at_gateway(const config::Settings& in_force, postgres::DbSession& session,
                     DoctorReport& report) {
  postgres::Result shut = session.run(query::DoctorOrgsShut{});
  std::vector<std::string> doubts = gateway_doubts(in_force, shut.front());
  for (std::string& doubt : doubts) report.warn("gateway", std::move(doubt));
  if (doubts.empty()) report.well("gateway", "ip_mode " + in_force.text("gateway.ip_mode"));
}

// False: nothing else that is asked of this database would be worth believing.
bool look_at_pooler(const std::string& url, DoctorReport& report) {
  postgres::DatabaseOptions options;
  options.conninfo = url;
  options.application_name = "hostlerctl doctor";
  postgres::Pooling pooling = postgres::pooling_of(options);
  if (pooling == postgres::Pooling::transactions) {
    report.fault("pooler", postgres::transaction_pooling_fault);
  } else if (pooling == postgres::Pooling::sessions) {
    report.well("pooler", "one stands in front of Postgres and keeps sessions whole");
  }
  return pooling != postgres::Pooling::transactions;
}

void look_at_database(const config::Settings& settings, const std::optional<config::SecretBox>& box,
                      DoctorReport& report) {
  const std::string& url = settings.text("database.url");
  look_at_cluster(settings, report);
  if (std::optional<std::string> why = postgres::why_no_connection(url)) {
    report.fault("database", *why +
                                 ": systemctl status postgresql there; database.url and who "
                                 "says it: hostlerctl config --changed");
    return;
  }
  if (!look_at_pooler(url, report)) return;
  OwnerSession owner = open_migrated(url, "hostlerctl doctor");
  if (!owner.session) {
    report.fault("database", owner.refusal);
    return;
  }
  postgres::DbSession& session = *owner.session;
  look_at_disk(session, report);
  look_at_collations(session, report);
  postgres::Result facts = session.run(query::DoctorDatabase{});
  const postgres::Row& row = facts.front();
  health::look_at_postgres(settings, row, report);
  look_at_secrets(box ? &*box : nullptr, row.integer("key_version"), session, report);
  config::Settings in_force =
      config::settings_with_stored(settings, session.run(query::SettingsAll{}), nullptr);
  look_at_gateway(in_force, session, report);
  look_at_cors_map(in_force, report);
  health::look_at_work(row, report);
  look_at_maintenance(session, report);
  look_at_names(session, report);
  look_at_mail(in_force, box ? &*box : nullptr, session, report);
}

// libpq says some faults in two lines, the second with a tab before it.
std::string one_line(std::string_view message) {
  std::string line;
  for (size_t at = 0; at < message.size(); ++at) {
    if (message[at] != '\n') {
      line += message[at];
      continue;
    }
    line += "; ";
    at = std::min(message.find_first_not_of(" \t\n", at), message.size()) - 1;
  }
  return line;
}

void print_findings(const std::vector<Finding>& findings, bool as_json) {
  if (!as_json) {
    for (const Finding& finding : findings) {
      print_out(fmt::format("{:<8} {:<20} {}\n", health::verdict_name(finding.verdict),
                            finding.what, one_line(finding.message)));
    }
    return;
  }
  JsonWriter json;
  json.begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().member("verdict", health::verdict_name(finding.verdict));
    json.member("what", finding.what).member("message", finding.message).end_object();
  }
  print_out(json.end_array().take() + "\n");
}

int run_doctor(const CommandCall& call) {
  const config::Settings& settings = call.settings();
  DoctorReport report;
  look_at_settings_files(report);
  look_at_database(settings, look_at_key_file(settings, report), report);
  look_at_host(settings, report);
  print_findings(report.findings(), call.as_json);
  for (const Finding& finding : report.findings()) {
    if (finding.verdict == Verdict::failure) return exit_unavailable;
  }
  return exit_ok;
}

}  // namespace

void add_doctor_command(CommandLine& line) {
  line.command("doctor", "look at this installation and say what is wrong, with the mend",
               run_doctor);
}

}  // namespace hostler
