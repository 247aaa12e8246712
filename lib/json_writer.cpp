// JSON written. See lib/json.h.
#include "lib/json.h"

#include <cmath>

#include <fmt/format.h>

#include "lib/utf8.h"

namespace hostler {
namespace {

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

JsonWriter& JsonWriter::member_or_null(std::string_view name, std::string_view text_value) {
  key(name);
  return text_value.empty() ? null() : text(text_value);
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

}  // namespace hostler
