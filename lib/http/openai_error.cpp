// See lib/http/openai_error.h.
#include "lib/http/openai_error.h"

#include <algorithm>
#include <array>

#include "lib/http/problem.h"
#include "lib/json.h"

namespace hostler::http {
namespace {

constexpr std::string_view path_begin = "/v1/openai";

// Codes that have a name of their own there.
struct OpenAiRow {
  ErrorCode code;
  int status;
  std::string_view name;
  std::string_view type;
  std::string_view param;       // empty: none
  std::string_view message;     // empty: ours
  std::string_view title = {};  // in place of ours, where an error tells nothing more
};
constexpr std::string_view no_such_model =
    "The model does not exist. GET /v1/openai/models lists the models.";
constexpr std::array openai_rows{
    OpenAiRow{ErrorCode::runs_unknown_persona, 404, "model_not_found", "not_found_error", "model",
              no_such_model},
    OpenAiRow{ErrorCode::runs_unknown_route, 404, "model_not_found", "not_found_error", "model",
              no_such_model},
    OpenAiRow{ErrorCode::credits_insufficient, 429, "insufficient_quota", "insufficient_quota", "",
              ""},
    OpenAiRow{ErrorCode::files_not_found, 404, "files.not_found", "not_found_error", "", ""},
    OpenAiRow{ErrorCode::runs_input_unsupported, 400, "runs.input_unsupported",
              "invalid_request_error", "model", ""},
    OpenAiRow{ErrorCode::runs_not_found, 404, "runs.not_found", "not_found_error", "", "",
              "The response does not exist."},
    OpenAiRow{ErrorCode::threads_not_found, 404, "threads.not_found", "not_found_error", "", "",
              "The conversation does not exist."},
    OpenAiRow{ErrorCode::auth_missing_token, 401, "auth.missing_token", "authentication_error", "",
              "Send Authorization: Bearer with an API key, or with the access token of a login."},
};

const OpenAiRow* row_of(const Error& error) {
  const OpenAiRow* row = std::find_if(openai_rows.begin(), openai_rows.end(),
                                      [&](const OpenAiRow& one) { return one.code == error.code; });
  return row == openai_rows.end() ? nullptr : row;
}

std::string_view param_of(const Error& error) {
  const OpenAiRow* row = row_of(error);
  if (row != nullptr && !row->param.empty()) return row->param;
  return error.faults.empty() ? std::string_view() : error.faults.front().field;
}

// But for the last one.
void drop_empty_segments(Target& target) {
  if (target.segment_count == 0) return;
  auto begin = target.segments.begin();
  auto last = begin + static_cast<ptrdiff_t>(target.segment_count) - 1;
  auto kept = std::remove(begin, last, std::string_view());
  *kept = *last;
  target.segment_count = static_cast<size_t>(kept - begin) + 1;
}

}  // namespace

bool is_openai_path(std::string_view uri) {
  if (!uri.starts_with(path_begin)) return false;
  uri.remove_prefix(path_begin.size());
  return uri.empty() || uri.front() == '/' || uri.front() == '?';
}

bool is_openai_path(const Target& target) {
  return target.segment_count >= 2 && target.segments[0] == "v1" && target.segments[1] == "openai";
}

void mend_openai_path(Target& target) {
  drop_empty_segments(target);
  if (target.segment_count < 3 || target.segments[2] != "v1") return;
  auto begin = target.segments.begin();
  std::move(begin + 3, begin + static_cast<ptrdiff_t>(target.segment_count), begin + 2);
  --target.segment_count;
}

std::string_view openai_error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

int openai_status(const Error& error) {
  const OpenAiRow* row = row_of(error);
  if (row != nullptr) return row->status;
  return error.status() == 422 ? 400 : error.status();
}

std::string_view openai_code(const Error& error) {
  const OpenAiRow* row = row_of(error);
  if (row != nullptr) return row->name;
  bool is_unsupported = !error.faults.empty() && error.faults.front().code == unsupported_parameter;
  return is_unsupported ? unsupported_parameter : error_row(error.code).name;
}

std::string_view openai_message(const Error& error) {
  const OpenAiRow* row = row_of(error);
  if (row != nullptr && !row->message.empty()) return row->message;
  if (!error.detail.empty()) return error.detail;
  return row != nullptr && !row->title.empty() ? row->title : error_row(error.code).title;
}

std::string openai_error_text(const Error& error) {
  const OpenAiRow* row = row_of(error);
  std::string_view param = param_of(error);
  JsonWriter body;
  body.begin_object().key("error").begin_object();
  body.member("message", openai_message(error));
  body.member("type", row != nullptr ? row->type : openai_error_type(openai_status(error)));
  body.key("param");
  if (param.empty()) {
    body.null();
  } else {
    body.text(param);
  }
  body.member("code", openai_code(error));
  return body.end_object().end_object().take();
}

HeaderList openai_error_headers(const Error& error) {
  HeaderList headers = problem_headers(error);
  if (error.code == ErrorCode::credits_insufficient || openai_status(error) == 409) {
    headers.emplace_back("x-should-retry", "false");
  }
  return headers;
}

}  // namespace hostler::http
