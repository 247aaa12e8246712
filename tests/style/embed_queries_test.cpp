// Tests what sql/embed_queries.py makes of statements, and which comments it refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

namespace fs = std::filesystem;
using testing_support::ProgramRun;
using testing_support::run_program;

class EmbedQueries : public testing::Test {
 protected:
  EmbedQueries() : folder_(fs::temp_directory_path() / ("embed-" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "sql/queries");
    std::ofstream(folder_ / "sql/VERSION") << "00007\n";
  }
  ~EmbedQueries() override { fs::remove_all(folder_); }

  ProgramRun run(const std::string& statements) {
    std::ofstream(folder_ / "sql/queries/topic.sql") << statements;
    return run_program({"sql/embed_queries.py", folder_ / "out", folder_ / "sql"});
  }
  // Why it is refused.
  std::string fault(const std::string& comment, const std::string& text) {
    ProgramRun refused = run("-- name: some_name\n" + comment + text + ";\n");
    EXPECT_EQ(refused.status, 1) << comment << refused.out;
    EXPECT_NE(refused.err.find("queries/topic.sql: some_name: "), std::string::npos) << refused.err;
    return refused.err;
  }
  std::string made(const std::string& header) {
    std::ifstream file(folder_ / "out" / header);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(EmbedQueries, MakesAConstantAndAStructOfEachStatement) {
  ProgramRun done =
      run("-- The topic.\n\n"
          "-- name: run_page\n-- A page: the newest first.\n"
          "-- $1 thread_id uuid, $2 status text or null (any, when null), $3 limit bigint,\n"
          "-- $4 run_ids uuid[] (of\n-- nobody)\n"
          "SELECT $1, $2,\n\n  $3 -- a remark\n  , $4, $1;\n\n"
          "-- name: run_notify\n-- Tells.\nSELECT 1;\n");
  EXPECT_EQ(done.status, 0) << done.err;
  std::string header = made("queries/topic.h");
  for (const char* part :
       {"inline constexpr postgres::Statement "
        "run_page{\"topic\", \"run_page\", R\"sql(SELECT $1, $2,\n"
        "  $3 -- a remark\n  , $4, $1)sql\", 4};\n",
        "struct RunPage {\n"
        "  static constexpr const postgres::Statement* statement = &run_page;\n"
        "  postgres::param::Uuid thread_id;\n"
        "  postgres::param::Optional<postgres::param::Text> status;\n"
        "  postgres::param::Integer limit;\n"
        "  postgres::param::Uuids run_ids;\n"
        "  operator postgres::BoundStatement() && "
        "{ return postgres::bound(run_page, {&thread_id, &status, &limit, &run_ids}); }\n"
        "};\n",
        "struct RunNotify {\n"
        "  static constexpr const postgres::Statement* statement = &run_notify;\n"
        "  operator postgres::BoundStatement() && { return postgres::bound(run_notify, {}); }\n"
        "};\n"}) {
    EXPECT_NE(header.find(part), std::string::npos) << part << "\nis not in\n" << header;
  }
  EXPECT_NE(made("queries/all.h").find("    &run_page,\n    &run_notify,\n"), std::string::npos);
  EXPECT_NE(made("schema_version.h").find("schema_version_expected = \"00007\";"),
            std::string::npos);
}

TEST_F(EmbedQueries, LeavesAHeaderAloneThatWouldNotChange) {
  ASSERT_EQ(run("-- name: one\n-- One.\nSELECT 1;\n").status, 0);
  fs::path header = folder_ / "out/queries/topic.h";
  fs::file_time_type before = fs::last_write_time(header) - std::chrono::hours(1);
  fs::last_write_time(header, before);
  ASSERT_EQ(run("-- name: one\n-- The same in other words.\nSELECT 1;\n").status, 0);
  EXPECT_EQ(fs::last_write_time(header), before);
  ASSERT_EQ(run("-- name: one\n-- One.\nSELECT 2;\n").status, 0);
  EXPECT_NE(fs::last_write_time(header), before);
}

TEST_F(EmbedQueries, RefusesParametersThatAreNotDescribedOrNotUsed) {
  EXPECT_NE(fault("-- One.\n", "SELECT $1").find("$1 is used, but not described"),
            std::string::npos);
  EXPECT_NE(fault("-- $1 a text\n", "SELECT $1, $2").find("$2 is used, but not described"),
            std::string::npos);
  EXPECT_NE(fault("-- $1 a text, $2 b text\n", "SELECT $1").find("$2 b is described, but not used"),
            std::string::npos);
}

TEST_F(EmbedQueries, RefusesWhatIsNoListOfParameters) {
  const std::pair<const char*, const char*> bad[] = {
      {"-- $1 a\n", "not of the form"},
      {"-- $1 A text\n", "not of the form"},
      {"-- $1 a text: words\n", "\", $\" is expected after $1"},
      {"-- $1 a text and b\n", "\", $\" is expected after $1"},
      {"-- $1 a text.\n-- More words.\n", "\", $\" is expected after $1"},
      {"-- $1 a text,\n", "\", $\" is expected after $1"},
      {"-- $2 a text\n", "stand on lines of their own"},
      {"-- $1 a text, $3 b text\n", "$2 is expected instead of $3"},
      {"-- $1 a text, $2 a text\n", "two parameters are named a"},
      {"-- $1 a txet\n", "unknown type txet"},
      {"-- Words. $1 a text\n", "stand on lines of their own"},
  };
  for (const auto& [comment, words] : bad) {
    std::string why = fault(comment, "SELECT $1");
    EXPECT_NE(why.find(words), std::string::npos) << comment << why;
  }
}

}  // namespace
}  // namespace hostler
