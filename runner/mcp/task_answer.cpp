// See runner/mcp/task_answer.h.
#include "runner/mcp/task_answer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

// Interval for servers that do not name one, and the bounds for all others.
constexpr int64_t poll_default_ms = 3000;
constexpr int64_t poll_min_ms = 500;
constexpr int64_t poll_max_ms = 300'000;
constexpr size_t words_bytes_max = 2000;

using Status = RemoteTask::Status;
constexpr std::array<std::pair<std::string_view, Status>, 5> statuses = {
    {{"working", Status::working},
     {"input_required", Status::input_required},
     {"completed", Status::completed},
     {"failed", Status::failed},
     {"cancelled", Status::cancelled}}};

int64_t poll_ms_of(const Json& json) {
  const Json* member = json.find("pollIntervalMs");
  std::optional<double> wanted = member == nullptr ? std::nullopt : member->as_number();
  if (!wanted) return poll_default_ms;
  double bounded =
      std::clamp(*wanted, static_cast<double>(poll_min_ms), static_cast<double>(poll_max_ms));
  return static_cast<int64_t>(bounded);
}

}  // namespace

std::optional<RemoteTask> read_task(std::string_view result) {
  std::optional<Json> json = parse_json_or_nothing(result);
  if (!json || !json->is_object()) return std::nullopt;
  RemoteTask task;
  task.id = json->text_or("taskId");
  if (task.id.empty() || task.id.size() > task_id_bytes_max) return std::nullopt;
  auto found = std::find_if(statuses.begin(), statuses.end(), [&json](const auto& row) {
    return json->text_or("status") == row.first;
  });
  if (found == statuses.end()) return std::nullopt;
  task.status = found->second;
  task.poll_ms = poll_ms_of(*json);
  task.questions = raw_member(result, "inputRequests").value_or("{}");
  task.result = raw_member(result, "result").value_or("");
  task.message = utf8_prefix(json->text_or("statusMessage"), words_bytes_max);
  const Json* error = json->find("error");
  if (error != nullptr && error->is_object()) {
    task.code = error->integer_or("code", 0);
    task.message = utf8_prefix(error->text_or("message"), words_bytes_max);
  }
  return task;
}

}  // namespace hostler::runner
