// How many workers the pool has on hosts of few and many cores.
#include "lib/config/worker_count.h"

#include <gtest/gtest.h>

namespace hostler::config {
namespace {

Settings with_workers(int64_t workers) {
  Settings settings;
  settings.set(find_setting("api.workers"), workers, SettingSource::file);
  return settings;
}

TEST(WorkerCount, FollowsTheCores) {
  EXPECT_EQ(worker_count(Settings(), 8), 8);
  EXPECT_EQ(worker_count(Settings(), 0), 1);
}

TEST(WorkerCount, EndsWhereTheSettingDoes) {
  // Two sockets of 192 cores, each with two threads.
  EXPECT_EQ(worker_count(Settings(), 768), 256);
}

TEST(WorkerCount, IsWhatTheOperatorSays) {
  EXPECT_EQ(worker_count(with_workers(3), 8), 3);
  EXPECT_EQ(worker_count(with_workers(256), 8), 256);
}

}  // namespace
}  // namespace hostler::config
