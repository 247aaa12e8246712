// An HTTP client for tests, as somebody: what it sends carries the token, the cookie and the
// organization that are set. Every answer is checked against docs/openapi.yaml (tests/support/
// contract_check.h) before a test sees it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/http/client.h"
#include "lib/json.h"
#include "lib/loop/loop.h"

namespace hostler::testing_support {

struct Answer {
  int status = 0;  // 0: there was none
  std::vector<http::HttpField> headers;
  std::string body;

  bool has_header(std::string_view lower_case_name) const;
  std::string header(std::string_view lower_case_name) const;     // the first; absent: empty
  int64_t header_number(std::string_view lower_case_name) const;  // no integer: -1
  std::vector<std::string> headers_named(std::string_view lower_case_name) const;
  // The body as JSON. Fails the test if it is not JSON.
  Json json() const;
  // A member of an object, as text; numbers and the like as JSON. Absent: a failure, and empty.
  std::string member(std::string_view name) const;
  // The value of a refresh cookie that the answer sets; none: empty.
  std::string refresh_cookie() const;
  // Where Link rel="next" leads; none: empty.
  std::string next_path() const;
};

struct Call {
  std::string method;
  std::string path;  // with query
  std::string body;  // JSON, sent as such unless content_type says otherwise
  std::string content_type = "application/json";
  std::vector<http::HttpField> headers;
};

// Where calls go: one loop and one set of connections for all clients of a stack.
class Line {
 public:
  Line(std::string base_url, const std::string& ca_file);
  std::vector<Answer> send_all(const std::vector<Call>& calls);  // at once
  // The status alone, and 0 for no answer, without judging either: for waiting.
  int quiet_status(const std::string& path);
  const std::string& base_url() const { return base_url_; }
  // From here on calls go to this address, where somebody hands them on.
  void go_through(std::string base_url) { base_url_ = std::move(base_url); }

 private:
  Task<Answer> send(Call call);
  std::string base_url_;
  loop::Loop loop_;
  http::HttpClient http_;
};

class Client {
 public:
  explicit Client(Line& line) : line_(&line) {}

  std::string token;   // Authorization: Bearer …; empty: none
  std::string cookie;  // of hostler_refresh_token; empty: none
  std::string org_id;  // X-Org-Id; empty: none

  Answer send(Call call) const;
  // All at once; the answers in the calls' order.
  std::vector<Answer> send_all(std::vector<Call> calls) const;

  Answer get(const std::string& path) const { return send({"GET", path, {}, {}, {}}); }
  Answer del(const std::string& path) const { return send({"DELETE", path, {}, {}, {}}); }
  // Without a body.
  Answer post(const std::string& path) const { return send({"POST", path, {}, {}, {}}); }
  Answer post(const std::string& path, std::string body) const {
    return send({"POST", path, std::move(body), "application/json", {}});
  }
  Answer patch(const std::string& path, std::string body) const {
    return send({"PATCH", path, std::move(body), "application/json", {}});
  }
  Answer put(const std::string& path, std::string body) const {
    return send({"PUT", path, std::move(body), "application/json", {}});
  }
  Client with_token(std::string other_token) const;
  Client with_org(std::string other_org_id) const;

 private:
  Call as_me(Call call) const;
  Line* line_;
};

// Returns what an error says in a form that clients know: a problem, or OpenAI's. Else empty.
std::string error_code_of(const Answer& answer);
// The answer is this problem, or OpenAI's error: status, code, form of the document.
testing::AssertionResult is_problem(const Answer& answer, int status, std::string_view code);
// A 422 whose errors hold this fault.
testing::AssertionResult has_fault(const Answer& answer, std::string_view field,
                                   std::string_view fault_code);
// The number of faults of a 422; 0 for another answer.
size_t fault_count(const Answer& answer);

}  // namespace hostler::testing_support
