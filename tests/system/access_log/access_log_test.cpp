// The access log while the daemon that writes it is killed, and while nginx answers as fast as it
// can: no line is lost, none is doubled.
//
// ACCESS_LOG_BURST_SECONDS (2; the long form 10) is how long wrk asks.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/postgres/session.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/logged_load.h"
#include "tests/support/rigs/private_stack.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using namespace testing_support;

TEST(AccessLog, LosesAndDuplicatesNoLineWhenTheDaemonIsKilled) {
  PrivateStack& stack = PrivateStack::shared();
  LoggedLoad load(stack);
  for (int i = 0; i < 5; ++i) {
    load.wait_for_more(100);
    kill(stack.pid("RUNNER_PIDS"), SIGKILL);
    stack.up();
  }
  load.wait_for_more(100);
  load.end();
  EXPECT_EQ(load.rows(), load.wanted());
}

// Requests that nginx answers alone, each with a number in its path; says how many were answered.
constexpr const char* burst_script = R"(
local threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end
function init(args) mark = args[1]; count = 0 end
function request()
  count = count + 1
  return wrk.format("GET", "/_problem/" .. mark .. "/" .. number .. "/" .. count)
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("answered %d broken %d in_us %d\n", summary.requests,
                         e.connect + e.read + e.write + e.timeout, summary.duration))
end
)";

TEST(AccessLog, LosesNoLineOfABurst) {
  constexpr int connections = 32;
  PrivateStack& stack = PrivateStack::shared();
  const char* seconds = std::getenv("ACCESS_LOG_BURST_SECONDS");
  std::string mark = to_hex(random_bytes(6));
  std::string script = testing::TempDir() + mark + ".lua";
  std::ofstream(script) << burst_script;
  ProgramRun run = run_program({"/usr/bin/wrk", "-t", "2", "-c", std::to_string(connections), "-d",
                                std::string(seconds == nullptr ? "2" : seconds) + "s", "-s", script,
                                stack.env("BASE_URL"), "--", mark});
  ASSERT_EQ(run.status, 0) << run.err;
  int answered = 0;
  int broken = 0;
  long long duration_us = 0;
  size_t at = run.out.find("answered ");
  ASSERT_NE(at, run.out.npos) << run.out;
  ASSERT_EQ(std::sscanf(run.out.c_str() + at, "answered %d broken %d in_us %lld", &answered,
                        &broken, &duration_us),
            3);
  EXPECT_EQ(broken, 0);
  ASSERT_GT(answered, 1000);
  fmt::print("{} requests in {} ms: {}/s\n", answered, duration_us / 1000,
             answered * 1'000'000LL / duration_us);

  postgres::DbSession sql(stack.env("DATABASE_URL"), "test");
  int64_t begin_ms = monotonic_ms();
  sql.run_text(fmt::format(
      "CREATE TEMP VIEW line AS SELECT split_part(path, '/', 4) AS thread, status_code, "
      "split_part(path, '/', 5)::integer AS number FROM access_log WHERE starts_with(path, "
      "'/_problem/{}/')",
      mark));
  std::string all_there = fmt::format("SELECT count(*) >= {} FROM line", answered);
  EXPECT_EQ(comes_to(sql, all_there, "t"), "t");
  fmt::print("all of them in the table {} ms later\n", monotonic_ms() - begin_ms);
  EXPECT_EQ(comes_to(sql,
                     "SELECT count(*) - count(DISTINCT (thread, number)) || ' ' || "
                     "count(*) FILTER (WHERE status_code <> 404) FROM line",
                     "0 0"),
            "0 0")
      << "doubled, or not what nginx says";
  // wrk asks its script once without sending it, and does not wait for its last answers.
  std::string missing = fmt::format(
      "SELECT sum(newest - {0} - 1 - found) FROM (SELECT newest, count(*) FILTER (WHERE number "
      "BETWEEN 2 AND newest - {0}) AS found FROM (SELECT thread, number, max(number) OVER "
      "(PARTITION BY thread) AS newest FROM line) AS l GROUP BY thread, newest) AS of_thread",
      connections);
  EXPECT_EQ(comes_to(sql, missing, "0"), "0");
  std::string surplus = fmt::format("SELECT count(*) - {} <= {} FROM line", answered, connections);
  EXPECT_EQ(comes_to(sql, surplus, "t"), "t");
  std::remove(script.c_str());
}

}  // namespace
}  // namespace hostler
