// See runner/tools/backend_answer.h.
#include "runner/tools/backend_answer.h"

#include <fmt/format.h>

#include "lib/log.h"
#include "runner/models/provider_error.h"

namespace hostler::runner {
namespace {

bool is_timeout(http::HttpFailureKind kind) {
  return kind == http::HttpFailureKind::timeout_connect ||
         kind == http::HttpFailureKind::timeout_first_byte ||
         kind == http::HttpFailureKind::timeout_idle ||
         kind == http::HttpFailureKind::timeout_total;
}

// Where a text that was cut off ends well: before an escape whose end is missing.
size_t whole_text_end(std::string_view text, size_t escape_begin) {
  if (escape_begin == std::string_view::npos) return text.size();
  size_t length = text.substr(escape_begin).starts_with("\\u") ? 6 : 2;
  return escape_begin + length > text.size() ? escape_begin : text.size();
}

// The text closed with whatever is open, when it ends within a string that is a value; else none.
std::optional<std::string> close_cut_json(std::string_view text) {
  std::string open;  // the closing brackets that are missing, innermost last
  bool in_string = false;
  bool is_value = false;  // of the string: not a member's name
  size_t escape_begin = std::string_view::npos;
  char before = 0;  // the last sign outside of strings
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string && c == '\\') {
      escape_begin = i++;
    } else if (in_string && c == '"') {
      in_string = false;
      escape_begin = std::string_view::npos;
    } else if (c == '"' && !in_string) {
      in_string = true;
      is_value = before == ':' || (!open.empty() && open.back() == ']');
    } else if (!in_string) {
      if (c == '{') open += '}';
      if (c == '[') open += ']';
      if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') before = c;
    }
  }
  if (!in_string || !is_value) return std::nullopt;
  std::string whole(text.substr(0, whole_text_end(text, escape_begin)));
  whole += '"';
  whole.append(open.rbegin(), open.rend());
  return whole;
}

}  // namespace

void limit_call(http::HttpRequest& request, int64_t timeout_ms) {
  request.connect_timeout_ms = timeout_ms;
  request.first_byte_timeout_ms = timeout_ms;
  request.idle_timeout_ms = timeout_ms;
  request.total_timeout_ms = timeout_ms;
  request.response_bytes_max = size_t{5} << 20;
  request.over_limit = http::OverLimit::cut;
  request.accept_gzip = true;
}

std::optional<ToolOutcome> fault_of(const http::HttpAnswer& answer, const CallPolicy& policy) {
  std::string code(policy.failed_code);
  if (!answer.failure) {
    int status = answer.head.status;
    if (status >= 200 && status <= 299) return std::nullopt;
    return tool_failed(code, fmt::format("{} answered with status {}.", policy.service, status));
  }
  http::HttpFailureKind kind = answer.failure->kind;
  if (is_timeout(kind)) {
    return tool_failed("tool.timeout", fmt::format("{} did not answer in time.", policy.service));
  }
  bool is_denied = kind == http::HttpFailureKind::denied_address ||
                   (kind == http::HttpFailureKind::bad_request && policy.url_from_model);
  if (is_denied) {
    return tool_failed(
        "tool.url_denied",
        policy.url_from_model
            ? "The address, or one that it redirects to, may not be opened."
            : fmt::format("{} has an address that may not be opened.", policy.service));
  }
  if (kind == http::HttpFailureKind::too_many_redirects) {
    return tool_failed(code, fmt::format("{} redirects too often.", policy.service));
  }
  if (answer.failure->is_untrusted) {
    return tool_failed(code, fmt::format("{} has a certificate that is not trusted: {}.",
                                         policy.service, http::trust_advice));
  }
  return tool_failed(code, fmt::format("{} could not be read.", policy.service));
}

void log_tool_failure(const ToolContext& context, Backend backend, const ToolOutcome& outcome,
                      const http::HttpAnswer& answer) {
  std::string cause = answer.failure ? std::string(http::http_failure_name(answer.failure->kind)) +
                                           ": " + answer.failure->message
                                     : std::string();
  log_warning("tool_failed", {{"trace_id", context.trace_id},
                              {"run_id", context.run_id},
                              {"code", outcome.error_code},
                              {"backend", std::string(backend_name(backend))},
                              {"status", std::to_string(answer.head.status)},
                              {"cause", std::move(cause)}});
}

std::optional<Json> read_backend_json(std::string_view body, bool truncated) {
  if (!truncated) return parse_lenient_json(body);
  std::optional<std::string> whole = close_cut_json(body);
  if (!whole) return std::nullopt;
  return parse_lenient_json(*whole);
}

}  // namespace hostler::runner
