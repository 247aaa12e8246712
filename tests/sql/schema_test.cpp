// The schema as Postgres tells it: the one in the tree, and the one that an older installation
// becomes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "ctl/schema.h"
#include "lib/error.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* listing_file = "sql/schema.txt";

std::string listing_of(postgres::DbSession& session) {
  postgres::Result lines = session.run_text(read_text_file("tests/sql/data/schema_listing.sql"));
  std::string listing;
  for (int i = 0; i < lines.size(); ++i) listing += fmt::format("{}\n", lines[i].text("line"));
  return listing;
}

// The first lines that only one of two sorted listings has.
std::string difference(const std::string& left, const std::string& right) {
  std::string folder = testing::TempDir() + new_database_name();
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/left") << left;
  std::ofstream(folder + "/right") << right;
  ProgramRun run = run_program({"/usr/bin/diff", folder + "/left", folder + "/right"});
  std::filesystem::remove_all(folder);
  return run.out.substr(0, 2000);
}

// HOSTLER_SCHEMA_LISTING=write (make schema-listing) writes it again.
TEST(Schema, IsTheOneThatTheTreeLists) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  std::string listing = listing_of(session);
  const char* wish = std::getenv("HOSTLER_SCHEMA_LISTING");
  if (wish != nullptr && std::string_view(wish) == "write") std::ofstream(listing_file) << listing;
  EXPECT_EQ(difference(read_text_file(listing_file), listing), "")
      << "the schema changed: `make schema-listing`, and look at what git says";
}

// Postgres 18 has one of that name too, which an unqualified call would take.
TEST(Schema, NamesItsOwnUuidv7) {
  std::string text = whole_schema(schema_of_folder("sql"));
  for (const auto& file : std::filesystem::directory_iterator("sql/queries"))
    text += read_text_file(file.path());
  size_t calls = 0;
  for (size_t at = text.find("uuidv7()"); at != text.npos; at = text.find("uuidv7()", at + 1)) {
    std::string_view before = std::string_view(text).substr(0, at);
    if (before.ends_with("CREATE OR REPLACE FUNCTION ")) continue;
    EXPECT_TRUE(before.ends_with("public.")) << text.substr(before.rfind('\n') + 1, 100);
    ++calls;
  }
  EXPECT_GT(calls, 30U);
}

// migrate does not look into functions, since they may name each other in any order.
TEST(Schema, HasFunctionsThatPostgresFindsNoFaultWith) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  EXPECT_NO_THROW(session.run_text(functions_of(schema_of_folder("sql"))));
}

TEST(Schema, RepeatsEveryFunctionAndNothingElse) {
  Schema schema = schema_of_folder("sql");
  auto count = [](const std::string& text, std::string_view word) {
    int found = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++found;
    return found;
  };
  std::string all = whole_schema(schema);
  std::string functions = functions_of(schema);
  EXPECT_EQ(count(functions, "CREATE OR REPLACE FUNCTION"),
            count(all, "CREATE OR REPLACE FUNCTION"));
  EXPECT_EQ(count(all, "\nCREATE FUNCTION"), 0) << "migrate could not make it again";
  EXPECT_EQ(count(functions, "\nREVOKE EXECUTE"), count(all, "\nREVOKE EXECUTE"));
  for (const char* once : {"CREATE TABLE ", "CREATE INDEX ", "ALTER TABLE ", "CREATE TRIGGER "}) {
    EXPECT_EQ(count("\n" + functions, std::string("\n") + once), 0);
  }
}

}  // namespace
}  // namespace hostler
