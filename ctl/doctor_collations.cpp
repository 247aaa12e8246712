// The doctor's findings about the order in which indexes were built; see ctl/doctor_report.h.
#include <string>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "queries/operator.h"

namespace hostler {

void look_at_collations(postgres::DbSession& session, DoctorReport& report) {
  postgres::Result changed = session.run(query::DoctorCollations{});
  for (int i = 0; i < changed.size(); ++i) {
    const postgres::Row& row = changed[i];
    report.warn(fmt::format("{}", row.text("name")),
                fmt::format("its order was version {} and is now {}: {} indexes may miss rows or "
                            "hold a unique name twice. Stop Hostler, REINDEX INDEX for each, then "
                            "{}. The indexes: {}",
                            row.text("recorded"), row.text("actual"), row.integer("count"),
                            row.text("mend"), row.text("indexes")));
  }
  if (changed.empty()) report.well("collations", "indexes have the order in which they were built");
}

}  // namespace hostler
