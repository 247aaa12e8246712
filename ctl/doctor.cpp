// The doctor's rounds; see ctl/doctor.h. Each examination is a function that adds its findings.
#include "ctl/doctor.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "ctl/answers.h"
#include "ctl/gateway.h"
#include "ctl/owner_session.h"
#include "ctl/tool.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/loop/live_settings.h"
#include "lib/secret_box.h"
#include "lib/time_text.h"
#include "queries/operator.h"
#include "queries/settings.h"
#include "schema_version.h"

namespace hostler {
namespace {

constexpr int64_t clock_skew_most_ms = 2'000;
constexpr uint64_t disk_free_least_bytes = uint64_t{1} << 30;
constexpr rlim_t descriptors_least = 16'384;
constexpr const char* two_weeks_s = "1209600";
constexpr int nginx_connections_default = 512;

enum class Verdict { ok, warning, failure };

struct Finding {
  Verdict verdict;
  std::string what;
  std::string says;
};

class Rounds {
 public:
  void well(std::string what, std::string says) { add(Verdict::ok, what, says); }
  void warn(std::string what, std::string says) { add(Verdict::warning, what, says); }
  void fault(std::string what, std::string says) { add(Verdict::failure, what, says); }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  void add(Verdict verdict, std::string& what, std::string& says) {
    findings_.push_back({verdict, std::move(what), std::move(says)});
  }
  std::vector<Finding> findings_;
};

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::warning:
      return "warning";
    case Verdict::failure:
      return "failure";
  }
  return "";
}

// The newest version of the key file; 0 when it cannot be used.
int64_t look_at_key_file(const Settings& settings, Rounds& rounds) {
  const std::string& path = settings.text("secrets.key_file");
  std::variant<SecretBox, std::string> box = SecretBox::load(path);
  if (const std::string* fault = std::get_if<std::string>(&box)) {
    rounds.fault("key file", *fault);
    return 0;
  }
  struct stat found {};
  if (stat(path.c_str(), &found) == 0 && (found.st_mode & 0077) != 0) {
    rounds.warn("key file", fmt::format("others may read {}: chmod 0600 {}", path, path));
  } else {
    rounds.well("key file", path);
  }
  return std::get<SecretBox>(box).newest_version();
}

void look_at_gateway(const Settings& settings, DbSession& session, Rounds& rounds) {
  Settings in_force = settings_with_stored(settings, session.run(query::settings_all), nullptr);
  Result shut = session.run(query::doctor_orgs_shut);
  std::vector<std::string> doubts = gateway_doubts(in_force, shut.front().integer("orgs"));
  for (std::string& doubt : doubts) rounds.warn("gateway", std::move(doubt));
  if (doubts.empty()) rounds.well("gateway", "ip_mode " + in_force.text("gateway.ip_mode"));
}

void look_at_database(const Settings& settings, int64_t key_version, Rounds& rounds) {
  const std::string& url = settings.text("database.url");
  if (std::optional<std::string> why = why_no_connection(url)) {
    rounds.fault("database", *why);
    return;
  }
  OwnerSession owner = open_migrated(url, "hostlerctl doctor");
  if (!owner.session) {
    rounds.fault("database", owner.refusal);
    return;
  }
  Result facts = owner.session->run(query::doctor_database);
  const Row& row = facts.front();
  rounds.well("database", fmt::format("Postgres {}, schema {}", row.text("server_version"),
                                      schema_version_expected));
  int64_t skew_ms = std::abs(row.integer("now_ms") - unix_now_ms());
  if (skew_ms > clock_skew_most_ms) {
    rounds.warn("clock", fmt::format("{} ms from the database's; run an NTP client", skew_ms));
  } else {
    rounds.well("clock", fmt::format("{} ms from the database's", skew_ms));
  }
  if (!row.boolean("is_durable")) {
    rounds.fault("durability", "fsync or full_page_writes is off: a crash loses what was answered");
  }
  int64_t most = row.integer("connections_max");
  int64_t now = row.integer("connections");
  if (now * 5 > most * 4) {
    rounds.warn("connections", fmt::format("{} of {}: raise max_connections", now, most));
  } else {
    rounds.well("connections", fmt::format("{} of {}", now, most));
  }
  if (key_version > 0 && row.integer("key_version") > key_version) {
    rounds.fault("secrets", fmt::format("some need version {} of the key file, which ends with {}",
                                        row.integer("key_version"), key_version));
  }
  look_at_gateway(settings, *owner.session, rounds);
  if (row.integer("admins") == 0) {
    rounds.warn("administrators", "none: hostlerctl admin create --login … --email …");
  }
  if (row.integer("daemons") == 0) {
    rounds.fault("daemon",
                 "no hostler-runner gives a sign of life: systemctl status hostler-runner");
  } else {
    rounds.well("daemon", fmt::format("{} alive", row.integer("daemons")));
  }
  if (row.integer("unclaimed") > 0) {
    rounds.warn("runs", fmt::format("{} wait for a daemon for over a minute: raise run.slots or "
                                    "start another hostler-runner",
                                    row.integer("unclaimed")));
  }
}

