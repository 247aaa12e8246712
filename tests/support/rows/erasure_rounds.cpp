// See tests/support/rows/erasure_rounds.h.
#include "tests/support/rows/erasure_rounds.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr const char* wait_over =
    "UPDATE threads SET updated_at = updated_at - interval '11 minutes' WHERE deleted_at IS NOT "
    "NULL; UPDATE threads_to_empty SET due_at = clock_timestamp(); UPDATE responses_to_empty SET "
    "due_at = clock_timestamp(); UPDATE attempts SET at = at - interval '2 days'; UPDATE runs SET "
    "ended_at = ended_at - interval '11 minutes' WHERE "
    "ended_at IS NOT NULL";
constexpr const char* left =
    "SELECT (SELECT count(*) FROM erasures WHERE due_at < clock_timestamp() + interval '1 hour') "
    "+ (SELECT count(*) FROM threads_to_empty) + (SELECT count(*) FROM responses_to_empty) "
    "+ (SELECT count(*) FROM endings)";

}  // namespace

void erase_all(ApiStack& stack) {
  EXPECT_TRUE(
      eventually(30'000,
                 [&] {
                   stack.sql().run_text(wait_over);
                   for (const char* page :
                        {"SELECT coalesce(string_agg(fault, ' '), '') FROM ending_continue(400)",
                         "SELECT coalesce(string_agg(fault, ' '), '') FROM erasures_page(100)",
                         "SELECT '' FROM auth_prune(200)", "SELECT '' FROM threads_empty(200)",
                         "SELECT '' FROM responses_empty(200)"}) {
                     for (int i = 0; i < 30; ++i) EXPECT_EQ(sql_value(stack, page), "") << page;
                   }
                   return sql_number(stack, left) == 0;
                 }))
      << sql_value(stack, "SELECT string_agg(e::text, ' ') FROM erasures e")
      << sql_value(stack, "SELECT string_agg(e::text, ' ') FROM endings e")
      << sql_value(stack, "SELECT count(*) FROM threads_to_empty");
}

std::string found_in_dump(ApiStack& stack, const std::string& text) {
  ProgramRun dump = run_program({"pg_dump", "--dbname=" + stack.database().superuser_url()});
  EXPECT_EQ(dump.status, 0) << dump.err;
  EXPECT_NE(dump.out.find("PostgreSQL database dump complete"), std::string::npos);
  std::string found;
  std::string table;
  std::istringstream lines(dump.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("COPY ")) table = line.substr(0, 60);
    size_t at = line.find(text);
    if (at == line.npos) continue;
    found += table + ": …" + line.substr(at < 80 ? 0 : at - 80, 200) + "\n";
  }
  return found;
}

}  // namespace hostler::testing_support
