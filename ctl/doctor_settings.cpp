// Whether the services may read what root reads; see ctl/doctor_report.h.
#include <grp.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "lib/config/settings_load.h"

namespace hostler {
namespace {

constexpr const char* services_group = "hostler";

// A folder has to be entered as well.
bool may_read(const std::string& path, gid_t services) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return true;
  bool is_folder = S_ISDIR(found.st_mode);
  mode_t of_all = S_IROTH | (is_folder ? S_IXOTH : 0);
  mode_t of_group = S_IRGRP | (is_folder ? S_IXGRP : 0);
  return (found.st_mode & of_all) == of_all ||
         (found.st_gid == services && (found.st_mode & of_group) == of_group);
}

}  // namespace

void look_at_settings_files(DoctorReport& report) {
  const group* services = getgrnam(services_group);
  if (services == nullptr) return;  // they are not installed here
  std::filesystem::path file(config::default_settings_file);
  std::filesystem::path folder = file.parent_path() / "conf.d";
  std::vector<std::string> paths{file.parent_path(), file, folder};
  std::error_code fault;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(folder, fault)) {
    std::string name = entry.path().filename();
    if (name.ends_with(".toml") && !name.starts_with('.')) paths.push_back(entry.path());
  }
  std::sort(paths.begin() + 3, paths.end());
  for (const std::string& path : paths) {
    if (may_read(path, services->gr_gid)) continue;
    report.warn("settings",
                fmt::format("{} cannot be read by hostler-api and hostler-runner, so they exit "
                            "with 78 at their start: chgrp {} {}; chmod g+rX {}",
                            path, services_group, path, path));
  }
}

}  // namespace hostler
