// JSON Schema wherever an app declares one: draft 2020-12, with the keywords of the table in
// lib/json_schema/compiler.cpp. A schema is compiled when it is declared, and refused then if it
// contains something unknown. Arguments and answers of models, and answers of people, are checked
// by it. Nothing is fetched, nothing recurses deeper than the value and the schema allow, and both
// work and memory are bounded for any schema and any value (validator.h).
//
// A check may take a tenth of a second, at worst most of one: values of more than some 64 KiB are
// better checked on a thread of the pool (lib/loop/wait) than on a loop.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lib/json.h"

namespace hostler::json_schema {

constexpr size_t schema_bytes_max = 64 * 1024;  // written compactly
constexpr int schema_depth_max = 32;            // objects and arrays within each other
constexpr size_t schema_nodes_max = 10'000;     // schemas within the schema
constexpr size_t schema_patterns_max = 64;      // different ones: they keep memory
// Limit for their programs together: some 60 ms of compiling.
constexpr size_t schema_instructions_max = 65'536;
// allOf within anyOf within not … of one and the same value, through whatever $refs.
constexpr int schema_nesting_max = 32;
constexpr size_t value_faults_max = 16;

// Work of compiling the patterns. A pattern that was too large counts as the largest.
struct PatternLoad {
  size_t patterns = 0;  // different ones
  size_t instructions = 0;
};

struct SchemaFault {
  std::string pointer;  // JSON pointer to what is wrong in the schema; "": the whole
  std::string message;  // what is wrong and how to mend it
  PatternLoad load;     // until then
};

struct ValueFault {
  std::string pointer = {};  // JSON pointer into the value; "": the whole
  std::string keyword;       // of the schema; "" when the value was too much to check
  std::string message;       // what the value must be, for a model or a person to mend it
};

struct Verdict {
  bool fits = false;
  // Checking was broken off: the value does not count as one that fits.
  bool was_too_much = false;
  std::vector<ValueFault> faults;  // at most value_faults_max; none when it fits
};

struct Compiled;

// Immutable, cheap to copy, used by any thread.
class Schema {
 public:
  static std::variant<Schema, SchemaFault> compile(const Json& schema);

  Verdict check(const Json& value) const;
  PatternLoad pattern_load() const;

 private:
  explicit Schema(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace hostler::json_schema
