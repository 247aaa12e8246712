// See tests/support/clients/raw_client.h.
#include "tests/support/clients/raw_client.h"

namespace hostler::testing_support {
namespace {

http::HttpClientOptions trusting(const std::string& ca_file) {
  http::HttpClientOptions options;
  options.ca_file = ca_file;
  return options;
}

}  // namespace

RawClient::RawClient(std::string base_url, const std::string& ca_file)
    : base_url_(std::move(base_url)), http_(loop_, trusting(ca_file)) {}

Received RawClient::ask(const Call& call, const std::string& token, int64_t limit_ms) {
  http::HttpRequest request;
  request.method = call.method;
  request.url = base_url_ + call.path;
  request.headers = call.headers;
  if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
  if (!call.body.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  request.body = call.body;
  request.guarded = false;
  request.total_timeout_ms = limit_ms;
  request.connect_timeout_ms = answer_limit_ms;
  request.response_bytes_max = size_t{64} << 20;
  Received received;
  is_running_ = false;
  Task<void> hearing = hear(std::move(request), received);
  if (!hearing.start(nullptr)) {
    is_running_ = true;
    loop_.run();
  }
  return received;
}

Task<void> RawClient::hear(http::HttpRequest request, Received& received) {
  http::HttpExchange exchange(http_, std::move(request));
  const http::HttpHead* head = co_await exchange.head();
  if (head != nullptr) {
    received.answer.status = head->status;
    received.answer.headers = head->headers;
    for (;;) {
      std::optional<std::string> piece = co_await exchange.next_piece();
      if (!piece) break;
      received.answer.body += *piece;
    }
  }
  if (exchange.failure()) received.failure = exchange.failure()->message;
  if (is_running_) loop_.stop();
}

}  // namespace hostler::testing_support
