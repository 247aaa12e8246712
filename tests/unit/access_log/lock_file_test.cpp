// A file that one process has locked, and the id in it: the same for whoever has the lock later on
// this host and boot, and nobody else's.
#include "runner/access_log/lock_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hostler::runner {
namespace {

class LockFileTest : public ::testing::Test {
 protected:
  LockFileTest() {
    folder_ = std::filesystem::temp_directory_path().string() + "/lock-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make " + folder_);
  }
  ~LockFileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  static std::string id_of(const std::string& path, std::optional<std::string> boot) {
    LockFile lock(path, std::move(boot));
    return lock.take() ? lock.id() : "taken";
  }
  std::string folder_;
};

TEST_F(LockFileTest, IsHeldByOne) {
  std::string path = folder_ + "/a.lock";
  {
    LockFile first(path, "boot");
    ASSERT_TRUE(first.take());
    EXPECT_TRUE(first.take());
    LockFile second(path, "boot");
    EXPECT_FALSE(second.take());
    EXPECT_EQ(second.fault(), "");
  }
  EXPECT_NE(id_of(path, "boot"), "taken");
  LockFile nowhere(folder_ + "/nowhere/a.lock", "boot");
  EXPECT_FALSE(nowhere.take());
  EXPECT_EQ(nowhere.fault(), "No such file or directory");
}

TEST_F(LockFileTest, TellsASuccessorTheSameId) {
  std::string path = folder_ + "/a.lock";
  std::string id = id_of(path, "boot");
  EXPECT_EQ(id.size(), 32u);
  EXPECT_EQ(id_of(path, "boot"), id);
  EXPECT_NE(id_of(folder_ + "/b.lock", "boot"), id);
}

// A copy of a disk, of an image, of a folder: the holder of a lock on the copy proves nothing.
TEST_F(LockFileTest, MakesANewIdOfACopy) {
  std::string path = folder_ + "/a.lock";
  std::string id = id_of(path, "boot");
  std::filesystem::copy_file(path, folder_ + "/copy.lock");
  EXPECT_NE(id_of(folder_ + "/copy.lock", "boot"), id);
  EXPECT_NE(id_of(path, "the copied machine's boot"), id);
}

TEST_F(LockFileTest, MakesANewIdOfWhatIsNone) {
  std::string path = folder_ + "/a.lock";
  std::string id = id_of(path, "boot");
  std::string text;
  std::getline(std::ifstream(path), text);
  for (const std::string& spoilt : {std::string(), text.substr(0, 20), "x" + text.substr(1) + "\n",
                                    text + "\n" + text + "\n", std::string(2000, 'a')}) {
    std::ofstream(path, std::ios::trunc) << spoilt;
    std::string made = id_of(path, "boot");
    EXPECT_EQ(made.size(), 32u);
    EXPECT_NE(made, id) << spoilt;
    EXPECT_EQ(id_of(path, "boot"), made);
  }
}

// The access log's: it outlives boots, and its folder may be moved.
TEST_F(LockFileTest, KeepsAnIdThatIsBoundToNoBoot) {
  std::string id = id_of(folder_ + "/a.lock", std::nullopt);
  std::filesystem::copy_file(folder_ + "/a.lock", folder_ + "/b.lock");
  EXPECT_EQ(id_of(folder_ + "/b.lock", std::nullopt), id);
}

TEST_F(LockFileTest, KnowsTheBootOfThisHost) {
  std::string boot = boot_of_host();
  EXPECT_EQ(boot.size(), 36u) << boot;
  EXPECT_EQ(boot_of_host(), boot);
}

}  // namespace
}  // namespace hostler::runner
