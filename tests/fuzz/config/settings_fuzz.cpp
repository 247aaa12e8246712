// Settings files, and values as the environment and the database give them: whatever is written,
// every setting keeps its bounds, every fault says where it is, and what is printed reads the same.
#include "lib/config/settings_load.h"
#include "lib/utf8.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

// A value passes its own reader again, as the database would give it.
void check_value(size_t index, const config::SettingValue& value) {
  std::optional<Json> json = parse_json_or_nothing(config::setting_json(value));
  require(json.has_value(), "a value is JSON");
  config::SettingReading again = config::read_setting(config::setting_rows[index], *json);
  const config::SettingValue* same = std::get_if<config::SettingValue>(&again);
  require(same != nullptr, "a value keeps its bounds");
  require(*same == value, "and reads the same");
}

void check_file(std::string_view input) {
  config::LoadedSettings loaded;
  config::read_settings_file(input, "x.toml", loaded);
  for (const std::string& fault : loaded.faults) {
    require(fault.starts_with("x.toml:"), "a fault says where it is");
    require(is_utf8(fault), "a fault is UTF-8");
  }
  for (size_t i = 0; i < config::setting_count; ++i) check_value(i, loaded.settings.value(i));
  config::LoadedSettings again;
  config::read_settings_file(config::print_settings(loaded.settings), "printed.toml", again);
  require(again.faults.empty(), "what is printed can be read");
  for (size_t i = 0; i < config::setting_count; ++i) {
    const config::SettingRow& row = config::setting_rows[i];
    if (row.is_secret || row.name == "database.url") continue;
    require(again.settings.value(i) == loaded.settings.value(i), "and reads the same");
  }
}

// From a file, as the programs read it.
void check_load(std::string_view input) {
  int fd = memfd_create("settings", MFD_CLOEXEC);
  require(fd >= 0, "a file in memory");
  ssize_t written = write(fd, input.data(), input.size());
  require(written == static_cast<ssize_t>(input.size()), "a file is written");
  char* nothing[] = {nullptr};
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  config::LoadedSettings loaded = config::load_settings(path, nothing);
  close(fd);
  config::LoadedSettings direct;
  config::read_settings_file(input, path, direct);
  require(loaded.faults.size() >= direct.faults.size(), "a file's faults are told");
  for (size_t i = 0; i < config::setting_count; ++i) {
    require(loaded.settings.value(i) == direct.settings.value(i), "a file is read as its text");
  }
}

void check_environment(std::string_view input) {
  std::string entry = "HOSTLER_" + std::string(input.substr(0, input.find('\0')));
  char* environment[] = {entry.data(), nullptr};
  config::LoadedSettings loaded;
  config::read_settings_environment(environment, loaded);
  require(loaded.faults.size() <= 1, "a variable is one setting");
  for (size_t i = 0; i < config::setting_count; ++i) check_value(i, loaded.settings.value(i));
}

}  // namespace

void settings(std::string_view input) {
  check_file(input);
  check_environment(input);
  check_load(input);
  require(config::without_password("password=" + std::string("hidden")).find("hidden") ==
              std::string::npos,
          "a password is not shown");
}

}  // namespace hostler::fuzz
