// See runner/tools/webhook_answer.h.
#include "runner/tools/webhook_answer.h"

#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/json_mend.h"
#include "lib/loop/wait.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

using Kind = WebhookAnswer::Kind;

WebhookAnswer failed(Kind kind, std::string code, std::string message) {
  return {kind, tool_failed(std::move(code), std::move(message)), std::nullopt};
}

WebhookAnswer read_failure(const http::HttpFailure& failure) {
  switch (failure.kind) {
    case http::HttpFailureKind::bad_request:
    case http::HttpFailureKind::denied_address:
      return failed(Kind::done, "tool.url_denied", "The tool's address may not be called.");
    case http::HttpFailureKind::connect:
    case http::HttpFailureKind::timeout_connect:
      return failed(Kind::unsent, "tool.unreachable", "The tool's server could not be reached.");
    case http::HttpFailureKind::tls:
      if (failure.is_untrusted) {
        return failed(Kind::unsent, "tool.unreachable",
                      fmt::format("The certificate of the tool's server is not trusted: {}.",
                                  http::trust_advice));
      }
      return failed(Kind::unsent, "tool.unreachable",
                    "The tool's server has no certificate that is valid for its name.");
    case http::HttpFailureKind::too_large:
      return failed(Kind::done, "tool.bad_answer", "The tool's answer is longer than 1 MiB.");
    case http::HttpFailureKind::timeout_first_byte:
    case http::HttpFailureKind::timeout_idle:
    case http::HttpFailureKind::timeout_total:
      return failed(Kind::unclear, "tool.timeout", "The tool did not answer in time.");
    case http::HttpFailureKind::reset:
    case http::HttpFailureKind::protocol:
    case http::HttpFailureKind::too_many_redirects:
      break;
  }
  return failed(Kind::unclear, "tool.timeout", "The connection to the tool's server broke.");
}

WebhookAnswer read_status(const http::HttpHead& head) {
  std::string words = fmt::format("The tool's server answered {}.", head.status);
  bool is_passing = head.status == 429 || head.status >= 500;
  WebhookAnswer answer =
      failed(is_passing ? Kind::unclear : Kind::done, "tool.failed", std::move(words));
  if (is_passing) answer.retry_after_ms = head.retry_after_ms();
  return answer;
}

// JSON as JSON, anything else as the text that it is; nothing is the empty text.
std::string result_of(const std::string& body) {
  std::optional<Json> json = parse_json_or_nothing(body);
  if (!json) json = parse_json_or_nothing(mended_json(body));
  return json ? json->dump() : json_quote(mended_text(body));
}

}  // namespace

WebhookAnswer read_webhook_answer(const http::HttpAnswer& answer) {
  int status = answer.head.status;
  if (answer.failure && status == 0) return read_failure(*answer.failure);
  // The head said enough, whatever became of the body.
  if (status == 202) return {Kind::accepted, {}, std::nullopt};
  if (status < 200 || status > 299) return read_status(answer.head);
  if (answer.failure) return read_failure(*answer.failure);
  WebhookAnswer read{Kind::done, {}, std::nullopt};
  read.outcome.result = result_of(answer.body);
  return read;
}

Task<WebhookAnswer> read_webhook_answer(loop::Loop& loop, http::HttpAnswer answer) {
  if (answer.body.size() <= read_at_once_bytes_max) co_return read_webhook_answer(answer);
  std::function<WebhookAnswer()> read = [answer = std::move(answer)] {
    return read_webhook_answer(answer);
  };
  WebhookAnswer came = co_await loop::on_thread(loop, std::move(read));
  co_return came;
}

ToolOutcome unclear_outcome(const WebhookAnswer& answer, bool is_repeatable) {
  if (is_repeatable) return answer.outcome;
  return tool_failed("tool.outcome_unknown", "It is unknown whether the call was carried out: " +
                                                 answer.outcome.error_message +
                                                 " Check before you repeat it.");
}

}  // namespace hostler::runner
