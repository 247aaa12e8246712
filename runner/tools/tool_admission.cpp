// See runner/tools/tool_admission.h.
#include "runner/tools/tool_admission.h"

#include <memory>
#include <string>

#include "lib/config/live_settings.h"
#include "lib/postgres/with_retry.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

ToolAdmission refused(std::string code, std::string message) {
  ToolAdmission admission;
  admission.refusal = tool_failed(std::move(code), std::move(message));
  return admission;
}

}  // namespace

Task<ToolAdmission> admit_call(ToolServices& services, ToolContext context, ToolProvider provider) {
  ToolAdmission admission;
  if (provider.is_own) co_return admission;
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  bool has_credentials = provider.backend != Backend::basic;
  int64_t cost = has_credentials ? settings->integer("credit.tool_call") : 0;
  int64_t calls_max = settings->integer("limit.platform_tool_calls_per_day");
  query::RunToolAdmit asking{.org_id = context.org_id,
                             .run_id = context.run_id,
                             .epoch = context.epoch,
                             .cost = cost,
                             .limit_platform_tool_calls = calls_max};
  // May wait for the account, so it has a connection of its own.
  Task<postgres::Result> asked =
      postgres::dedicated_with_retry(services.loop, services.db, std::move(asking));
  postgres::Result result = co_await asked;
  std::string_view answer = result.text();
  if (answer == "credits") {
    co_return refused("credits.insufficient", "The organization has too few credits for the call.");
  }
  if (answer == "budget") {
    co_return refused("budget.exhausted", "Too little is left of a budget for the call.");
  }
  if (answer == "limit") {
    co_return refused("tool.limit_exceeded",
                      "The organization has reached its limit of calls for today.");
  }
  // No result of a fenced run is written.
  if (answer == "fenced") {
    co_return refused("tool.timeout", "Another daemon has taken the run.");
  }
  admission.cost = cost;
  co_return admission;
}

}  // namespace hostler::runner
