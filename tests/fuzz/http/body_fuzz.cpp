// Bodies through the readers of handlers: the first line is the content type, the rest the body.
// Whatever comes, the readers end with a value within its bounds or with a 400, 415 or 422 that
// names fields.
#include "fcgi/http/input.h"
#include "lib/ascii.h"
#include "lib/ids.h"
#include "lib/time_text.h"
#include "lib/utf8.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

constexpr TextBounds name_bounds{1, 20, 60, true, false};

void check_name(const std::string& text) {
  size_t count = character_count(text);
  require(count >= 1 && count <= 20 && text.size() <= 60, "a text keeps its bounds");
  require(std::none_of(text.begin(), text.end(), ascii::is_control),
          "a text without control characters has none");
  require(text.front() != ' ' && text.back() != ' ', "a trimmed text has no space around it");
}

void read_all(const Request& request) {
  Fields fields = Fields::of_body(request);
  std::string name = fields.required_text("name", name_bounds);
  std::optional<std::string> free_text =
      fields.optional_text("text", {0, 50, 1 << 20, false, true});
  Nullable<std::string> note = fields.nullable_text("note", name_bounds);
  int64_t count = fields.required_integer("count", {-5, 5});
  static_cast<void>(fields.optional_integer("any_integer"));
  Nullable<int64_t> limit = fields.nullable_integer("limit", {0, INT64_MAX});
  std::optional<double> number = fields.optional_number("number", {0, 2});
  static_cast<void>(fields.nullable_number("weight", {-1e300, 1e300}));
  static_cast<void>(fields.optional_boolean("flag"));
  std::optional<std::string> role = fields.optional_choice("role", {"owner", "member"});
  std::optional<std::string> id = fields.nullable_id("id").value;
  std::optional<std::string> at = fields.nullable_time("at").value;
  std::optional<std::vector<std::string>> tags = fields.optional_texts("tags", 3, name_bounds);
  std::vector<Fields> models = fields.optional_objects("models", 2);
  for (Fields& model : models) {
    std::string model_name = model.required_text("name", name_bounds);
    static_cast<void>(model.optional_boolean("active"));
  }
  fields.check();
  check_name(name);
  if (note.value) check_name(*note.value);
  require(!note.value || note.is_given, "what has a value was given");
  require(count >= -5 && count <= 5, "an integer keeps its bounds");
  require(!limit.value || *limit.value >= 0, "a nullable integer keeps its bounds");
  require(!number || (*number >= 0 && *number <= 2), "a number keeps its bounds");
  require(!role || *role == "owner" || *role == "member", "a choice is one of its choices");
  require(!id || is_uuid(*id), "an id is a UUID");
  require(!at || parse_rfc3339(*at), "a time is one");
  require(!tags || tags->size() <= 3, "a list keeps its count");
  if (tags) std::for_each(tags->begin(), tags->end(), check_name);
  require(models.size() <= 2, "a list of objects keeps its count");
}

void read_patch(const Request& request) {
  Fields fields = Fields::of_optional_body(request);
  std::optional<std::string> name = fields.optional_text("name", name_bounds);
  Nullable<std::string> note = fields.nullable_text("note", name_bounds);
  fields.check_patch();
  require(name.has_value() || note.is_given, "a patch changes something");
}

void check_refusal(const std::optional<Error>& refusal) {
  if (!refusal) return;
  int status = refusal->status();
  require(status == 400 || status == 415 || status == 422, "a bad body is 400, 415 or 422");
  require(status != 422 || !refusal->faults.empty(), "a 422 lists faults");
  for (const FieldFault& fault : refusal->faults) {
    require(!fault.code.empty() && is_utf8(fault.message), "a fault has a code and a message");
  }
}

}  // namespace

void body(std::string_view input) {
  Request request;
  request.content_type = take_line(input);
  request.body = input;
  check_refusal(refusal_of([&] { read_all(request); }));
  check_refusal(refusal_of([&] { read_patch(request); }));
}

}  // namespace hostler::fuzz
