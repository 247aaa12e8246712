// Whether the pool gets a network: its unit has none, since with Postgres on the same host nothing
// of it needs one. See ctl/setup_steps.h.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/setup_steps.h"
#include "lib/config/settings_load.h"
#include "lib/postgres/hosts.h"

namespace hostler {
namespace {

constexpr const char* packaged_unit = "/lib/systemd/system/hostler-api.service";
constexpr const char* with_network = "/usr/share/hostler/systemd/api-with-network.conf";
constexpr const char* drop_in_folder = "/etc/systemd/system/hostler-api.service.d";
constexpr const char* drop_in = "/etc/systemd/system/hostler-api.service.d/network.conf";

}  // namespace

bool pool_needs_network(const config::Settings& settings) {
  return postgres::HostOrder(settings.text("database.url")).names_tcp_host() ||
         !settings.text("api.listen_tcp").empty();
}

// A pool that another unit starts, or none, is nobody's to check.
bool pool_has_network() { return file_exists(drop_in) || !file_exists(packaged_unit); }

int copy_drop_in(const std::string& source, const std::string& folder, const std::string& path) {
  std::ifstream file(source);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) return fail(exit_bad_input, source + " is gone");
  mkdir(folder.c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
  if (!write_new_file(path, text.str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH)) {
    return exit_no_permission;
  }
  return ran_well({"systemctl", "daemon-reload"}) ? exit_ok : exit_software;
}

int set_up_network(const SetupOptions& options) {
  config::LoadedSettings loaded = config::load_settings("", environ);
  if (!loaded.faults.empty()) {
    return fail(config::exit_bad_configuration,
                loaded.faults.front() + "; hostlerctl check-config says all of it");
  }
  bool is_there = file_exists(drop_in);
  if (!pool_needs_network(loaded.settings)) {
    report_step("network", is_there ? fmt::format("the pool needs none, and has one by {}", drop_in)
                                    : "the pool needs none, and has none");
    return exit_ok;
  }
  if (is_there || !has_systemd()) {
    report_step("network", is_there ? fmt::format("the pool has one by {}", drop_in)
                                    : "without systemd: as it is");
    return exit_ok;
  }
  report_change(options, "network",
                fmt::format("database.url or api.listen_tcp needs one: copy {} to {}", with_network,
                            drop_in));
  if (options.dry_run) return exit_ok;
  int status = copy_drop_in(with_network, drop_in_folder, drop_in);
  if (status != exit_ok) return status;
  return ran_well({"systemctl", "try-restart", "hostler-api.service"}) ? exit_ok : exit_software;
}

}  // namespace hostler
