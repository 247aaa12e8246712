// See ctl/maintenance.h.
#include "ctl/maintenance.h"

#include <memory>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/json.h"
#include "queries/operator.h"

namespace hostler {
namespace {

int show_clock(const CommandCall& call, bool accept) {
  OwnerSession owner =
      open_migrated(call.settings().text("database.url"), "hostlerctl maintenance");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result rows = owner.session->run(query::MaintenanceClockState{.accept = accept});
  const postgres::Row state = rows.front();
  bool is_held = state.boolean("is_held");
  JsonWriter json;
  json.begin_object().member("is_held", is_held);
  json.member("accepted_at", state.text("accepted_at")).member("now", state.text("now_at"));
  int status = answer(call.as_json, json.end_object().take(),
                      fmt::format("{}: the database's clock is {}, maintenance accepted {}\n",
                                  is_held ? "held, nothing is deleted or ended" : "accepted",
                                  state.text("now_at"), state.text("accepted_at")));
  return is_held ? exit_try_again : status;
}

}  // namespace

void add_maintenance_commands(CommandLine& line) {
  CommandWord topic = line.topic("maintenance", "the periodic jobs of the daemons");
  auto accept = std::make_shared<bool>(false);
  CommandWord clock =
      line.command(topic, "clock", "show whether jobs that delete or end use the database's clock",
                   [accept](const CommandCall& call) { return show_clock(call, *accept); });
  clock.add_flag("--accept", *accept, "accept the clock, because it is right");
}

}  // namespace hostler
