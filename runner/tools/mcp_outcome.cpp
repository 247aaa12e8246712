// See runner/tools/mcp_outcome.h.
#include "runner/tools/mcp_outcome.h"

#include <vector>

#include "queries/runs.h"

namespace hostler::runner {

ToolOutcome outcome_unknown() {
  return tool_failed("tool.outcome_unknown",
                     "It is unknown whether the call was carried out, because it was cut off while "
                     "it was under way. Check before you repeat it.");
}

ToolOutcome refused_away(std::string_view refusal) {
  if (refusal == "disconnected") {
    return tool_failed("tool.not_connected",
                       "The connection with its server ended during the call, which was cancelled "
                       "there.");
  }
  if (refusal == "gone") {
    return tool_failed("tool.unknown",
                       "The tool was removed during the call, which was cancelled at its server.");
  }
  if (refusal == "changed") {
    return tool_failed("tool.definition_changed",
                       "Its server changed the tool during the call, which was cancelled there.");
  }
  return tool_failed("tool.outcome_unknown",
                     "Its server was deleted, switched off or moved during the call. It is unknown "
                     "whether the call was carried out. Check before you repeat it.");
}

ToolOutcome tool_outcome_of(const RemoteOutcome& came, bool is_idempotent) {
  ToolOutcome outcome;
  switch (came.ending) {
    case RemoteOutcome::Ending::never_sent:
      return tool_failed("tool.unreachable", came.message);
    case RemoteOutcome::Ending::unknown:
      if (is_idempotent) return tool_failed("tool.timeout", came.message);
      return outcome_unknown();
    case RemoteOutcome::Ending::result:
      if (came.is_error) return tool_failed("tool.failed", came.text);
      outcome.result = came.text;
      return outcome;
    default:
      return tool_failed(came.code, came.message);
  }
}

Task<void> tell_of_run(OAuthServices services, std::string run_id, bool goes_on) {
  postgres::BoundStatement changed =
      query::RunControlNotify{.run_ids = std::vector<std::string>{run_id}};
  co_await ask_postgres(services, std::move(changed));
  if (!goes_on) co_return;
  postgres::BoundStatement queued = query::RunNotify{};
  co_await ask_postgres(services, std::move(queued));
}

}  // namespace hostler::runner
