// Reads settings from TOML files and the environment; see lib/settings_load.h. Owner of toml++.
#include "lib/settings_load.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

// Without exceptions a parse answers its fault as a value.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace hostler {
namespace {

constexpr size_t file_bytes_max = size_t{1} << 20;
constexpr std::string_view variable_prefix = "HOSTLER_";

std::string place(const std::string& path, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", path, region.begin.line, region.begin.column);
}

std::string hint(std::string_view written) {
  std::optional<std::string_view> nearest = nearest_setting(written);
  return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

// The same kinds of value as in JSON, so that one reader has the rules. Nothing for the others.
std::optional<Json> as_json(const toml::node& node) {
  if (node.is_string()) return Json(std::string(*node.value<std::string_view>()));
  if (node.is_integer()) return Json(*node.value<int64_t>());
  if (node.is_boolean()) return Json(*node.value<bool>());
  if (node.is_floating_point()) return Json(*node.value<double>());
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  Json::Array items;
  for (const toml::node& item : *array) {
    if (!item.is_string()) return std::nullopt;
    items.emplace_back(std::string(*item.value<std::string_view>()));
  }
  return Json(std::move(items));
}

void take(size_t index, SettingReading reading, SettingSource source, const std::string& where,
          LoadedSettings& loaded) {
  if (const SettingFault* fault = std::get_if<SettingFault>(&reading)) {
    loaded.faults.push_back(where + ": " + fault->message);
  } else {
    loaded.settings.set(index, std::get<SettingValue>(std::move(reading)), source);
    loaded.places[index] = where;
  }
}

void read_table(const toml::table& table, const std::string& section, const std::string& path,
                LoadedSettings& loaded) {
  for (const auto& [key, node] : table) {
    std::string name = section.empty() ? std::string(key.str()) : section + "." + std::string(key);
    size_t index = find_setting(name);
    std::string where = place(path, key.source());
    if (index == setting_count) {
      const toml::table* inner = node.as_table();
      bool is_section = inner != nullptr && section.empty() && !inner->empty();
      if (is_section) {
        read_table(*inner, name, path, loaded);
      } else if (inner == nullptr || !section.empty()) {
        loaded.faults.push_back(
            fmt::format("{}: there is no setting {}{}", where, name, hint(name)));
      }
      continue;
    }
    std::optional<Json> json = as_json(node);
    const SettingRow& row = setting_rows[index];
    if (json) {
      take(index, read_setting(row, *json), SettingSource::file, where, loaded);
    } else {
      loaded.faults.push_back(
          fmt::format("{}: {}: it takes {}", where, row.name, setting_form(row)));
    }
  }
}

std::optional<std::string> text_of(const std::string& path, LoadedSettings& loaded) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  std::string text;
  std::array<char, 4096> piece;
  while (file && text.size() <= file_bytes_max) {
    size_t count = std::fread(piece.data(), 1, piece.size(), file.get());
    text.append(piece.data(), count);
    if (count < piece.size()) break;
  }
  if (file && std::ferror(file.get()) == 0 && text.size() <= file_bytes_max) return text;
  const char* why = text.size() > file_bytes_max ? "it is too large" : std::strerror(errno);
  loaded.faults.push_back(fmt::format("{}: cannot be read: {}", path, why));
  return std::nullopt;
}

std::vector<std::string> files_of_conf_d(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == path.npos ? "conf.d" : path.substr(0, slash + 1) + "conf.d";
  std::vector<std::string> files;
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) return files;
  while (const dirent* entry = readdir(open)) {
    std::string_view name = entry->d_name;
    if (name.ends_with(".toml") && !name.starts_with('.')) {
      files.push_back(fmt::format("{}/{}", folder, name));
    }
  }
  closedir(open);
  std::sort(files.begin(), files.end());
  return files;
}

// FastCGI and SCGI believe what the peer says: a port needs a list of who may connect.
void check_together(LoadedSettings& loaded) {
  const Settings& settings = loaded.settings;
  if (!settings.text("api.listen_tcp").empty() && settings.strings("api.tcp_peers").empty()) {
    loaded.faults.emplace_back(
        "api.listen_tcp needs api.tcp_peers: the addresses of nginx's hosts");
  }
  if (!settings.text("stream.listen_tcp").empty() && settings.strings("stream.tcp_peers").empty()) {
    loaded.faults.emplace_back(
        "stream.listen_tcp needs stream.tcp_peers: the addresses of nginx's hosts");
  }
  if (!settings.text("mail.smtp_host").empty() && settings.text("mail.from").empty()) {
    loaded.faults.emplace_back("mail.smtp_host needs mail.from: the sender of all mail");
  }
}

}  // namespace

void read_settings_file(std::string_view text, const std::string& path, LoadedSettings& loaded) {
  toml::parse_result parsed = toml::parse(text, path);
  if (parsed.failed()) {
    const toml::parse_error& error = parsed.error();
    loaded.faults.push_back(
        fmt::format("{}: {}", place(path, error.source()), error.description()));
    return;
  }
  read_table(parsed.table(), "", path, loaded);
}

void read_settings_environment(char* const* environment, LoadedSettings& loaded) {
  for (; *environment != nullptr; ++environment) {
    std::string_view entry = *environment;
    if (!entry.starts_with(variable_prefix)) continue;
    std::string name(entry.substr(0, entry.find('=')));
    std::string_view value = name.size() < entry.size() ? entry.substr(name.size() + 1) : "";
    size_t index = 0;
    while (index < setting_count && setting_variable(setting_rows[index]) != name) ++index;
    if (index == setting_count) {
      std::string dotted = name.substr(variable_prefix.size());
      std::transform(dotted.begin(), dotted.end(), dotted.begin(), [](unsigned char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      });
      std::optional<std::string_view> nearest = nearest_setting(dotted);
      std::string meant =
          nearest ? setting_variable(setting_rows[find_setting(*nearest)]) : std::string();
      loaded.faults.push_back(
          fmt::format("environment: {} names no setting{}", name,
                      meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
      continue;
    }
    take(index, read_setting(setting_rows[index], value), SettingSource::environment,
         "environment: " + name, loaded);
  }
}

LoadedSettings load_settings(const std::string& path, char* const* environment) {
  LoadedSettings loaded;
  std::string main_file = path.empty() ? std::string(default_settings_file) : path;
  std::vector<std::string> files = files_of_conf_d(main_file);
  bool is_there = access(main_file.c_str(), F_OK) == 0;
  if (!path.empty() || is_there) files.insert(files.begin(), main_file);
  for (const std::string& file : files) {
    std::optional<std::string> text = text_of(file, loaded);
    if (text) read_settings_file(*text, file, loaded);
  }
  read_settings_environment(environment, loaded);
  check_together(loaded);
  return loaded;
}

}  // namespace hostler
