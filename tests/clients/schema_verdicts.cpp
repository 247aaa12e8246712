// Says what our validator of JSON Schema says, for tests/clients/json_schema.cjs: on each line of
// its input {"schema": …, "values": […]}, on each of its output {"refused": {pointer, message}} or
// {"fits": [true, …], "faults": [[{pointer, keyword, message}, …], …]}.
//   schema-verdicts              schema-verdicts --time ROUNDS: also how long a line takes
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include "lib/json_schema/schema.h"

namespace hostler::json_schema {
namespace {

std::string verdicts(const Schema& schema, const Json& values) {
  JsonWriter fits, faults, answer;
  fits.begin_array();
  faults.begin_array();
  for (const Json& value : *values.as_array()) {
    Verdict verdict = schema.check(value);
    fits.boolean(verdict.fits);
    faults.begin_array();
    for (const ValueFault& fault : verdict.faults) {
      faults.begin_object().member("pointer", fault.pointer).member("keyword", fault.keyword);
      faults.member("message", fault.message).end_object();
    }
    faults.end_array();
  }
  answer.begin_object().member_raw("fits", fits.end_array().take());
  return answer.member_raw("faults", faults.end_array().take()).end_object().take();
}

std::string refusal(const SchemaFault& fault) {
  JsonWriter answer;
  answer.begin_object().key("refused").begin_object().member("pointer", fault.pointer);
  return answer.member("message", fault.message).end_object().end_object().take();
}

void time_checks(const Schema& schema, const Json& values, int rounds) {
  auto begin = std::chrono::steady_clock::now();
  size_t fitting = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const Json& value : *values.as_array()) fitting += schema.check(value).fits ? 1 : 0;
  }
  std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  double checks = static_cast<double>(rounds) * static_cast<double>(values.as_array()->size());
  fmt::print("{:12.2f} us a check, of {:.0f} fit {}\n", took.count() / checks, checks, fitting);
}

void time_compiling(const Json& schema, int rounds) {
  auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) Schema::compile(schema);
  std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{:12.2f} us to compile\n", took.count() / rounds);
}

int answer_lines(int rounds) {
  for (std::string line; std::getline(std::cin, line);) {
    std::optional<Json> pair = parse_json_or_nothing(line);
    const Json* schema = pair ? pair->find("schema") : nullptr;
    const Json* values = pair ? pair->find("values") : nullptr;
    if (schema == nullptr || values == nullptr || !values->is_array()) {
      fmt::print(stderr, "schema-verdicts: no line with schema and values: {}\n", line);
      return 1;
    }
    if (rounds > 0) time_compiling(*schema, rounds);
    std::variant<Schema, SchemaFault> compiled = Schema::compile(*schema);
    if (const SchemaFault* fault = std::get_if<SchemaFault>(&compiled)) {
      fmt::print("{}\n", refusal(*fault));
    } else if (rounds > 0) {
      time_checks(std::get<Schema>(compiled), *values, rounds);
    } else {
      fmt::print("{}\n", verdicts(std::get<Schema>(compiled), *values));
    }
  }
  return 0;
}

}  // namespace
}  // namespace hostler::json_schema

int main(int count, char** arguments) {
  bool is_timed = count == 3 && std::string_view(arguments[1]) == "--time";
  return hostler::json_schema::answer_lines(
      is_timed ? std::max(1, static_cast<int>(std::strtol(arguments[2], nullptr, 10))) : 0);
}
