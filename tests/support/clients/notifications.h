// Counts notifications on a channel of the stack's database, for tests of who wakes the daemons.
#pragma once

#include <string>

#include "lib/loop/loop.h"
#include "lib/postgres/database.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/api_stack.h"

namespace hostler::testing_support {

class Notifications {
 public:
  // Listens from now on.
  Notifications(ApiStack& stack, std::string channel)
      : stack_(stack), channel_(std::move(channel)), database_(loop_, options(stack)) {
    database_.listen(
        {channel_},
        [this](std::string_view, std::string_view payload) {
          payload == "mark" ? loop_.stop() : static_cast<void>(++count_);
        },
        [this] { loop_.stop(); });
    loop_.run();
  }

  // So far.
  int count() {
    stack_.sql().run_text("NOTIFY " + channel_ + ", 'mark'");
    loop_.run();
    return count_;
  }
  // Notifications are not waited for by answers: how many there are once there were so many.
  int wait_for(int min) {
    EXPECT_TRUE(eventually(10'000, [&] { return count() >= min; }));
    return count_;
  }

 private:
  static postgres::DatabaseOptions options(ApiStack& stack) {
    postgres::DatabaseOptions options;
    options.conninfo = stack.database().runner_url();
    return options;
  }

  ApiStack& stack_;
  std::string channel_;
  loop::Loop loop_;
  postgres::Database database_;
  int count_ = 0;
};

}  // namespace hostler::testing_support
