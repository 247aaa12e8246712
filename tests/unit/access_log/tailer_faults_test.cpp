// The access log's reader when the connection to Postgres breaks around its commits, and when a
// line holds what no column takes: each line is in the table once, and the files are gone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/loop/task_set.h"
#include "runner/access_log/tailer.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler::runner {
namespace {

using namespace testing_support;

std::string line_of(const std::string& path, const std::string& status = "200") {
  return fmt::format(
      R"({{"end":"1763673000.5","took":"0.1","status":"{}","method":"GET","uri":"{}",)"
      R"("request_id":"x","peer":"192.0.2.1","user_agent":"x","authorization":""}})"
      "\n",
      status, path);
}

Task<void> come_true(loop::Loop& loop, std::function<bool()> condition) {
  for (;;) {
    if (condition()) co_return;
    co_await loop::sleep_ms(loop, 20);
  }
}

class AccessLogFaults : public testing::Test {
 protected:
  AccessLogFaults() : folder_(testing::TempDir() + "log-" + to_hex(random_bytes(6))) {
    std::filesystem::create_directories(folder_);
    AccessLogOptions options;
    options.host = "here";
    options.folder = folder_;
    options.quiet_ms = 0;
    options.gateway = [] { return std::make_shared<const client::Gateway>(config::Settings()); };
    tailer_.emplace(loop_, db_, std::move(options));
  }
  ~AccessLogFaults() override { std::filesystem::remove_all(folder_); }

  postgres::DatabaseOptions through_the_line() {
    postgres::DatabaseOptions options;
    options.conninfo = postgres::conninfo_with(database_.runner_url(), {{"host", proxy_.folder()}});
    options.application_name = "access log";
    options.answer_timeout_ms = 1000;
    return options;
  }
  // Nobody will write to it again.
  void finished_file(int number, const std::string& lines) {
    std::string path = fmt::format("{}/access-{:04}.json", folder_, number);
    std::ofstream(path) << lines;
  }
  // Until nothing is left to be read.
  void tail_all() {
    loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr failure) {
      ADD_FAILURE() << loop::cause_of(failure);
    });
    tasks.add("tailer", tailer_->run());
    run_task(loop_, come_true(loop_, [this] {
               for (const auto& file : std::filesystem::directory_iterator(folder_)) {
                 if (file.path().extension() == ".json") return false;
               }
               return true;
             }));
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }

  TestDatabase database_;
  FaultyProxy proxy_{database_.socket()};
  loop::Loop loop_;
  postgres::Database db_{loop_, through_the_line()};
  std::string folder_;
  std::optional<AccessLogTailer> tailer_;
};

TEST_F(AccessLogFaults, AroundACommitLoseAndDuplicateNothing) {
  constexpr int files = 40;
  for (int file = 0; file < files; ++file) {
    std::string lines;
    for (int i = 0; i < 10; ++i) lines += line_of(fmt::format("/{}/{}", file, i));
    finished_file(file, lines);
  }
  // The answer to an append is one row; it is sent when the append is committed.
  std::string answered("C\0\0\0\rSELECT 1\0", 14);
  std::string asked = "access_log_append";
  proxy_.arm({FaultKind::cut, LineEnd::server, answered});
  proxy_.arm({FaultKind::cut, LineEnd::server, answered, 5});
  proxy_.arm({FaultKind::half_open, LineEnd::server, answered});
  proxy_.arm({FaultKind::reset, LineEnd::server, answered});
  proxy_.arm({FaultKind::cut, LineEnd::client, asked});
  proxy_.arm({FaultKind::swallow, LineEnd::client, asked, 3});
  proxy_.arm({FaultKind::delay, LineEnd::server, answered, 0, 200});
  tail_all();
  EXPECT_EQ(proxy_.faults(), 7);
  EXPECT_EQ(ask("SELECT count(*) || ' ' || count(DISTINCT path) FROM access_log"), "400 400");
}

TEST_F(AccessLogFaults, OfALineKeepItOutAndNothingElse) {
  finished_file(
      0, line_of("/before") + line_of("/bad", "99999999999") + "no JSON\n" + line_of("/behind"));
  finished_file(1, line_of("/next"));
  tail_all();
  EXPECT_EQ(ask("SELECT string_agg(path, ' ' ORDER BY id) FROM access_log"),
            "/before /behind /next");
  EXPECT_EQ(tailer_->lines(), 5);
  EXPECT_EQ(tailer_->lines_skipped(), 2);
}

}  // namespace
}  // namespace hostler::runner
