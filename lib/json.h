// JSON read and written, once, for all programs. Reading refuses what the contract refuses
// (section 1): depth over 64, a member given twice, bytes that are not UTF-8, lone surrogates,
// NUL in a string, a byte order mark, trailing bytes. Reading never recurses. What is read and
// written again keeps the digits of its numbers, those too that no double has: an id of 20 digits
// that a model wrote arrives as it wrote it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hostler {

constexpr int json_depth_max = 64;

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;
  enum class Kind { null, boolean, integer, number, text, array, object };

  Json() = default;
  explicit Json(bool value) : value_(value) {}
  explicit Json(int64_t value) : value_(value) {}
  explicit Json(double value) : value_(Number{value, nullptr}) {}
  // A number whose text says more than a double holds: dump() writes the text.
  Json(double value, std::string_view written)
      : value_(Number{value, std::make_shared<const std::string>(written)}) {}
  explicit Json(std::string value) : value_(std::move(value)) {}
  explicit Json(Array value) : value_(std::move(value)) {}
  explicit Json(Object value) : value_(std::move(value)) {}

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_null() const { return kind() == Kind::null; }
  bool is_text() const { return kind() == Kind::text; }
  bool is_object() const { return kind() == Kind::object; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_integer() const { return kind() == Kind::integer; }

  // Each answers nothing when the value is of another kind. A whole number within int64 is an
  // integer only when it was written without fraction and exponent; as_number takes both kinds.
  const bool* as_boolean() const { return std::get_if<bool>(&value_); }
  const int64_t* as_integer() const { return std::get_if<int64_t>(&value_); }
  std::optional<double> as_number() const;
  // How a number was written whose value as_number() rounds; nothing for all others.
  const std::string* number_text() const;
  const std::string* as_text() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  std::string* as_text() { return std::get_if<std::string>(&value_); }
  Array* as_array() { return std::get_if<Array>(&value_); }
  Object* as_object() { return std::get_if<Object>(&value_); }

  // The member of an object, or nothing. find("a.b") is not a path: names are taken as they are.
  const Json* find(std::string_view name) const;
  // For peers whose answers we read leniently: the member's text or integer, or the fallback.
  std::string_view text_or(std::string_view name, std::string_view fallback = {}) const;
  int64_t integer_or(std::string_view name, int64_t fallback) const;

  std::string dump() const;

 private:
  struct Number {
    double value;
    std::shared_ptr<const std::string> written;  // rare, and shared by copies: a Json stays small
  };
  // Order is that of Kind.
  std::variant<std::monostate, bool, int64_t, Number, std::string, Array, Object> value_;
};

struct JsonFault {
  size_t offset;        // bytes from the start
  std::string message;  // what is wrong there, for the client
};

// Either the value or the first fault.
std::variant<Json, JsonFault> parse_json(std::string_view text);
// Returns the value, or nothing. For peers whose faults are reported in another way.
std::optional<Json> parse_json_or_nothing(std::string_view text);

// Writes JSON piece by piece. The caller balances begin and end (asserted at text()).
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& text(std::string_view value);  // bytes that are not UTF-8 become U+FFFD
  JsonWriter& integer(int64_t value);
  JsonWriter& number(double value);  // not finite: null
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // text that is JSON already
  JsonWriter& value(const Json& json);

  // Members of the object that is open.
  JsonWriter& member(std::string_view name, std::string_view text_value);
  JsonWriter& member(std::string_view name, const char* text_value);
  JsonWriter& member(std::string_view name, int64_t integer_value);
  JsonWriter& member(std::string_view name, int integer_value);
  JsonWriter& member(std::string_view name, bool boolean_value);
  JsonWriter& member(std::string_view name, double number_value);
  JsonWriter& member_raw(std::string_view name, std::string_view json);
  JsonWriter& member_or_null(std::string_view name, std::string_view text_value);  // empty: null

  std::string take() { return std::move(out_); }
  const std::string& so_far() const { return out_; }

 private:
  void separate();
  std::string out_;
  bool needs_comma_ = false;
};

// The text as a JSON string literal, quotes included.
std::string json_quote(std::string_view text);

}  // namespace hostler
