// Settings in force while a process runs: those of file and environment, with the rows of the
// database on top. The program's main part calls apply() after every NOTIFY hostler_settings and
// after every new connection. A user takes current() and keeps it for one piece of work.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/postgres/database.h"

namespace hostler::config {

// The kind under which a secret setting is sealed: bound to its name.
std::string setting_secret_kind(const SettingRow& row);

// start with the rows of query::settings_all on top. A row that this program does not know, or
// cannot read or open, is logged and left out: what start says is then in force. secrets: null for
// a program that needs no secret setting, and may not read the key file.
Settings settings_with_stored(const Settings& start, const postgres::Result& rows,
                              const SecretBox* secrets);

class LiveSettings {
 public:
  explicit LiveSettings(const Settings& start);
  LiveSettings(const LiveSettings&) = delete;
  LiveSettings& operator=(const LiveSettings&) = delete;

  // The newest snapshot. From any thread.
  std::shared_ptr<const Settings> current() const;
  // Values that count without the database.
  const Settings& start() const { return start_; }

  // rows: of query::settings_all. From one thread.
  void apply(const postgres::Result& rows, const SecretBox& secrets);

 private:
  const Settings start_;
  mutable std::mutex mutex_;  // of current_
  std::shared_ptr<const Settings> current_;
};

}  // namespace hostler::config
