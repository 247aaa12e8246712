// The doctor's findings about the periodic jobs; see ctl/doctor_report.h.
#include <string>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "ctl/output.h"
#include "queries/operator.h"

namespace hostler {

void look_at_maintenance(postgres::DbSession& session, DoctorReport& report) {
  postgres::Result maintainer = session.run(query::DoctorMaintainer{});
  const postgres::Row& place = maintainer.front();
  if (place.is_null("host")) {
    report.fault("maintenance",
                 "no daemon does the periodic jobs: a live one takes over within 15 s; systemctl "
                 "status hostler-runner");
    return;
  }
  postgres::Result clock = session.run(query::MaintenanceClockState{.accept = false});
  if (clock.front().boolean("is_held")) {
    report.fault("maintenance clock",
                 fmt::format("nothing is deleted or ended: the database's clock is {}, maintenance "
                             "last accepted {}; set the database host's clock, or run hostlerctl "
                             "maintenance clock --accept if it is right",
                             clock.front().text("now_at"), clock.front().text("accepted_at")));
  }
  postgres::Result jobs = session.run(query::DoctorJobs{});
  for (int i = 0; i < jobs.size(); ++i) {
    const postgres::Row job = jobs[i];
    std::string name(job.text("job"));
    if (job.boolean("is_failing")) {
      report.warn("maintenance",
                  fmt::format("{} fails, {} so far: {}; journalctl -u hostler-runner on {}", name,
                              count_text(job.integer("faults"), "time"), job.text("fault"),
                              place.text("host")));
    } else {
      report.warn("maintenance",
                  fmt::format("{} was not done for {} s: restart hostler-runner on {}, another one "
                              "takes its place",
                              name, job.integer("late_s"), place.text("host")));
    }
  }
  if (jobs.empty()) {
    report.well("maintenance", fmt::format("done by {} {} since {}", place.text("host"),
                                           place.text("instance"), place.text("since")));
  }
}

}  // namespace hostler
