// Tests what waits for the database in nginx's folder, and what of it goes when it grows too long.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runner/access_log/log_folder.h"

namespace hostler::runner {
namespace {

class Backlog : public testing::Test {
 protected:
  Backlog() {
    char name[] = "/tmp/hostler-backlog-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Backlog() override { std::filesystem::remove_all(folder_); }
  void add(int second, size_t bytes, bool is_finished = true) {
    LogFile file;
    file.path = folder_ + "/access-" + std::to_string(second) + ".json";
    file.bytes = static_cast<int64_t>(bytes);
    file.is_finished = is_finished;
    std::ofstream(file.path) << std::string(bytes, 'x');
    struct stat made {};
    stat(file.path.c_str(), &made);
    file.inode = made.st_ino;
    files_.push_back(std::move(file));
  }
  bool is_there(int second) const {
    return std::filesystem::exists(folder_ + "/access-" + std::to_string(second) + ".json");
  }

  std::string folder_;
  std::vector<LogFile> files_;
};

TEST_F(Backlog, OfNoMoreThanItsBoundIsLeftAlone) {
  for (int second = 1; second <= 3; ++second) add(second, 100);
  EXPECT_EQ(drop_backlog(files_, 300), 0);
  EXPECT_EQ(files_.size(), 3u);
  EXPECT_TRUE(is_there(1));
}

TEST_F(Backlog, BeyondItsBoundLosesItsOldestFiles) {
  for (int second = 1; second <= 5; ++second) add(second, 100);
  testing::internal::CaptureStderr();
  EXPECT_EQ(drop_backlog(files_, 299), 300);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("access_log_backlog_dropped"),
            std::string::npos);
  ASSERT_EQ(files_.size(), 2u);
  EXPECT_TRUE(files_.front().path.ends_with("access-4.json"));
  EXPECT_FALSE(is_there(1) || is_there(2) || is_there(3));
  EXPECT_TRUE(is_there(4) && is_there(5));
}

TEST_F(Backlog, KeepsWhatNginxStillWrites) {
  add(1, 100, false);
  add(2, 100, false);
  EXPECT_EQ(drop_backlog(files_, 50), 0);
  EXPECT_TRUE(is_there(1) && is_there(2));
}

TEST_F(Backlog, KeepsAFileThatGrewBehindItsListing) {
  add(1, 100);
  std::ofstream(files_.front().path, std::ios::app) << "more";
  EXPECT_FALSE(remove_log_file(files_.front()));
  EXPECT_EQ(drop_backlog(files_, 50), 0);
  EXPECT_TRUE(is_there(1));
}

// Steps the wall clock by an hour, and with it the times of files.
TEST_F(Backlog, IsFinishedWhenNothingChangedForLongWhateverTheWallClockSays) {
  QuietFiles quiet(10'000);
  add(1, 100);
  auto finished_at = [&](int64_t now_ms) {
    std::vector<LogFile> files = list_log_files(folder_);
    quiet.mark(files, now_ms);
    return files.size() == 1 && files.front().is_finished;
  };
  std::string path = files_.front().path;
  auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(path, now - std::chrono::hours(1));
  EXPECT_FALSE(finished_at(0)) << "seen for the first time";
  EXPECT_FALSE(finished_at(9'999));
  std::ofstream(path, std::ios::app) << "more";
  std::filesystem::last_write_time(path, now + std::chrono::hours(1));
  EXPECT_FALSE(finished_at(10'000)) << "it grew";
  EXPECT_FALSE(finished_at(19'999));
  EXPECT_TRUE(finished_at(20'000));
  // Another file under its name.
  std::string text = std::string(104, 'y');
  std::filesystem::rename(path, folder_ + "/gone");
  std::ofstream(path) << text;
  EXPECT_FALSE(finished_at(20'001));
}

}  // namespace
}  // namespace hostler::runner
