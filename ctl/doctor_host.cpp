// The doctor's checks on one host; see ctl/doctor_report.h. Reads the state of nginx and the
// kernel, never the files that were meant.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "ctl/output.h"
#include "ctl/setup_steps.h"
#include "ctl/subprocess.h"
#include "lib/net/address_guard.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

constexpr uint64_t disk_free_min_bytes = uint64_t{1} << 30;
constexpr int64_t descriptors_min = 16'384;
constexpr const char* two_weeks_s = "1209600";
constexpr const char* renewal = "certbot renew --deploy-hook 'systemctl reload nginx'";
constexpr const char* packaged_access_log = "/var/log/hostler";
constexpr int64_t access_log_wait_max_s = 900;
constexpr int64_t nginx_connections_default = 512;
constexpr int64_t nginx_connections_min = 4'096;

// The values of a directive in what nginx -T prints, in order: "worker_connections 768;" is 768.
std::vector<std::string> directives(std::string_view text, std::string_view name) {
  std::vector<std::string> values;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(name) || line.size() <= name.size() + 1 || line[name.size()] != ' ') {
      continue;
    }
    std::string_view value = line.substr(name.size() + 1);
    value = value.substr(0, value.find(';'));
    if (value.size() > 1 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    values.emplace_back(value);
  }
  return values;
}

