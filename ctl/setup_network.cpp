// Whether the pool gets a network: its unit has none, since with Postgres on the same host nothing
// of it needs one. See ctl/setup_steps.h.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/setup_steps.h"
#include "lib/config/settings_load.h"
#include "lib/postgres/hosts.h"
#include "lib/postgres/session.h"

namespace hostler {
namespace {

constexpr const char* packaged_unit = "/lib/systemd/system/hostler-api.service";
constexpr const char* with_network = "/usr/share/hostler/systemd/api-with-network.conf";
constexpr const char* drop_in_folder = "/etc/systemd/system/hostler-api.service.d";
constexpr const char* drop_in = "/etc/systemd/system/hostler-api.service.d/network.conf";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Whether the services would go elsewhere than to what is set up. url: a string or URL of libpq, or
// a database's bare name.
bool is_of_another_database(const SetupOptions& options, const std::string& url) {
  bool is_bare_name = url.find("://") == url.npos && url.find('=') == url.npos;
  if (is_bare_name) return url != options.database;
  bool is_far = postgres::HostOrder(options.superuser_url).names_tcp_host();
  return postgres::conninfo_with(url, {{"dbname", options.database}}) !=
             postgres::conninfo_with(url, {}) ||
         (is_far && !postgres::HostOrder(url).names_tcp_host());
}

}  // namespace

bool pool_needs_network(const config::Settings& settings) {
  return postgres::HostOrder(settings.text("database.url")).names_tcp_host() ||
         !settings.text("api.listen_tcp").empty();
}

// A pool that another unit starts, or none, is nobody's to check.
bool pool_has_network() { return file_exists(drop_in) || !file_exists(packaged_unit); }

int link_drop_in(const std::string& source, const std::string& folder, const std::string& path) {
  if (!file_exists(source)) return fail(exit_bad_input, source + " is gone");
  mkdir(folder.c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
  unlink(path.c_str());  // a link that leads nowhere
  if (!make_link(path, source)) return exit_no_permission;
  return ran_well({"systemctl", "daemon-reload"}) ? exit_ok : exit_software;
}

std::string difference_from_package(const std::string& path, const std::string& source) {
  if (!file_exists(source) || text_of(path) == text_of(source)) return "";
  return fmt::format(
      ", which differs from {}: rm {}, then hostlerctl setup as before; put your own changes into "
      "another file beside it",
      source, path);
}

std::string pool_network_difference() {
  return file_exists(drop_in) ? difference_from_package(drop_in, with_network) : "";
}

int set_up_network(const SetupOptions& options) {
  // Configuration that the services read; variables of this shell do not reach them.
  char* const no_variables[] = {nullptr};
  config::LoadedSettings loaded = config::load_settings("", no_variables);
  if (!loaded.faults.empty()) {
    return fail(config::exit_bad_configuration,
                loaded.faults.front() + "; hostlerctl check-config reports all of it");
  }
  const std::string& url = loaded.settings.text("database.url");
  if (is_of_another_database(options, url)) {
    report_step("settings",
                fmt::format("database.url is {} and names another database than the requested one: "
                            "choose one in /etc/hostler/conf.d/database.toml",
                            config::without_password(url)));
  }
  bool is_there = file_exists(drop_in);
  std::string has_one = fmt::format("the pool has one by {}{}", drop_in, pool_network_difference());
  if (!pool_needs_network(loaded.settings)) {
    report_step("network", is_there ? fmt::format("the pool needs none, and has one by {}", drop_in)
                                    : "the pool needs none, and has none");
    return exit_ok;
  }
  if (is_there || !has_systemd()) {
    report_step("network", is_there ? has_one : "without systemd: unchanged");
    return exit_ok;
  }
  report_change(options, "network",
                fmt::format("database.url or api.listen_tcp needs one: link {} to {}", drop_in,
                            with_network));
  if (options.dry_run) return exit_ok;
  int status = link_drop_in(with_network, drop_in_folder, drop_in);
  if (status != exit_ok) return status;
  return ran_well({"systemctl", "try-restart", "hostler-api.service"}) ? exit_ok : exit_software;
}

}  // namespace hostler
