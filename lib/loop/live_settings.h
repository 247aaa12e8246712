// The settings in force while a process runs: what file and environment said, with the rows of the
// database on top. The program's main part calls apply() after every NOTIFY hostler_settings and after
// every new connection; whoever works takes current() and keeps it for one piece of work.
#pragma once

#include <memory>

#include "lib/loop/db.h"
#include "lib/secret_box.h"
#include "lib/settings.h"

namespace hostler {

class LiveSettings {
 public:
  explicit LiveSettings(const Settings& start);

  std::shared_ptr<const Settings> current() const { return current_; }

  // rows: of query::settings_all. A row that cannot be read is logged and left out: what file,
  // environment or default say is then in force.
  void apply(const Result& rows, const SecretBox& secrets);

 private:
  const Settings start_;
  std::shared_ptr<const Settings> current_;
};

}  // namespace hostler
