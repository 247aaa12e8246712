// Tests what somebody set up before an address was proved is off, whenever it was.
#include <gtest/gtest.h>

#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

// A session makes one plan for all moments when it has been asked a few times.
TEST(SettingsOff, TakesEveryMomentInEveryPlan) {
  TestDatabase database;
  RunFixture fixture{database};
  for (const char* mode : {"force_custom_plan", "force_generic_plan"}) {
    for (const char* since : {"-infinity", "infinity", "2026-01-01"}) {
      postgres::DbSession session = database.as_superuser();
      session.run_text(std::string("SET plan_cache_mode = ") + mode);
      EXPECT_NO_THROW(session.run_text(std::string("SELECT personal_settings_off(u, '") + since +
                                       "') FROM users u LIMIT 1"))
          << mode << since;
    }
  }
}

}  // namespace
}  // namespace hostler
