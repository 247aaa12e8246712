// What the doctor finds in each part of an installation, gathered. For ctl/doctor.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/postgres/session.h"

namespace hostler {

enum class Verdict { ok, warning, failure };

struct Finding {
  Verdict verdict;
  std::string what;
  std::string message;
};

class DoctorReport {
 public:
  void well(std::string what, std::string message) { add(Verdict::ok, what, message); }
  void warn(std::string what, std::string message) { add(Verdict::warning, what, message); }
  void fault(std::string what, std::string message) { add(Verdict::failure, what, message); }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  void add(Verdict verdict, std::string& what, std::string& message) {
    findings_.push_back({verdict, std::move(what), std::move(message)});
  }
  std::vector<Finding> findings_;
};

// ctl/doctor_postgres.cpp: the server, of which row tells (query::DoctorDatabase).
void look_at_postgres(const config::Settings& settings, const postgres::Row& row,
                      DoctorReport& report);
// How many of the named standbys may be lost before every commit waits for one; 1 when none is
// waited for, or any will do.
int64_t standbys_to_spare(std::string_view synchronous_standby_names);
// ctl/doctor_sockets.cpp: who takes connections, and whether the daemon answers on its way out.
void look_at_sockets(const config::Settings& settings, DoctorReport& report);
// ctl/doctor_host.cpp: the sockets, nginx as it runs, certificates, disk, file limits, ports.
void look_at_host(const config::Settings& settings, DoctorReport& report);
// ctl/doctor_mail.cpp: a connection to the mail server, with login, but no mail. in_force: with
// what administrators stored. box: null when the key file cannot be used.
void look_at_mail(const config::Settings& in_force, const config::SecretBox* box,
                  postgres::DbSession& session, DoctorReport& report);

}  // namespace hostler
