// The only includer of RapidJSON: its SAX reader, iterative, builds our own value. See lib/json.h.
#include "lib/json.h"
#include "lib/json_bounds.h"
#include "lib/json_whole.h"
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
// Digits are kept up to here: what a double holds has at most 309 before the point, and Postgres's
// numeric, where such texts are stored, takes far more.
constexpr size_t number_bytes_kept_max = 400;

// Returns the double that was written in this way. Exponents are never kept, because in few bytes
// they write numbers that numeric has no room for. Whole numbers that a double rounds keep all
// their digits.
Json rounded(double value, std::string_view written) {
  bool has_exponent = written.find_first_of("eE") != written.npos;
  if (has_exponent && std::abs(value) >= whole_double_max) {
    std::optional<int64_t> whole = whole_number(written);
    if (whole) return Json(value, std::to_string(*whole));
  }
  bool is_plain = written.size() <= number_bytes_kept_max && !has_exponent;
  if (!is_plain || Json(value).dump() == written) return Json(value);
  return Json(value, written);
}

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
  explicit Builder(size_t values_max) : values_max_(values_max) {}

  bool Default() { return false; }  // for numbers that are read already: there are none
  bool Null() { return add_leaf(Json()); }
  bool Bool(bool value) { return add_leaf(Json(value)); }
  // Numbers come as they are written, with a NUL behind: RapidJSON's own reading of some ends in
  // infinity, and that of 0e301 in a shift by more bits than there are.
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    int64_t integer = 0;
    const char* end = text + length;
    auto [stop, fault] = std::from_chars(text, end, integer);
    if (stop == end && fault == std::errc()) return add_leaf(Json(integer));
    double value = 0;
    // from_chars does not tell what is too small, which is 0, from what is too large.
    bool is_far = std::from_chars(text, end, value).ec == std::errc::result_out_of_range;
    if (is_far) value = std::strtod(text, nullptr);
    if (!std::isfinite(value)) return refuse("a number is too large");
    return add_leaf(rounded(value, {text, length}));
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    std::string value(text, length);
    if (value.find('\0') != std::string::npos) return refuse("a string holds \\u0000");
    if (holds_surrogate(value)) return refuse("a string holds half of a surrogate pair");
    return add_leaf(Json(std::move(value)));
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
  bool count_value() {
    if (values_ == values_max_) return refuse(fmt::format("more than {} values", values_max_));
    ++values_;
    return true;
  }
  bool open(Json container) {
    if (stack_.size() >= static_cast<size_t>(json_depth_max)) {
      return refuse(fmt::format("nested deeper than {}", json_depth_max));
    }
    stack_.push_back(std::move(container));
    return count_value();
  }
  bool close() {
    Json done = std::move(stack_.back());
    stack_.pop_back();
    return add(std::move(done));
  }
  bool add_leaf(Json value) { return count_value() && add(std::move(value)); }
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

  const size_t values_max_;
  size_t values_ = 0;
  std::vector<Json> stack_;
  Json root_;
  std::string refusal_;
};

}  // namespace

std::optional<double> Json::as_number() const {
  if (const Number* number = std::get_if<Number>(&value_)) return number->value;
  if (const int64_t* integer = std::get_if<int64_t>(&value_)) return static_cast<double>(*integer);
  return std::nullopt;
}

const std::string* Json::number_text() const {
  const Number* number = std::get_if<Number>(&value_);
  return number == nullptr ? nullptr : number->written.get();
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
  return member == nullptr ? fallback : whole_of(*member).value_or(fallback);
}

std::string Json::dump() const { return JsonWriter().value(*this).take(); }

std::variant<Json, JsonFault> parse_json(std::string_view text) {
  return parse_bounded_json(text, SIZE_MAX);
}

std::variant<Json, JsonFault> parse_bounded_json(std::string_view text, size_t values_max) {
  if (text.starts_with("\xEF\xBB\xBF")) return JsonFault{0, "starts with a byte order mark"};
  rapidjson::MemoryStream stream(text.data(), text.size());
  Builder builder(values_max);
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ThrowingAllocator> reader;
  constexpr unsigned flags = rapidjson::kParseIterativeFlag |
                             rapidjson::kParseNumbersAsStringsFlag |
                             rapidjson::kParseValidateEncodingFlag;
  rapidjson::ParseResult result = reader.Parse<flags>(stream, builder);
  if (result.IsError()) {
    std::string why = builder.refusal();
    if (why.empty()) why = rapidjson::GetParseError_En(result.Code());
    if (why.ends_with('.')) why.pop_back();  // callers go on with the byte
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

}  // namespace hostler
