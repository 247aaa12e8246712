// Shared cases of the tests of lib/json_schema: schemas and values as text, and tables of values
// that fit.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json_schema/schema.h"

namespace hostler::json_schema {

inline Json json_of(std::string_view text) {
  std::variant<Json, JsonFault> parsed = parse_json(text);
  const JsonFault* fault = std::get_if<JsonFault>(&parsed);
  EXPECT_EQ(fault, nullptr) << text << ": " << fault->message;
  return fault == nullptr ? std::get<Json>(std::move(parsed)) : Json();
}

// The fault of a schema; nothing wrong: an empty message.
inline SchemaFault refusal(std::string_view schema) {
  std::variant<Schema, SchemaFault> compiled = Schema::compile(json_of(schema));
  const SchemaFault* fault = std::get_if<SchemaFault>(&compiled);
  return fault == nullptr ? SchemaFault{} : *fault;
}

inline Schema schema_of(std::string_view text) {
  std::variant<Schema, SchemaFault> compiled = Schema::compile(json_of(text));
  const SchemaFault* fault = std::get_if<SchemaFault>(&compiled);
  EXPECT_EQ(fault, nullptr) << text << ": " << fault->pointer << " " << fault->message;
  return fault == nullptr ? std::get<Schema>(compiled) : schema_of("false");
}

inline Verdict verdict_of(std::string_view schema, std::string_view value) {
  return schema_of(schema).check(json_of(value));
}

struct Case {
  std::string_view schema;
  std::vector<std::string_view> fitting;
  std::vector<std::string_view> other;
};

inline void expect_verdicts(std::initializer_list<Case> cases) {
  for (const Case& row : cases) {
    Schema schema = schema_of(row.schema);
    for (std::string_view value : row.fitting) {
      Verdict verdict = schema.check(json_of(value));
      EXPECT_TRUE(verdict.fits) << row.schema << " with " << value;
      EXPECT_TRUE(verdict.faults.empty()) << row.schema << " with " << value;
    }
    for (std::string_view value : row.other) {
      Verdict verdict = schema.check(json_of(value));
      EXPECT_FALSE(verdict.fits) << row.schema << " with " << value;
      EXPECT_FALSE(verdict.was_too_much) << row.schema << " with " << value;
      ASSERT_FALSE(verdict.faults.empty()) << row.schema << " with " << value;
      EXPECT_FALSE(verdict.faults[0].message.empty()) << row.schema << " with " << value;
    }
  }
}

}  // namespace hostler::json_schema
