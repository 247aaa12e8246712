// docs/api.md against docs/openapi.yaml, from which it is made, and faults that the build refuses.
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

TEST(OpenApiToJson, RefusesATextThatACommaCuts) {
  std::string path = fmt::format("{}cut-{}.yaml", testing::TempDir(), getpid());
  std::ofstream(path) << "name: {type: string, description: Of the text, before it is packed.}\n";
  ProgramRun run = run_program(
      {"/usr/bin/python3", "docs/openapi_to_json.py", path, path + ".json", path + ".h"});
  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.err.find("a comma cuts a text before 'before it is packed.'"), std::string::npos)
      << run.err;
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hostler::style
