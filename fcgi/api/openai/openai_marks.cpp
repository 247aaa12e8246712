// See fcgi/api/openai/openai_marks.h.
#include "fcgi/api/openai/openai_marks.h"

#include "fcgi/api/runs/marks.h"
#include "lib/json.h"

namespace hostler {
namespace {

// Some clients send an empty text for nobody.
std::optional<std::string> read_name(Fields& fields, const char* name) {
  TextBounds bounds = end_user_bounds;
  bounds.min = 0;
  std::optional<std::string> user = fields.nullable_text(name, bounds).value;
  if (user && user->empty()) user.reset();
  return user;
}

}  // namespace

OpenaiMarks read_openai_marks(Fields& fields) {
  OpenaiMarks marks;
  marks.end_user = read_name(fields, "user");
  std::optional<std::string> newer = read_name(fields, "safety_identifier");
  if (!marks.end_user) marks.end_user = std::move(newer);
  marks.metadata = read_openai_metadata(fields);
  return marks;
}

std::string read_openai_metadata(Fields& fields) {
  const Json* metadata = fields.any("metadata");
  if (metadata == nullptr || metadata->is_null()) return "{}";
  return read_metadata(fields).value_or("{}");
}

}  // namespace hostler
