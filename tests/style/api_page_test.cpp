// docs/api.md against docs/openapi.yaml, from which it is made.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "tests/support/rigs/run_program.h"

namespace hostler::style {
namespace {

using testing_support::ProgramRun;
using testing_support::run_program;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(ApiPage, SaysWhatTheDocumentSays) {
  std::string made = fmt::format("{}api-{}.md", testing::TempDir(), getpid());
  ProgramRun run =
      run_program({"/usr/bin/python3", "docs/openapi_to_md.py", "docs/openapi.yaml", made});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(file_text(made) == file_text("docs/api.md")) << "run: make api-doc";
  std::remove(made.c_str());
}

}  // namespace
}  // namespace hostler::style
