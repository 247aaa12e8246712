// JSON written, and what UTF-8 is. See lib/json.h.
#include "lib/json.h"

#include <cmath>

#include <fmt/format.h>

namespace hostler {
namespace {

// Length of the valid UTF-8 sequence at the start of text, or 0. Overlong forms, surrogates and
// code points above U+10FFFF are not valid.
size_t utf8_sequence(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto follows = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  size_t i = 0;
  while (i < text.size()) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {
      size_t length = utf8_sequence(text.substr(i));
      if (length == 0) {
        out += "\xEF\xBF\xBD";
        i += 1;
      } else {
        out.append(text, i, length);
        i += length;
      }
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c < 0x20 || c == 0x7F) {
          out += fmt::format("\\u{:04x}", c);
        } else {
          out += static_cast<char>(c);
        }
    }
    i += 1;
  }
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(out_, name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  append_quoted(out_, value);
  return *this;
}

JsonWriter& JsonWriter::integer(int64_t value) { return raw(fmt::format_int(value).c_str()); }

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  return raw(fmt::format("{}", value + 0.0));  // -0 becomes 0
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

// Recursion is bounded: a Json from parse_json is at most json_depth_max deep, ours are shallower.
JsonWriter& JsonWriter::value(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::null:
      return null();
    case Json::Kind::boolean:
      return boolean(*json.as_boolean());
    case Json::Kind::integer:
      return integer(*json.as_integer());
    case Json::Kind::number:
      return json.number_text() ? raw(*json.number_text()) : number(*json.as_number());
    case Json::Kind::text:
      return text(*json.as_text());
    case Json::Kind::array: {
      begin_array();
      for (const Json& item : *json.as_array()) value(item);
      return end_array();
    }
    case Json::Kind::object: {
      begin_object();
      for (const Json::Member& item : *json.as_object()) key(item.first).value(item.second);
      return end_object();
    }
  }
  return *this;
}

JsonWriter& JsonWriter::member(std::string_view name, std::string_view text_value) {
  return key(name).text(text_value);
}
JsonWriter& JsonWriter::member(std::string_view name, const char* text_value) {
  return key(name).text(text_value);
}
JsonWriter& JsonWriter::member(std::string_view name, int64_t integer_value) {
  return key(name).integer(integer_value);
}
JsonWriter& JsonWriter::member(std::string_view name, int integer_value) {
  return key(name).integer(integer_value);
}
JsonWriter& JsonWriter::member(std::string_view name, bool boolean_value) {
  return key(name).boolean(boolean_value);
}
JsonWriter& JsonWriter::member(std::string_view name, double number_value) {
  return key(name).number(number_value);
}
JsonWriter& JsonWriter::member_raw(std::string_view name, std::string_view json) {
  return key(name).raw(json);
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

std::string utf8_lossy(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = utf8_sequence(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      length = 1;
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace hostler
