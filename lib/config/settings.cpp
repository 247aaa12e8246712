// Values of settings: read, bounded, written; see lib/config/settings.h.
#include "lib/config/settings.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/ascii.h"
#include "lib/host_name.h"
#include "lib/json_whole.h"
#include "lib/net/address_guard.h"
#include "lib/net/client_address.h"
#include "lib/utf8.h"

namespace hostler::config {
namespace {

constexpr size_t text_bytes_max = 8192;
constexpr size_t strings_max = 1000;

constexpr bool variables_differ() {
  // Dots and underscores become the same character: two names must not meet there.
  auto same = [](char a, char b) {
    return a == b || (a == '.' && b == '_') || (a == '_' && b == '.');
  };
  for (size_t i = 0; i < setting_count; ++i) {
    for (size_t j = i + 1; j < setting_count; ++j) {
      std::string_view a = setting_rows[i].name;
      std::string_view b = setting_rows[j].name;
      if (a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same)) return false;
    }
  }
  return true;
}
static_assert(variables_differ(), "two settings have the same variable");

SettingFault wrong_type(const SettingRow& row, std::string_view what) {
  return {"wrong_type",
          fmt::format("{}: {} is not a valid value: {}", row.name, what, setting_form(row))};
}

SettingFault out_of_range(const SettingRow& row, std::string_view what) {
  return {"out_of_range",
          fmt::format("{}: {} is out of bounds: {}", row.name, what, setting_form(row))};
}

bool is_printable_text(std::string_view text) {
  if (text.size() > text_bytes_max || !is_utf8(text)) return false;
  return std::none_of(text.begin(), text.end(), ascii::is_control);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t end = text.find(at); end != text.npos; end = text.find(at)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

SettingReading bounded(const SettingRow& row, int64_t value) {
  if (value < row.min || value > row.max) return out_of_range(row, fmt::format("{}", value));
  return SettingValue(value);
}

// Returns the host with its port. Without a port it is the scheme's own.
bool is_port_sound(std::string_view host) {
  size_t colon = host.find(':', host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0);
  if (colon == host.npos) return true;
  int port = 0;
  const char* end = host.data() + host.size();
  auto [stop, fault] = std::from_chars(host.data() + colon + 1, end, port);
  return fault == std::errc() && stop == end && port >= 1 && port <= 65'535 && colon > 0;
}

bool is_web_address(std::string_view text, bool is_origin) {
  size_t scheme = text.starts_with("https://") ? 8 : text.starts_with("http://") ? 7 : 0;
  std::string_view host = text.substr(scheme, text.find_first_of("/?#", scheme) - scheme);
  bool is_whole = scheme + host.size() == text.size();
  bool is_plain = text.find_first_of(" \t\"<>\\") == text.npos && host.find('@') == host.npos;
  bool is_sound = !host.empty() && is_plain && is_port_sound(host);
  return scheme != 0 && is_sound && (is_whole || !is_origin);
}

// Origins are compared as texts: one that no browser writes like this would let nobody in.
bool is_written_by_browsers(std::string_view origin) {
  bool is_small = std::none_of(origin.begin(), origin.end(),
                               [](char c) { return ascii::is_upper(c) || c == '*'; });
  return is_small && !origin.ends_with(origin.starts_with("https:") ? ":443" : ":80");
}

bool has_form(SettingForm form, const std::string& text) {
  switch (form) {
    case SettingForm::any:
      return true;
    case SettingForm::web_url:
      return text.empty() || is_web_address(text, false);
    case SettingForm::host:
      return text.empty() || has_host_form(text);
    case SettingForm::origin:
      return is_web_address(text, true) && is_written_by_browsers(text);
    case SettingForm::network:
      return net::CidrList::parse({text}).has_value();
    case SettingForm::part_network:
      return net::CidrList::parse({text}).has_value() &&
             !net::is_too_wide(net::canonical_network(text).value_or(""));
  }
  __builtin_unreachable();
}

// Why the text may not be this setting, or one of its strings; empty when it may.
std::string text_fault(const SettingRow& row, const std::string& text) {
  if (!is_printable_text(text)) {
    return fmt::format("it must have at most {} bytes of UTF-8 without control characters",
                       text_bytes_max);
  }
  return has_form(row.form, text) ? "" : fmt::format("it must be {}", setting_form(row));
}

SettingReading bounded(const SettingRow& row, double value) {
  bool is_within = value >= static_cast<double>(row.min) && value <= static_cast<double>(row.max);
  if (!is_within) return out_of_range(row, fmt::format("{}", value));
  return SettingValue(value);
}

SettingReading bounded(const SettingRow& row, std::string text) {
  // A secret is never repeated, not even in a fault.
  std::string shown = row.is_secret ? "the value" : json_quote(utf8_prefix(utf8_lossy(text), 100));
  if (row.type == SettingType::choice) {
    std::vector<std::string_view> choices = split(row.choices, '|');
    if (std::find(choices.begin(), choices.end(), text) == choices.end())
      return out_of_range(row, shown);
  }
  std::string fault = text_fault(row, text);
  if (fault.empty()) return SettingValue(std::move(text));
  return SettingFault{"bad_format", fmt::format("{}: {}: {}", row.name, shown, fault)};
}

SettingReading bounded(const SettingRow& row, std::vector<std::string> values) {
  if (values.size() > strings_max) {
    return SettingFault{"out_of_range",
                        fmt::format("{}: it must have at most {} texts", row.name, strings_max)};
  }
  for (const std::string& text : values) {
    std::string fault = text_fault(row, text);
    if (fault.empty()) continue;
    std::string shown = json_quote(utf8_prefix(utf8_lossy(text), 100));
    return SettingFault{"bad_format", fmt::format("{}: {}: {}", row.name, shown, fault)};
  }
  return SettingValue(std::move(values));
}

// Returns the end of the connection string's value that begins here. As in libpq, quotes protect
// characters that would end it, and a backslash protects the next character.
size_t value_end(std::string_view text, size_t begin, std::string_view ends) {
  bool is_quoted = text[begin] == '\'';
  if (is_quoted) ends = "'";
  size_t at = begin + (is_quoted ? 1 : 0);
  while (at < text.size() && ends.find(text[at]) == ends.npos) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + (is_quoted ? 1 : 0), text.size());
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, above + 1, row[j - 1] + 1});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

