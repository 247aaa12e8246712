// Parameters of statements for what has no row in plan_values.h, which includes this.
#pragma once

#include <map>
#include <string>

namespace hostler {

inline std::string plan_value_of_type(const std::string& type) {
  static const std::map<std::string, std::string> values = {
      {"uuid", "uuidv7()"},
      {"text", "'x'"},
      {"integer", "1"},
      {"bigint", "1"},
      {"boolean", "false"},
      {"bytea", "sha256('x')"},
      {"jsonb", "'{}'"},
      {"json", "'{}'"},
      {"uuid[]", "ARRAY[uuidv7()]"},
      {"text[]", "ARRAY['x']"},
      {"bigint[]", "ARRAY[1]::bigint[]"},
      {"double precision", "1"},
      {"timestamp with time zone", "clock_timestamp()"},
  };
  auto found = values.find(type);
  return found == values.end() ? "NULL" : found->second;
}

}  // namespace hostler
