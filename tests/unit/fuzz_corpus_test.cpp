// The inputs that the fuzzers kept, among them all that ever broke something, tried once more: the
// properties hold for each of them without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class FuzzCorpus : public testing::TestWithParam<TargetRow> {};

TEST_P(FuzzCorpus, KeepsItsProperties) {
  const std::filesystem::path folder = std::filesystem::path("tests/fuzz/corpus") / GetParam().name;
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder;
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::string input = bytes_of(entry.path());
    EXPECT_NO_THROW(GetParam().function(input));
    EXPECT_NO_THROW(GetParam().function(std::string_view(input).substr(0, input.size() / 2)));
    ++inputs;
  }
  EXPECT_GE(inputs, 5) << "a target is tried with inputs that reach its parts";
  EXPECT_NO_THROW(GetParam().function(std::string_view()));
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, testing::ValuesIn(targets),
                         [](const auto& row) { return std::string(row.param.name); });

// A property that does not hold is seen.
TEST(FuzzCorpusCheck, SeesABrokenProperty) {
  EXPECT_THROW(require(false, "nothing"), Broken);
  EXPECT_NO_THROW(require(true, "nothing"));
  EXPECT_THROW(refusal_of([] { throw Broken("not ours"); }), Broken);
  EXPECT_TRUE(refusal_of([] { throw Error(ErrorCode::http_bad_request); }));
}

}  // namespace
}  // namespace hostler::fuzz