void look_at_socket(const std::string& what, const std::string& path, Rounds& rounds) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int failed = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  int reason = errno;
  close(fd);
  if (failed == 0) {
    rounds.well(what, path);
  } else {
    rounds.fault(what,
                 fmt::format("{}: {}; systemctl status hostler.target", path, strerror(reason)));
  }
}

int number_behind(const std::string& text, std::string_view words) {
  size_t place = text.find(words);
  int number = nginx_connections_default;
  if (place == std::string::npos) return number;
  const char* begin = text.data() + place + words.size();
  std::from_chars(begin, text.data() + text.size(), number);
  return number;
}

void look_at_nginx(Rounds& rounds) {
  ToolRun nginx = run_tool({"nginx", "-T"}, true);
  const std::string& text = nginx.out;
  if (nginx.status != 0) {
    rounds.warn("nginx", "nginx -T fails, or this user may not run it: run the doctor as root");
    return;
  }
  if (text.find("upstream hostler_api") == std::string::npos) {
    rounds.fault("nginx",
                 "Hostler's site is not enabled: ln -s ../sites-available/hostler "
                 "/etc/nginx/sites-enabled/hostler && nginx -t && systemctl reload nginx");
    return;
  }
  int connections = number_behind(text, "worker_connections ");
  if (connections < 4096) {
    rounds.warn("nginx", fmt::format("worker_connections {}: each stream takes two; 16384 is well",
                                     connections));
  } else {
    rounds.well("nginx", fmt::format("the site is enabled, worker_connections {}", connections));
  }
  size_t certificate = text.find("ssl_certificate \"");
  if (certificate == std::string::npos) return;
  certificate += strlen("ssl_certificate \"");
  std::string path = text.substr(certificate, text.find('"', certificate) - certificate);
  if (run_tool({"openssl", "x509", "-noout", "-in", path}, true).status != 0) {
    rounds.fault("certificate", path + " cannot be read");
  } else if (run_tool({"openssl", "x509", "-checkend", two_weeks_s, "-noout", "-in", path}, true)
                 .status != 0) {
    rounds.warn("certificate", path + " expires within two weeks");
  } else {
    rounds.well("certificate", path);
  }
}

void look_at_host(const Settings& settings, Rounds& rounds) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < descriptors_least) {
    rounds.warn("file limit", fmt::format("{} open files at most here; a daemon needs one a stream",
                                          limit.rlim_max));
  }
  for (const std::string& folder : {std::string("/"), settings.text("access_log.dir")}) {
    struct statvfs space {};
    if (folder.empty() || statvfs(folder.c_str(), &space) != 0) continue;
    uint64_t free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
    if (free_bytes < disk_free_least_bytes) {
      rounds.warn("disk", fmt::format("{} MiB left below {}", free_bytes >> 20, folder));
    } else {
      rounds.well("disk", fmt::format("{} GiB left below {}", free_bytes >> 30, folder));
    }
  }
  if (!settings.strings("outbound.allow_cidrs").empty()) {
    rounds.warn("outbound.allow_cidrs", "tenants may reach private networks; meant for tests");
  }
}

void print_findings(const std::vector<Finding>& findings, bool as_json) {
  if (!as_json) {
    for (const Finding& finding : findings) {
      print_out(fmt::format("{:<8} {:<20} {}\n", verdict_name(finding.verdict), finding.what,
                            finding.says));
    }
    return;
  }
  JsonWriter json;
  json.begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().member("verdict", verdict_name(finding.verdict));
    json.member("what", finding.what).member("says", finding.says).end_object();
  }
  print_out(json.end_array().take() + "\n");
}

int run_doctor(const CommandCall& call) {
  const Settings& settings = call.settings();
  Rounds rounds;
  look_at_database(settings, look_at_key_file(settings, rounds), rounds);
  look_at_socket("API socket", settings.text("api.socket"), rounds);
  look_at_socket("stream socket", settings.text("stream.socket"), rounds);
  look_at_nginx(rounds);
  look_at_host(settings, rounds);
  print_findings(rounds.findings(), call.as_json);
  for (const Finding& finding : rounds.findings()) {
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