int64_t number_of(std::string_view text, int64_t otherwise) {
  int64_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void look_at_certificate(const std::string& path, DoctorReport& report) {
  if (run_subprocess({"openssl", "x509", "-noout", "-in", path}, true).status != 0) {
    report.fault("certificate", path +
                                    " cannot be read: hostlerctl setup --certificate FILE "
                                    "--certificate-key FILE links another one");
  } else if (run_subprocess({"openssl", "x509", "-checkend", "0", "-noout", "-in", path}, true)
                 .status != 0) {
    report.fault("certificate", path + " has expired: " + renewal);
  } else if (run_subprocess({"openssl", "x509", "-checkend", two_weeks_s, "-noout", "-in", path},
                            true)
                 .status != 0) {
    report.warn("certificate", path + " expires within two weeks: " + renewal);
  } else {
    report.well("certificate", path);
  }
}

// The first certificate in PEM, or empty.
std::string certificate_in(std::string_view text) {
  size_t begin = text.find("-----BEGIN CERTIFICATE-----");
  size_t end = text.find("-----END CERTIFICATE-----");
  bool is_there = begin < end && end != std::string_view::npos;
  return is_there ? std::string(text.substr(begin, end - begin)) : "";
}

// Address at which this host reaches a listen of nginx: for "443 ssl" 127.0.0.1:443. Empty if no
// port is named.
std::string endpoint_of_listen(std::string_view value) {
  std::string endpoint(value.substr(0, value.find(' ')));
  if (endpoint.find_first_not_of("0123456789") == std::string::npos) return "127.0.0.1:" + endpoint;
  size_t colon = endpoint.rfind(':');
  if (endpoint.starts_with("unix:") || colon == std::string::npos || endpoint.ends_with(']'))
    return "";
  std::string host = endpoint.substr(0, colon);
  if (host == "*" || host == "0.0.0.0") host = "127.0.0.1";
  return (host == "[::]" ? "[::1]" : host) + endpoint.substr(colon);
}

// A renewed certificate is served from nginx's next reload on.
void look_at_served_certificate(std::string_view text, const std::set<std::string>& files,
                                DoctorReport& report) {
  for (const std::string& listen : directives(text, "listen")) {
    std::string words = listen + " ";
    bool is_default = words.find(" ssl ") != std::string::npos &&
                      words.find(" default_server ") != std::string::npos;
    std::string endpoint = is_default ? endpoint_of_listen(listen) : "";
    if (endpoint.empty()) continue;
    SubprocessRun asked = run_subprocess(
        {"timeout", "5", "openssl", "s_client", "-noservername", "-connect", endpoint}, true);
    std::string served = certificate_in(asked.out);
    auto is_served = [&served](const std::string& path) {
      return certificate_in(run_subprocess({"openssl", "x509", "-in", path}, true).out) == served;
    };
    if (served.empty() || std::any_of(files.begin(), files.end(), is_served)) return;
    report.warn("certificate",
                fmt::format("nginx at {} serves another certificate than its files have: systemctl "
                            "reload nginx; a hook does it after each renewal, man hostler",
                            endpoint));
    return;
  }
}

void look_at_nginx_limits(std::string_view text, DoctorReport& report) {
  std::vector<std::string> found = directives(text, "worker_connections");
  int64_t connections = found.empty() ? nginx_connections_default
                                      : number_of(found.front(), nginx_connections_default);
  std::vector<std::string> files = directives(text, "worker_rlimit_nofile");
  if (connections < nginx_connections_min) {
    report.warn("nginx", fmt::format("worker_connections {}: each stream takes two; set 16384",
                                     connections));
  } else if (files.empty() || number_of(files.front(), 0) < connections) {
    report.warn("nginx", fmt::format("worker_rlimit_nofile is below worker_connections {}: "
                                     "connections fail before that; raise it above them",
                                     connections));
  } else {
    report.well("nginx", fmt::format("the site is enabled, worker_connections {}", connections));
  }
}

void look_at_nginx(DoctorReport& report) {
  SubprocessRun nginx = run_subprocess({"nginx", "-T"}, true);
  const std::string& text = nginx.out;
  if (nginx.status != 0) {
    report.warn("nginx", "nginx -T fails, or this user may not run it: run the doctor as root");
    return;
  }
  if (text.find("upstream hostler_api") == std::string::npos) {
    report.fault("nginx",
                 "Hostler's site is not enabled: ln -s ../sites-available/hostler "
                 "/etc/nginx/sites-enabled/hostler && nginx -t && systemctl reload nginx");
    return;
  }
  look_at_nginx_limits(text, report);
  std::vector<std::string> kept = directives(text, "fastcgi_keep_conn");
  if (std::find(kept.begin(), kept.end(), "on") == kept.end()) {
    report.warn("nginx",
                "fastcgi_keep_conn off: clients wait for the rest of an answer that was cut short; "
                "set it to on");
  }
  for (const std::string& value : directives(text, "fastcgi_max_temp_file_size")) {
    if (number_of(value, 1) == 0) {
      report.fault("nginx",
                   "fastcgi_max_temp_file_size 0: a slow client blocks a worker; remove it");
    }
  }
  std::vector<std::string> paths = directives(text, "ssl_certificate");
  std::set<std::string> files(paths.begin(), paths.end());
  for (const std::string& path : files) look_at_certificate(path, report);
  look_at_served_certificate(text, files, report);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The soft limit of open files that a process has; -1 when it says none.
int64_t files_limit_of(std::string_view limits) {
  constexpr std::string_view row = "Max open files";
  size_t at = limits.find(row);
  if (at == std::string_view::npos) return -1;
  std::string_view rest = limits.substr(at + row.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return number_of(rest, -1);
}

// Limit of the running programs, not the one that a unit promises.
void look_at_file_limits(DoctorReport& report) {
  int64_t min = -1;
  DIR* open = opendir("/proc");
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open)) {
    std::string folder = std::string("/proc/") + entry->d_name;
    std::string name = text_of(folder + "/comm");
    if (name != "hostler-runner\n" && name != "hostler-api\n") continue;
    int64_t limit = files_limit_of(text_of(folder + "/limits"));
    if (limit >= 0 && (min < 0 || limit < min)) min = limit;
  }
  if (open != nullptr) closedir(open);
  if (min < 0) return;  // none runs here
  if (min < descriptors_min) {
    report.warn("file limit", fmt::format("a program may open {} files; a daemon needs one a "
                                          "stream: raise LimitNOFILE in its unit",
                                          min));
  } else {
    report.well("file limit", fmt::format("{} open files", min));
  }
}

// FastCGI and SCGI believe what the peer says: they belong on a private network.
void look_at_port(const std::string& setting, const std::string& address, DoctorReport& report) {
  if (address.empty()) return;
  std::optional<net::IpAddress> host = net::IpAddress::parse(address.substr(0, address.rfind(':')));
  bool is_open = !host || net::kind_of_address(*host) == net::AddressKind::global ||
                 net::kind_of_address(*host) == net::AddressKind::this_network;
  if (is_open) {
    report.warn(setting, address + " may be reached from outside: use an address of a private net");
  } else {
    report.well(setting, address);
  }
}

void look_at_network(const config::Settings& settings, DoctorReport& report) {
  if (!pool_needs_network(settings)) return;
  std::string difference = pool_network_difference();
  if (!difference.empty()) {
    report.warn("API network", "hostler-api.service.d/network.conf" + difference);
  } else if (pool_has_network()) {
    report.well("API network", "as database.url or api.listen_tcp needs it");
  } else {
    report.fault("API network",
                 "database.url or api.listen_tcp needs a network, which the pool's unit does not "
                 "have: hostlerctl setup");
  }
}

void look_at_disk(const config::Settings& settings, DoctorReport& report) {
  for (const std::string& folder : {std::string("/"), settings.text("access_log.dir")}) {
    struct statvfs space {};
    if (folder.empty() || statvfs(folder.c_str(), &space) != 0) continue;
    uint64_t free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
    bool is_short_of_inodes = space.f_files > 0 && space.f_favail * 50 < space.f_files;
    if (free_bytes < disk_free_min_bytes) {
      report.warn("disk", fmt::format("{} MiB left below {}: remove files, or enlarge it",
                                      free_bytes >> 20, folder));
    } else if (is_short_of_inodes) {
      report.warn("disk", fmt::format("only {} inodes left below {}: remove small files",
                                      space.f_favail, folder));
    } else {
      report.well("disk", fmt::format("{} GiB left below {}", free_bytes >> 30, folder));
    }
  }
}

// nginx leaves a file a second; a daemon of this host takes each away when it is stored.
void look_at_access_log(const config::Settings& settings, DoctorReport& report) {
  std::string folder = settings.text("access_log.dir");
  if (folder.empty()) folder = packaged_access_log;
  int64_t now_s = unix_now_ms() / 1000;
  int64_t oldest_s = now_s;
  int64_t count = 0;
  DIR* open = opendir(folder.c_str());
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open)) {
    std::string_view name = entry->d_name;
    struct stat found {};
    bool is_one = name.starts_with("access-") && name.ends_with(".json") &&
                  fstatat(dirfd(open), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_one) continue;
    ++count;
    oldest_s = std::min<int64_t>(oldest_s, found.st_mtim.tv_sec);
  }
  if (open != nullptr) closedir(open);
  if (now_s - oldest_s < access_log_wait_max_s) return;
  report.warn("access log",
              fmt::format("{}: {} waiting, the oldest for {} s: no hostler-runner of this host "
                          "reads them; if none should, set access_log off in nginx's site",
                          folder, count_text(count, "file"), now_s - oldest_s));
}

}  // namespace

void look_at_host(const config::Settings& settings, DoctorReport& report) {
  look_at_sockets(settings, report);
  look_at_network(settings, report);
  look_at_port("api.listen_tcp", settings.text("api.listen_tcp"), report);
  look_at_port("stream.listen_tcp", settings.text("stream.listen_tcp"), report);
  look_at_nginx(report);
  look_at_file_limits(report);
  look_at_disk(settings, report);
  look_at_access_log(settings, report);
  if (!settings.strings("outbound.allow_cidrs").empty()) {
    report.warn("outbound.allow_cidrs",
                "tenants may reach private networks, which is meant for tests; otherwise empty it");
  }
}

}  // namespace hostler
