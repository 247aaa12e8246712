// JSON Schema: the first line is a schema, what follows a value. Faults are within bounds and say
// something, a verdict is the same when it is asked again, and not is the contrary.
#include "lib/json_schema/schema.h"

#include "lib/json_schema/validator_words.h"
#include "lib/utf8.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

using json_schema::Schema;
using json_schema::SchemaFault;
using json_schema::Verdict;

bool is_pointer(const std::string& pointer) {
  return is_utf8(pointer) && (pointer.empty() || pointer.front() == '/');
}

void check_verdict(const Verdict& verdict) {
  require(verdict.fits == verdict.faults.empty(), "what does not fit has faults");
  require(!verdict.was_too_much || !verdict.fits, "what was too much does not fit");
  require(verdict.faults.size() <= json_schema::value_faults_max, "faults are bounded");
  for (const json_schema::ValueFault& fault : verdict.faults) {
    require(is_pointer(fault.pointer), "a fault has a pointer");
    require(!fault.message.empty() && is_utf8(fault.message), "a fault says what to mend");
    require(fault.message.size() <= json_schema::message_bytes_max + 3, "in bounded words");
  }
}

void check_contrary(std::string_view schema_text, const Json& value, const Verdict& verdict) {
  bool has_refs =
      schema_text.find("ref") != schema_text.npos || schema_text.find("\\u") != schema_text.npos;
  std::optional<Json> contrary =
      parse_json_or_nothing("{\"not\":" + std::string(schema_text) + "}");
  if (has_refs || !contrary || verdict.was_too_much) return;
  std::variant<Schema, SchemaFault> compiled = Schema::compile(*contrary);
  if (std::holds_alternative<SchemaFault>(compiled)) return;  // deeper or longer by one
  Verdict opposite = std::get<Schema>(compiled).check(value);
  require(opposite.was_too_much || opposite.fits != verdict.fits, "not is the contrary");
}

}  // namespace

void schema(std::string_view input) {
  std::string_view schema_text = take_line(input);
  std::optional<Json> schema = parse_json_or_nothing(schema_text);
  if (!schema) return;
  std::variant<Schema, SchemaFault> compiled = Schema::compile(*schema);
  if (const SchemaFault* fault = std::get_if<SchemaFault>(&compiled)) {
    require(is_pointer(fault->pointer), "a refusal has a pointer");
    require(!fault->message.empty() && is_utf8(fault->message), "a refusal says what to mend");
    return;
  }
  std::optional<Json> value = parse_json_or_nothing(input);
  if (!value) value = Json(utf8_lossy(input));
  Verdict verdict = std::get<Schema>(compiled).check(*value);
  check_verdict(verdict);
  Verdict again = std::get<Schema>(compiled).check(*value);
  bool is_same = again.fits == verdict.fits && again.faults.size() == verdict.faults.size();
  require(is_same || verdict.was_too_much || again.was_too_much, "a verdict stays");
  check_contrary(schema_text, *value, verdict);
}

}  // namespace hostler::fuzz
