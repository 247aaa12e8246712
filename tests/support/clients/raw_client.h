// An HTTP client for tests of lines that break: a connection that fails is an answer too, with what
// came of it. tests/support/clients/client.h calls that a failure of the test. Blocks.
#pragma once

#include <string>

#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "tests/support/clients/client.h"

namespace hostler::testing_support {

struct Received {
  Answer answer;        // of a broken one: status, head and body as far as they came
  std::string failure;  // what broke; empty: the answer is whole
  bool is_whole() const { return failure.empty(); }
};

class RawClient {
 public:
  RawClient(std::string base_url, const std::string& ca_file);

  static constexpr int64_t answer_limit_ms = 60'000;

  // token: as Authorization; empty: none. After limit_ms it hangs up.
  Received ask(const Call& call, const std::string& token, int64_t limit_ms = answer_limit_ms);

 private:
  Task<void> hear(http::HttpRequest request, Received& received);
  std::string base_url_;
  loop::Loop loop_;
  http::HttpClient http_;
  bool is_running_ = false;
};

}  // namespace hostler::testing_support
