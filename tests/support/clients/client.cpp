// Calls and answers; see tests/support/clients/client.h.
#include "tests/support/clients/client.h"

#include <gtest/gtest.h>

#include <charconv>

#include <fmt/format.h>

#include "tests/support/clients/contract_check.h"
#include "tests/support/run_task.h"

namespace hostler::testing_support {
namespace {

// With connecting: of a thousand handshakes at once the last waits for all others.
constexpr int64_t answer_limit_ms = 20'000;

http::HttpClientOptions trusting(const std::string& ca_file) {
  http::HttpClientOptions options;
  options.ca_file = ca_file;
  return options;
}

Task<void> keep_answer(Task<Answer> task, Answer& place, size_t& left, loop::Signal& all) {
  Answer answer = co_await task;
  place = std::move(answer);
  if (--left == 0) all.notify();
}

Task<void> wait_for_all(std::vector<Task<void>>& tasks, size_t& left, loop::Signal& all) {
  for (Task<void>& task : tasks) task.start(nullptr);
  while (left > 0) co_await all.wait();
}

// Report of prism about the answer, if it stands between (make prism). Its complaints about the bad
// requests of our tests, and about requests that the service forgives, are expected.
void check_by_prism(const Call& call, const Answer& answer) {
  std::optional<Json> violations = parse_json_or_nothing(answer.header("sl-violations"));
  if (!violations || !violations->is_array()) return;
  for (const Json& violation : *violations->as_array()) {
    const Json* location = violation.find("location");
    bool is_of_answer = location != nullptr && location->is_array() &&
                        !location->as_array()->empty() &&
                        location->as_array()->front().dump() == "\"response\"";
    if (!is_of_answer) continue;
    ADD_FAILURE() << call.method << " " << call.path << " answers " << answer.status
                  << "; prism: " << violation.dump();
  }
}

}  // namespace

bool Answer::has_header(std::string_view lower_case_name) const {
  return !headers_named(lower_case_name).empty();
}
std::string Answer::header(std::string_view lower_case_name) const {
  std::vector<std::string> values = headers_named(lower_case_name);
  return values.empty() ? "" : values.front();
}
int64_t Answer::header_number(std::string_view lower_case_name) const {
  std::string digits = header(lower_case_name);
  int64_t number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}
std::vector<std::string> Answer::headers_named(std::string_view lower_case_name) const {
  std::vector<std::string> values;
  for (const http::HttpField& field : headers) {
    if (field.first == lower_case_name) values.push_back(field.second);
  }
  return values;
}

Json Answer::json() const {
  std::optional<Json> parsed = parse_json_or_nothing(body);
  EXPECT_TRUE(parsed.has_value()) << status << " is no JSON: " << body;
  return parsed.value_or(Json());
}

std::string Answer::member(std::string_view name) const {
  Json parsed = json();
  const Json* found = parsed.find(name);
  EXPECT_NE(found, nullptr) << "no member " << name << " in " << status << " " << body;
  if (found == nullptr) return {};
  return found->is_text() ? *found->as_text() : found->dump();
}

std::string Answer::refresh_cookie() const {
  std::string cookie = header("set-cookie");
  constexpr std::string_view name = "hostler_refresh_token=";
  if (!cookie.starts_with(name)) return {};
  return cookie.substr(name.size(), cookie.find(';') - name.size());
}

std::string Answer::next_path() const {
  std::string link = header("link");
  size_t end = link.find(">; rel=\"next\"");
  return link.starts_with('<') && end != link.npos ? link.substr(1, end - 1) : "";
}

Line::Line(std::string base_url, const std::string& ca_file)
    : base_url_(std::move(base_url)), http_(loop_, trusting(ca_file)) {}

Task<Answer> Line::send(Call call) {
  http::HttpRequest request;
  request.method = call.method;
  request.url = base_url_ + call.path;
  request.headers = call.headers;
  if (!call.content_type.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  request.body = call.body;
  request.guarded = false;
  request.connect_timeout_ms = answer_limit_ms;
  request.total_timeout_ms = answer_limit_ms;
  request.response_bytes_max = size_t{64} << 20;
  http::HttpAnswer got = co_await http_.fetch(std::move(request));
  Answer answer;
  if (got.failure) {
    ADD_FAILURE() << call.method << " " << call.path << ": " << got.failure->message;
    co_return answer;
  }
  answer.status = got.head.status;
  answer.headers = std::move(got.head.headers);
  answer.body = std::move(got.body);
  check_by_prism(call, answer);
  for (const std::string& fault : contract_faults(call, answer)) {
    ADD_FAILURE() << call.method << " " << call.path << " answers " << answer.status
                  << " against docs/openapi.yaml: " << fault << "\n"
                  << answer.body.substr(0, 1000);
  }
  co_return answer;
}

std::vector<Answer> Line::send_all(const std::vector<Call>& calls) {
  std::vector<Answer> answers(calls.size());
  size_t left = calls.size();
  loop::Signal all;
  std::vector<Task<void>> tasks;
  for (size_t i = 0; i < calls.size(); ++i) {
    tasks.push_back(keep_answer(send(calls[i]), answers[i], left, all));
  }
  run_task(loop_, wait_for_all(tasks, left, all));
  return answers;
}

int Line::quiet_status(const std::string& path) {
  http::HttpRequest request;
  request.url = base_url_ + path;
  request.guarded = false;
  request.connect_timeout_ms = answer_limit_ms;
  request.total_timeout_ms = answer_limit_ms;
  http::HttpAnswer got = run_task(loop_, http_.fetch(std::move(request)));
  return got.failure ? 0 : got.head.status;
}

Call Client::as_me(Call call) const {
  if (!token.empty()) call.headers.emplace_back("Authorization", "Bearer " + token);
  if (!cookie.empty()) call.headers.emplace_back("Cookie", "hostler_refresh_token=" + cookie);
  if (!org_id.empty()) call.headers.emplace_back("X-Org-Id", org_id);
  return call;
}

Answer Client::send(Call call) const { return line_->send_all({as_me(std::move(call))}).front(); }

std::vector<Answer> Client::send_all(std::vector<Call> calls) const {
  for (Call& call : calls) call = as_me(std::move(call));
  return line_->send_all(calls);
}

Client Client::with_token(std::string other_token) const {
  Client other = *this;
  other.token = std::move(other_token);
  return other;
}

Client Client::with_org(std::string other_org_id) const {
  Client other = *this;
  other.org_id = std::move(other_org_id);
  return other;
}

std::string error_code_of(const Answer& answer) {
  std::string type = answer.header("content-type");
  bool is_error = answer.status >= 400 && !answer.body.empty();
  if (is_error && type == "application/problem+json") {
    return std::string(answer.json().text_or("code"));
  }
  if (!is_error || type != "application/json" || !answer.has_header("x-request-id")) return {};
  Json body = answer.json();
  const Json* error = body.find("error");
  return error == nullptr ? std::string() : std::string(error->text_or("code"));
}

testing::AssertionResult is_problem(const Answer& answer, int status, std::string_view code) {
  bool is_it = answer.status == status && error_code_of(answer) == code;
  if (is_it) return testing::AssertionSuccess() << "it is " << status << " " << code;
  return testing::AssertionFailure() << "not " << status << " " << code << " but " << answer.status
                                     << " " << answer.body.substr(0, 1000);
}

testing::AssertionResult has_fault(const Answer& answer, std::string_view field,
                                   std::string_view fault_code) {
  Json body = answer.json();
  const Json* errors = body.find("errors");
  if (answer.status == 422 && errors != nullptr && errors->as_array() != nullptr) {
    for (const Json& fault : *errors->as_array()) {
      bool is_it = fault.text_or("field") == field && fault.text_or("code") == fault_code;
      if (is_it) return testing::AssertionSuccess();
    }
  }
  return testing::AssertionFailure() << "no fault " << field << " " << fault_code << " in "
                                     << answer.status << " " << answer.body;
}

size_t fault_count(const Answer& answer) {
  Json body = answer.json();
  const Json* errors = body.find("errors");
  return errors == nullptr || errors->as_array() == nullptr ? 0 : errors->as_array()->size();
}

}  // namespace hostler::testing_support
