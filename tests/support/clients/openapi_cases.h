// Requests made by chance from docs/openapi.yaml: half of them as the document wants them, half
// nearly so. For tests/api/platform/openapi_fuzz_test.cpp. The same seed makes the same requests.
#pragma once

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"
#include "tests/support/clients/client.h"

namespace hostler::testing_support {

struct Operation {
  std::string method;  // in upper case
  std::string path;    // the document's pattern
  const Json* operation;
  std::vector<const Json*> parameters;  // of path and query and header, without references

  std::string name() const { return method + " " + path; }
  bool takes_body() const { return operation->find("requestBody") != nullptr; }
};

// All of the document but the event streams, which the daemon serves.
std::vector<Operation> documented_operations();

class CaseMaker {
 public:
  // ids: what exists, by its name in paths ("run_id").
  CaseMaker(unsigned seed, std::map<std::string, std::string> ids);

  Call make(const Operation& operation);

 private:
  bool chance(int percent);
  size_t below(size_t bound);
  std::string path_of(const Operation& operation, bool is_wild);
  std::string query_of(const Operation& operation, bool is_wild);
  std::string media_type_of(const Operation& operation) const;
  std::string body_of(const Operation& operation, bool is_wild);
  Json value(const Json& given_schema, std::string_view name, int depth);
  Json object(const Json& schema, int depth);
  std::string text(const Json& schema, std::string_view name);
  std::string text_of_length(const Json& schema);
  Json number(const Json& schema);
  Json odd_value();
  std::string odd_text();
  void spoil(Json& value);
  std::string spoil_text(std::string json);

  std::minstd_rand random_;
  std::map<std::string, std::string> ids_;
};

}  // namespace hostler::testing_support
