// The stored settings as a program keeps them: read when it connects and when one is changed, and
// whoever waits for the first reading waits no longer than they want.
#include "lib/config/stored_settings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;
using testing_support::TestDatabase;

class SettingsKept : public ::testing::Test {
 protected:
  SettingsKept()
      : db_(loop_, options(database_.api_url())),
        secrets_(std::get<config::SecretBox>(config::SecretBox::parse(random_bytes(32)))),
        settings_(loop_, db_, config::Settings(), secrets_, [this](const config::Settings& now) {
          told_.push_back(now.text("auth.registration_mode"));
          heard_.notify();
        }) {}
  static postgres::DatabaseOptions options(const std::string& url) {
    postgres::DatabaseOptions options;
    options.conninfo = url;
    return options;
  }
  void store(const std::string& value) {
    database_.as_superuser().run_text(
        fmt::format("INSERT INTO settings (key, value) VALUES ('auth.registration_mode', '\"{}\"') "
                    "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    value));
  }
  Task<bool> until_reported(std::string value) {
    while (told_.empty() || told_.back() != value) {
      bool came = co_await heard_.wait_for(loop_, 5000);
      if (!came) co_return false;
    }
    co_return true;
  }

  TestDatabase database_;
  loop::Loop loop_;
  postgres::Database db_;
  config::SecretBox secrets_;
  std::vector<std::string> told_;
  loop::Signal heard_;
  config::StoredSettings settings_;
};

TEST_F(SettingsKept, AreReadWhenTheDatabaseConnects) {
  store("disabled");
  EXPECT_FALSE(settings_.are_read());
  settings_.listen();
  settings_.reload();
  EXPECT_TRUE(run_task(loop_, settings_.until_read(5000)));
  EXPECT_TRUE(settings_.are_read());
  EXPECT_EQ(settings_.current()->text("auth.registration_mode"), "disabled");
  EXPECT_EQ(settings_.start().text("auth.registration_mode"),
            config::Settings().text("auth.registration_mode"));
}

TEST_F(SettingsKept, AreReadAgainWhenOneIsChanged) {
  settings_.listen();
  settings_.reload();
  EXPECT_TRUE(run_task(loop_, settings_.until_read(5000)));
  store("disabled");
  database_.as_superuser().run_text("NOTIFY hostler_settings");
  EXPECT_TRUE(run_task(loop_, until_reported("disabled")));
}

TEST_F(SettingsKept, AreReadAtOnceForWhoeverAsks) {
  store("disabled");
  EXPECT_TRUE(run_task(loop_, settings_.read()));
  EXPECT_EQ(told_, std::vector<std::string>{"disabled"});
}

TEST_F(SettingsKept, AreTriedAgainUntilTheyCanBeRead) {
  database_.as_superuser().run_text("ALTER TABLE settings RENAME TO hidden");
  settings_.reload();
  EXPECT_FALSE(run_task(loop_, settings_.until_read(200)));
  EXPECT_TRUE(told_.empty());
  database_.as_superuser().run_text("ALTER TABLE hidden RENAME TO settings");
  EXPECT_TRUE(run_task(loop_, settings_.until_read(5000)));
}

}  // namespace
}  // namespace hostler