Settings::Settings() {
  for (size_t i = 0; i < setting_count; ++i) {
    SettingReading reading = read_setting(setting_rows[i], setting_rows[i].fallback);
    SettingValue* value = std::get_if<SettingValue>(&reading);
    assert(value != nullptr && "a default is out of its own bounds");
    entries_[i].value = std::move(*value);
  }
}

const std::string& Settings::text(SettingName<SettingType::text> name) const {
  return std::get<std::string>(entries_[name.index()].value);
}
int64_t Settings::integer(SettingName<SettingType::integer> name) const {
  return std::get<int64_t>(entries_[name.index()].value);
}
double Settings::number(SettingName<SettingType::number> name) const {
  return std::get<double>(entries_[name.index()].value);
}
bool Settings::boolean(SettingName<SettingType::boolean> name) const {
  return std::get<bool>(entries_[name.index()].value);
}
const std::vector<std::string>& Settings::strings(SettingName<SettingType::strings> name) const {
  return std::get<std::vector<std::string>>(entries_[name.index()].value);
}

void Settings::set(size_t index, SettingValue value, SettingSource source) {
  assert(index < setting_count && value.index() == entries_[index].value.index());
  entries_[index] = {std::move(value), source};
}

SettingReading read_setting(const SettingRow& row, std::string_view text) {
  switch (row.type) {
    case SettingType::text:
    case SettingType::choice:
      return bounded(row, std::string(text));
    case SettingType::integer: {
      int64_t value = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size())
        return wrong_type(row, json_quote(text));
      return bounded(row, value);
    }
    case SettingType::number: {
      double value = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size())
        return wrong_type(row, json_quote(text));
      return bounded(row, value);
    }
    case SettingType::boolean:
      if (text == "true" || text == "false") return SettingValue(text == "true");
      return wrong_type(row, json_quote(text));
    case SettingType::strings: {
      std::vector<std::string> values;
      for (std::string_view part : split(text, ',')) {
        std::string_view value = ascii::trimmed(part, " ");
        if (!value.empty()) values.emplace_back(value);
      }
      return bounded(row, std::move(values));
    }
  }
  __builtin_unreachable();
}

