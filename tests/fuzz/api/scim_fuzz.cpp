// Filters and paths of SCIM, and PATCH of users: what is taken reads the same again, and a patched
// user is a document that is taken whole.
#include "fcgi/api/scim/expressions.h"
#include "fcgi/api/scim/user_document.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

void filter(std::string_view text) {
  std::vector<scim::Comparison> read;
  std::optional<Error> refusal = refusal_of([&] { read = scim::parse_filter(text); });
  if (refusal) {
    require(refusal->code == ErrorCode::scim_invalid_filter, "a filter has one kind of fault");
    require(is_utf8(refusal->detail), "which can be shown");
    return;
  }
  require(!read.empty() && read.size() <= 20, "a filter has comparisons, and few");
  std::string again;
  for (const scim::Comparison& one : read) {
    require(!one.attribute.empty(), "each of an attribute");
    again += (again.empty() ? "" : " and ") + one.attribute + " eq " + json_quote(one.value);
  }
  require(
      again.size() > 4096 || !refusal_of([&] { scim::parse_filter(again); }) || read.size() > 10,
      "which reads again");
}

void path(std::string_view text) {
  scim::Path read;
  std::optional<Error> refusal = refusal_of([&] { read = scim::parse_path(text); });
  if (refusal) {
    require(refusal->code == ErrorCode::scim_invalid_path, "a path has one kind of fault");
    return;
  }
  require(!read.attribute.empty() || read.is_enterprise, "a path has an attribute");
  require(read.sub.find('.') == std::string::npos, "of one part at most");
}

void patch(std::string_view text) {
  std::optional<Json> body = parse_json_or_nothing(text);
  if (!body) return;
  Json::Object document;
  std::optional<Error> refusal = refusal_of([&] { scim::patch_user(document, *body); });
  if (refusal) {
    require(error_row(refusal->code).status == 400, "faults of a PATCH are the client's");
    return;
  }
  std::string patched = Json(document).dump();
  std::optional<Json> again = parse_json_or_nothing(patched);
  require(again.has_value(), "a patched user is JSON");
  Json::Object whole;
  require(!refusal_of([&] { whole = scim::read_user(*again); }), "which is taken as a whole");
}

}  // namespace

void scim(std::string_view input) {
  std::string_view rest = input;
  unsigned kind = take_byte(rest) % 3;
  if (kind == 0) filter(rest);
  if (kind == 1) path(rest);
  if (kind == 2) patch(rest);
}

}  // namespace hostler::fuzz
