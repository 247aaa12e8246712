// The only includer of RapidJSON: its SAX reader, iterative, builds our own value. See lib/json.h.
#include "lib/json.h"
#include "lib/throwing_allocator.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <fmt/format.h>

namespace hostler {
namespace {

// Objects with more members than this are checked for doubled names by a set, not by comparing.
constexpr size_t members_compared_max = 16;

// RapidJSON lets \uDC00 to \uDFFF stand alone and writes it as if it were UTF-8: ED, then A0 to BF.
bool holds_surrogate(std::string_view text) {
  for (size_t at = text.find('\xED'); at != text.npos; at = text.find('\xED', at + 1)) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xA0) return true;
  }
  return false;
}

// Receives the reader's calls and stacks up unfinished containers. Returning false ends the parse.
class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  bool Default() { return false; }  // for numbers that are read already: there are none
  bool Null() { return add(Json()); }
  bool Bool(bool value) { return add(Json(value)); }
  // Numbers come as they are written, with a NUL behind: RapidJSON's own reading of some ends in
  // infinity, and that of 0e301 in a shift by more bits than there are.
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    int64_t integer = 0;
    const char* end = text + length;
    auto [stop, fault] = std::from_chars(text, end, integer);
    if (stop == end && fault == std::errc()) return add(Json(integer));
    double value = 0;
    // from_chars does not tell what is too small, which is 0, from what is too large.
    bool is_far = std::from_chars(text, end, value).ec == std::errc::result_out_of_range;
    if (is_far) value = std::strtod(text, nullptr);
    if (!std::isfinite(value)) return refuse("a number is too large");
    return add(Json(value));
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    std::string value(text, length);
    if (value.find('\0') != std::string::npos) return refuse("a string holds \\u0000");
    if (holds_surrogate(value)) return refuse("a string holds half of a surrogate pair");
    return add(Json(std::move(value)));
  }
  bool StartObject() { return open(Json(Json::Object{})); }
  bool StartArray() { return open(Json(Json::Array{})); }
  bool EndObject(rapidjson::SizeType) {
    if (has_duplicate_member(*stack_.back().as_object())) return false;
    return close();
  }
  bool EndArray(rapidjson::SizeType) { return close(); }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    std::string name(text, length);
    if (name.find('\0') != std::string::npos) return refuse("a member's name holds \\u0000");
    if (holds_surrogate(name)) return refuse("a member's name holds half of a surrogate pair");
    stack_.back().as_object()->emplace_back(std::move(name), Json());
    return true;
  }

  Json take() { return std::move(root_); }
  const std::string& refusal() const { return refusal_; }

 private:
  bool refuse(std::string why) {
    refusal_ = std::move(why);
    return false;
  }
  bool has_duplicate_member(const Json::Object& object) {
    if (object.size() <= members_compared_max) {
      for (size_t i = 1; i < object.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (object[i].first == object[j].first) {
            return !refuse("the member \"" + object[i].first + "\" is given twice");
          }
        }
      }
      return false;
    }
    std::unordered_set<std::string_view> seen;
    for (const Json::Member& member : object) {
      if (!seen.insert(member.first).second) {
        return !refuse("the member \"" + member.first + "\" is given twice");
      }
    }
    return false;
  }
  bool open(Json container) {
    if (stack_.size() >= static_cast<size_t>(json_depth_max)) {
      return refuse(fmt::format("nested deeper than {}", json_depth_max));
    }
    stack_.push_back(std::move(container));
    return true;
  }
  bool close() {
    Json done = std::move(stack_.back());
    stack_.pop_back();
    return add(std::move(done));
  }
  bool add(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (Json::Array* array = stack_.back().as_array()) {
      array->push_back(std::move(value));
    } else {
      stack_.back().as_object()->back().second = std::move(value);
    }
    return true;
  }

  std::vector<Json> stack_;
  Json root_;
  std::string refusal_;
};

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

std::optional<double> Json::as_number() const {
  if (const double* number = std::get_if<double>(&value_)) return *number;
  if (const int64_t* integer = std::get_if<int64_t>(&value_)) return static_cast<double>(*integer);
  return std::nullopt;
}

const Json* Json::find(std::string_view name) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

std::string_view Json::text_or(std::string_view name, std::string_view fallback) const {
  const Json* member = find(name);
  const std::string* text = member == nullptr ? nullptr : member->as_text();
  return text == nullptr ? fallback : std::string_view(*text);
}

int64_t Json::integer_or(std::string_view name, int64_t fallback) const {
  const Json* member = find(name);
  const int64_t* integer = member == nullptr ? nullptr : member->as_integer();
  return integer == nullptr ? fallback : *integer;
}

std::string Json::dump() const { return JsonWriter().value(*this).take(); }

std::variant<Json, JsonFault> parse_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) return JsonFault{0, "starts with a byte order mark"};
  rapidjson::MemoryStream stream(text.data(), text.size());
  Builder builder;
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ThrowingAllocator> reader;
  constexpr unsigned flags = rapidjson::kParseIterativeFlag |
                             rapidjson::kParseNumbersAsStringsFlag |
                             rapidjson::kParseValidateEncodingFlag;
  rapidjson::ParseResult result = reader.Parse<flags>(stream, builder);
  if (result.IsError()) {
    std::string why = builder.refusal();
    if (why.empty()) why = rapidjson::GetParseError_En(result.Code());
    return JsonFault{result.Offset(), std::move(why)};
  }
  // RapidJSON takes a NUL byte for the end of the text: whatever follows it was never read.
  size_t end = stream.Tell();
  if (end < text.size()) return JsonFault{end, "bytes follow the value"};
  return builder.take();
}

std::optional<Json> parse_json_or_nothing(std::string_view text) {
  std::variant<Json, JsonFault> parsed = parse_json(text);
  if (Json* value = std::get_if<Json>(&parsed)) return std::move(*value);
  return std::nullopt;
}

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
      return number(*json.as_number());
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