SettingReading read_setting(const SettingRow& row, const Json& json) {
  std::string shown = row.is_secret ? "the value" : std::string(utf8_prefix(json.dump(), 100));
  if (row.type == SettingType::integer) {
    std::optional<int64_t> value = whole_of(json);
    return value ? bounded(row, *value) : SettingReading(wrong_type(row, shown));
  }
  if (row.type == SettingType::number) {
    std::optional<double> value = json.as_number();
    return value ? bounded(row, *value) : SettingReading(wrong_type(row, shown));
  }
  if (row.type == SettingType::boolean) {
    const bool* value = json.as_boolean();
    return value == nullptr ? SettingReading(wrong_type(row, shown)) : SettingValue(*value);
  }
  if (row.type != SettingType::strings) {
    const std::string* value = json.as_text();
    return value == nullptr ? SettingReading(wrong_type(row, shown)) : bounded(row, *value);
  }
  const Json::Array* array = json.as_array();
  if (array == nullptr) return wrong_type(row, shown);
  std::vector<std::string> values;
  for (const Json& item : *array) {
    if (!item.is_text()) return wrong_type(row, shown);
    values.push_back(*item.as_text());
  }
  return bounded(row, std::move(values));
}

std::string setting_json(const SettingValue& value) {
  JsonWriter writer;
  if (const std::string* text = std::get_if<std::string>(&value)) writer.text(*text);
  if (const int64_t* integer = std::get_if<int64_t>(&value)) writer.integer(*integer);
  if (const double* number = std::get_if<double>(&value)) writer.number(*number);
  if (const bool* boolean = std::get_if<bool>(&value)) writer.boolean(*boolean);
  if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    writer.begin_array();
    for (const std::string& text : *strings) writer.text(text);
    writer.end_array();
  }
  return writer.take();
}

std::string setting_form(const SettingRow& row) {
  switch (row.type) {
    case SettingType::text:
      if (row.form == SettingForm::host) return "a host name or IP address, without a port";
      return row.form == SettingForm::web_url ? "an http or https URL" : "text";
    case SettingType::boolean:
      return "true or false";
    case SettingType::strings:
      if (row.form == SettingForm::network) return "a list of addresses or CIDRs";
      if (row.form == SettingForm::part_network) {
        return "a list of addresses or CIDRs, none of which contains all addresses";
      }
      if (row.form == SettingForm::origin) {
        return "a list of scheme://host[:port], as browsers send it: small letters, no usual port";
      }
      return "a list of texts";
    case SettingType::integer:
    case SettingType::number:
      return fmt::format("{} to {}{}{}", row.min, row.max, row.unit.empty() ? "" : " ", row.unit);
    case SettingType::choice: {
      std::vector<std::string> choices;
      for (std::string_view choice : split(row.choices, '|')) choices.push_back(json_quote(choice));
      return fmt::format("one of {}", fmt::join(choices, ", "));
    }
  }
  __builtin_unreachable();
}

std::string setting_variable(const SettingRow& row) {
  std::string name = "HOSTLER_";
  for (char c : row.name) name += c == '.' ? '_' : ascii::upper(c);
  return name;
}

std::optional<std::string_view> nearest_setting(std::string_view written) {
  constexpr size_t written_max = 200;
  if (written.size() > written_max) return std::nullopt;
  size_t min = written.size() / 3 + 2;
  std::optional<std::string_view> nearest;
  for (const SettingRow& row : setting_rows) {
    size_t distance = edit_distance(written, row.name);
    if (distance >= min) continue;
    min = distance;
    nearest = row.name;
  }
  return nearest;
}

std::string without_password(std::string_view conninfo) {
  std::string shown(conninfo);
  size_t scheme = shown.find("://");
  if (scheme != shown.npos) {
    size_t begin = scheme + 3;
    size_t at = shown.rfind('@', shown.find('/', begin));
    size_t colon = shown.find(':', begin);
    if (at != shown.npos && colon < at) shown.replace(colon + 1, at - colon - 1, "****");
  }
  constexpr std::string_view word = "password";
  constexpr std::string_view before = "= \t\r\n\f\v";
  std::string_view ends = scheme == shown.npos ? before.substr(1) : "&";
  for (size_t found = shown.find(word); found != shown.npos; found = shown.find(word, found + 1)) {
    size_t begin = shown.find_first_not_of(before, found + word.size());
    if (begin == shown.npos) break;
    shown.replace(begin, value_end(shown, begin, ends) - begin, "****");
  }
  return shown;
}

}  // namespace hostler::config
