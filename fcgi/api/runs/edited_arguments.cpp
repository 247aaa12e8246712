// See fcgi/api/runs/edited_arguments.h.
#include "fcgi/api/runs/edited_arguments.h"

#include <optional>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/json_schema/known_part.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

// Parts of a fault are the schema's and the client's own words, as long as they like.
constexpr size_t pointer_bytes_max = 300;
constexpr size_t message_bytes_max = 500;

}  // namespace

std::vector<std::string> edited_arguments_faults(std::string_view parameters,
                                                 std::string_view arguments) {
  std::optional<Json> declared = parse_json_or_nothing(parameters);
  std::optional<Json> edited = parse_json_or_nothing(arguments);
  if (!declared || !edited) return {};
  std::optional<json_schema::Schema> schema = json_schema::compile_known(*declared);
  if (!schema) return {};
  json_schema::Verdict verdict = schema->check(*edited);
  if (verdict.fits) return {};
  std::vector<std::string> faults;
  for (const json_schema::ValueFault& fault : verdict.faults) {
    faults.push_back(fmt::format("arguments{}: {}", utf8_prefix(fault.pointer, pointer_bytes_max),
                                 utf8_prefix(fault.message, message_bytes_max)));
  }
  if (faults.empty()) faults.emplace_back("arguments do not fit the tool's parameters");
  return faults;
}

}  // namespace hostler
