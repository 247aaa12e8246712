// The two calls of a schema, and how faults name things. See lib/json_schema/schema.h.
#include "lib/json_schema/schema.h"

#include "lib/json_schema/compiled.h"
#include "lib/json_schema/compiler.h"
#include "lib/json_schema/validator.h"
#include "lib/utf8.h"

namespace hostler::json_schema {
namespace {

constexpr size_t pointer_step_bytes_max = 100;

}  // namespace

std::variant<Schema, SchemaFault> Schema::compile(const Json& schema) {
  auto compiled = std::make_shared<Compiled>();
  std::optional<SchemaFault> fault = Compiler(schema, *compiled).compile();
  if (fault) {
    fault->load = compiled->load;
    return std::move(*fault);
  }
  return Schema(std::move(compiled));
}

Verdict Schema::check(const Json& value) const { return Validator(*compiled_).check(value); }

PatternLoad Schema::pattern_load() const { return compiled_->load; }

std::string shortened(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  return std::string(utf8_prefix(text, bytes_max)) + "…";
}

void append_pointer_step(std::string& pointer, std::string_view name) {
  pointer += '/';
  for (char c : shortened(name, pointer_step_bytes_max)) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

}  // namespace hostler::json_schema
