// Reads what a client sent, body or query, member by member, and collects every fault before it
// refuses (contract section 1). Used by handlers:
//
//   Fields fields = input.body();
//   std::string login = fields.required_text("login", {.min = 1, .max = 64});
//   std::optional<std::string> title = fields.optional_text("title", {.max = 200});
//   fields.check();
//
// After a fault the readers answer an empty value, and check() throws the 422. Lengths count
// characters (code points). null is a fault but to the nullable readers, whose members the OpenAPI
// document calls "or null".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/http/request.h"
#include "lib/error.h"
#include "lib/http/request_target.h"
#include "lib/json.h"

namespace hostler {

struct TextBounds {
  size_t min = 0;
  size_t max = 100'000;
  size_t bytes_max = body_text_bytes_max;  // also counted, in bytes of UTF-8: code too_long
  bool trims = false;                      // white space at both ends goes first
  bool takes_control = false;              // line feeds and the like; else a fault
  bool is_name = false;  // people see it in lists: each character shows (lib/unicode.h); in NFC

  static constexpr size_t body_text_bytes_max = 1 << 20;
};

struct Bounds {
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};

struct NumberBounds {
  double min;
  double max;
};

// A member that may be null: absent, null, or a value.
template <class T>
struct Nullable {
  bool is_given = false;
  std::optional<T> value;
};

using Choices = std::initializer_list<std::string_view>;

// Shared part of body and query: the faults, and the checks of a value that is present.
class Faults {
 public:
  void add(std::string field, std::string code, std::string message);
  bool empty() const { return list_.empty(); }
  void check();  // throws the 422 with all faults, when there are any

 private:
  std::vector<FieldFault> list_;
};

class Fields {
 public:
  // The body as an object. 415 for another Content-Type, 400 for an empty body or bad JSON.
  static Fields of_body(const Request& request);
  // Like of_body, but an empty body reads as an empty object.
  static Fields of_optional_body(const Request& request);
  // An object within another, or in a test; path is put before the names of its members.
  Fields(const Json& object, std::string path, std::shared_ptr<Faults> faults);

  std::string required_text(std::string_view name, TextBounds bounds);
  std::optional<std::string> optional_text(std::string_view name, TextBounds bounds);
  Nullable<std::string> nullable_text(std::string_view name, TextBounds bounds);

  int64_t required_integer(std::string_view name, Bounds bounds = {});
  std::optional<int64_t> optional_integer(std::string_view name, Bounds bounds = {});
  Nullable<int64_t> nullable_integer(std::string_view name, Bounds bounds = {});

  std::optional<double> optional_number(std::string_view name, NumberBounds bounds);
  Nullable<double> nullable_number(std::string_view name, NumberBounds bounds);

  bool required_boolean(std::string_view name);
  std::optional<bool> optional_boolean(std::string_view name);
  Nullable<bool> nullable_boolean(std::string_view name);

  std::string required_choice(std::string_view name, Choices choices);
  std::optional<std::string> optional_choice(std::string_view name, Choices choices);
  Nullable<std::string> nullable_choice(std::string_view name, Choices choices);

  // Ids: lower-case UUIDs.
  std::string required_id(std::string_view name);
  Nullable<std::string> nullable_id(std::string_view name);

  // RFC 3339, any offset; the text as it came, for the database to read.
  std::string required_time(std::string_view name);
  Nullable<std::string> nullable_time(std::string_view name);

  // Arrays of texts; the bounds are of each text. Duplicates stay.
  std::vector<std::string> required_texts(std::string_view name, size_t count_max,
                                          TextBounds bounds);
  std::optional<std::vector<std::string>> optional_texts(std::string_view name, size_t count_max,
                                                         TextBounds bounds);
  // An array of objects, to be read like this one; their faults are named "models.0.name".
  std::vector<Fields> optional_objects(std::string_view name, size_t count_max);

  // An object, to be read like this one; null counts as absent.
  Nullable<Fields> nullable_object(std::string_view name);

  // A member as it is, whatever it is; null when absent. Counts as known.
  const Json* any(std::string_view name);
  bool has(std::string_view name) const { return object_->find(name) != nullptr; }
  // Is there and not null. Counts as known.
  bool has_value(std::string_view name);

  // Name of a member in faults, from the body on.
  std::string field_name(std::string_view name) const;
  // A fault that only the handler can see.
  void fault(std::string_view name, std::string code, std::string message);

  // Throws the 422 that lists all faults, when there are any.
  void check() { faults_->check(); }
  // For PATCH. Also a fault: not one of the members that were read was there.
  void check_patch();

 private:
  const Json* find(std::string_view name);
  const Json* required(std::string_view name);
  template <class T, class Reader>
  std::optional<T> optional_of(std::string_view name, Reader read);
  template <class T, class Reader>
  Nullable<T> nullable_of(std::string_view name, Reader read);

  std::shared_ptr<const Json> owner_;  // of the whole body
  const Json* object_;
  std::string path_;
  std::shared_ptr<Faults> faults_;
  std::vector<std::string> names_read_;
  bool found_any_ = false;
};

// The query parameters. One that is given twice is a fault.
class QueryFields {
 public:
  // target outlives this.
  explicit QueryFields(const http::Target& target);

  int64_t limit() { return integer("limit", {1, 200}).value_or(50); }
  std::optional<std::string> id(std::string_view name);  // cursors too
  std::string required_id(std::string_view name);
  std::optional<int64_t> integer(std::string_view name, Bounds bounds = {});
  std::optional<double> number(std::string_view name, NumberBounds bounds);
  std::optional<bool> boolean(std::string_view name);  // true or false
  std::optional<std::string> text(std::string_view name, TextBounds bounds);
  std::optional<std::string> choice(std::string_view name, Choices choices);
  std::optional<std::string> date(std::string_view name);  // YYYY-MM-DD
  std::optional<std::string> time(std::string_view name);  // RFC 3339
  std::string required_text(std::string_view name, TextBounds bounds);

  void fault(std::string_view name, std::string code, std::string message);
  void check() { faults_.check(); }

 private:
  const http::Target& target_;
  Faults faults_;
};

// ?scope=platform|org of a route whose access depends on it; throws the 422 of any other.
void check_scope(const http::Target& target);

}  // namespace hostler
