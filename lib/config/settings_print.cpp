// Prints the settings as a commented file, which is the sample file too; see
// lib/config/settings_load.h.
#include <algorithm>

#include <fmt/format.h>

#include "lib/config/settings_load.h"

namespace hostler::config {
namespace {

constexpr size_t columns_max = 100;

std::string_view section_of(const SettingRow& row) {
  return row.name.substr(0, row.name.find('.'));
}

std::string_view source_words(SettingSource source) {
  switch (source) {
    case SettingSource::fallback:
      return "";
    case SettingSource::file:
      return "  # from a file";
    case SettingSource::environment:
      return "  # from the environment";
    case SettingSource::database:
      return "  # from the database";
  }
  __builtin_unreachable();
}

// The sentence and the form, as comment lines.
void append_comment(std::string& out, std::string_view words) {
  size_t column = 1;
  out += '#';
  while (!words.empty()) {
    std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    if (column + 1 + word.size() > columns_max) {
      out += "\n#";
      column = 1;
    }
    out += ' ';
    out += word;
    column += 1 + word.size();
  }
  out += '\n';
}

}  // namespace

// JSON's texts, numbers and arrays of texts are TOML's.
std::string shown_setting(const SettingRow& row, const SettingValue& value) {
  const std::string* text = std::get_if<std::string>(&value);
  if (row.is_secret) return text->empty() ? "\"\"" : "\"****\"";
  if (row.name == "database.url") return json_quote(without_password(*text));
  return setting_json(value);
}

bool is_masked(const SettingRow& row, const SettingValue& value) {
  return row.is_secret || shown_setting(row, value) != setting_json(value);
}

std::string print_settings(const Settings& settings) {
  std::string out =
      "# The settings of Hostler. Commented-out lines are the defaults. A file conf.d/*.toml "
      "beside this one\n"
      "# wins over it, a HOSTLER_… variable over both. A live setting may also be changed while "
      "all runs:\n"
      "# PUT /v1/admin/settings/{key}, which wins over everything. The others need a restart.\n";
  std::string_view section;
  for (size_t i = 0; i < setting_count; ++i) {
    const SettingRow& row = setting_rows[i];
    if (section_of(row) != section) {
      section = section_of(row);
      out += fmt::format("\n[{}]\n", section);
    }
    std::string_view kind = row.kind == SettingKind::live ? ", live" : "";
    std::string form = row.is_secret ? "secret" : setting_form(row);
    append_comment(out,
                   fmt::format("{} ({}{}; {})", row.sentence, form, kind, setting_variable(row)));
    bool is_comment =
        settings.source(i) == SettingSource::fallback || is_masked(row, settings.value(i));
    out += fmt::format("{}{} = {}{}\n", is_comment ? "#" : "", row.name.substr(section.size() + 1),
                       shown_setting(row, settings.value(i)), source_words(settings.source(i)));
  }
  return out;
}

}  // namespace hostler::config
