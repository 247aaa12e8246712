// Shows of each style rule, on made-up text, that it finds what it is for and passes what is good.
#include <gtest/gtest.h>

#include <string>

#include "tests/style/rules.h"

namespace hostler::style {
namespace {

struct Sample {
  std::string_view rule;
  std::string path;
  std::string bad;
  std::string good;
};

std::string many_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "x\n";
  return text;
}

std::vector<Sample> samples() {
  return {
      {"long_file", "lib/a.cpp", many_lines(401), many_lines(400)},
      {"long_line", "lib/a.cpp", std::string(101, 'x'), std::string(100, 'x')},
      {"long_line", "lib/a.cpp",
       "// clang-format off\n// clang-format on\n" + std::string(101, 'x'),
       "// clang-format off\n" + std::string(160, 'x')},
      {"long_line", "sql/a.sql", std::string(121, 'x'), std::string(120, 'x')},
      {"no_promise", "lib/a.h", "#pragma once\n", "// Counts the open streams of one daemon.\n"},
      {"no_promise", "sql/a.sql", "SELECT 1;\n", "-- The tables of threads; locks nothing.\n"},
      {"no_promise", "tests/a.sh", "#!/bin/sh\nset -e\n",
       "#!/bin/sh\n# Asks every route once, by curl.\n"},
      {"no_promise", "nginx/render", "#!/bin/sh\nset -e\n",
       "#!/bin/sh\n# Fills in the site's paths.\n"},
      {"open_mark", "lib/a.cpp", "// TODO: later\n", "// TODO(perf): one look-up less\n"},
      {"open_mark", "lib/a.cpp", "int x;  // FIXME\n", "std::string word = \"FIXME\";\n"},
      {"open_mark", "sql/a.sql", "-- FIXME\n", "-- fixed\n"},
      {"banner", "lib/a.cpp", "// ==========\n", "// Equal: ==\n"},
      {"sql_in_string", "fcgi/a.cpp", "query(\"SELECT 1\");",
       "// \"SELECT 1\"\nmethod(\"DELETE\");"},
      {"sql_in_string", "ctl/a.cpp", "run(R\"(\n  INSERT INTO a VALUES (1))\");",
       "say(\"Select one\");"},
      {"sql_in_string", "ctl/a.cpp", "run(\"GRANT a TO b\");",
       "say(\"then: \"\n    \"GRANT a TO b\");"},
      {"sql_in_string", "fcgi/a.cpp", "run(\"BEGIN\");", "say(\"beginning\");"},
      {"wrong_arrow", "fcgi/a.cpp", "#include \"runner/agent/run_queue.h\"\n",
       "#include \"lib/postgres/database.h\"\n"},
      {"wrong_arrow", "runner/a.cpp", "#include \"sse-relay/stream_server.h\"\n",
       "#include \"queries/runs.h\"\n"},
      {"wrong_arrow", "runner/events/a.h", "#include \"runner/agent/run_queue.h\"\n",
       "#include \"runner/steps/claim.h\"\n"},
      {"wrong_arrow", "lib/a.cpp", "#include \"fcgi/http/request.h\"\n",
       "#include \"lib/error.h\"\n"},
      {"wrong_arrow", "lib/net/a.cpp", "#include \"lib/http/client.h\"\n",
       "#include \"lib/loop/task.h\"\n"},
      {"foreign_header", "fcgi/a.cpp", "#include <rapidjson/reader.h>\n", "#include <string>\n"},
      {"foreign_header", "lib/loop/a.cpp", "#include <curl/curl.h>\n", "#include <uv.h>\n"},
      {"foreign_header", "runner/a.cpp", "#include <libpq-fe.h>\n", "#include <fmt/format.h>\n"},
      {"banned_call", "lib/a.cpp", "int n = std::stoi(text);", "Task<void> sleep(int ms);"},
      {"banned_call", "lib/a.cpp", "return system(command);", "shell.system(command);"},
      {"banned_call", "tests/a.cpp", "std::this_thread::sleep_for(second);", "// sleep(1)\n"},
      {"misplaced_catch", "fcgi/a.cpp", "try { f(); } catch (const Error& e) {}",
       "// catch\nint catch_count = 0;"},
      {"await_form", "fcgi/a.cpp", "{ auto [a, b] = co_await f(); }",
       "{ Row row = co_await f(a, b[1]); }"},
      {"await_form", "fcgi/a.cpp", "{ Row row = co_await f(Key{1}); }",
       "{ co_await f(std::move(key)); }"},
      {"await_form", "fcgi/a.cpp", "{ Row row = co_await f(a ? b : c); }",
       "{ row = co_await f(); }"},
      {"await_form", "fcgi/a.cpp", "{ g(co_await f()); }", "{ if (!ready(a)) co_await f(); }"},
      {"await_form", "fcgi/a.cpp", "{ while (co_await f()) g(); }",
       "{ while (is_full(a)) co_await f(); }"},
      {"await_form", "fcgi/a.cpp", "{ if (co_await f()) g(); }",
       "{ bool ok = co_await f(); if (ok) g(); }"},
      {"await_form", "fcgi/a.cpp", "{ co_return co_await f(); }",
       "{ Row row = co_await f(); co_return row; }"},
      {"await_form", "fcgi/a.cpp", "{ int a = co_await f() + co_await g(); }",
       "auto operator co_await() {}"},
      {"capturing_coroutine", "fcgi/a.cpp", "auto f = [&a]() -> Task<void> { co_await g(a); };",
       "auto f = [](A& a) -> Task<void> { co_await g(a); }; row[i] = 1;"},
      {"empty_name", "lib/string_util.cpp", "", "std::string utility_bill;"},
      {"empty_name", "lib/a.h", "class RunManager {};",
       "class RunQueue { const char* data() const; };"},
      {"empty_name", "lib/a.h", "void process_run(int id);", "void run_process_count_is_fine;"},
      {"own_wait", "tests/api/a_test.cpp", "while (told(user).limit != 6000) {\n  }",
       "while (read(fd, bytes) > 0) count();"},
      {"own_wait", "tests/api/a_test.cpp", "while (id == \"0\") id = ask(question);",
       "while (at != npos) at = text.find(word, at + 1);"},
      {"own_wait", "tests/api/a_test.cpp", "while (n < 3 && monotonic_ms() < end_ms) ask();",
       "while (monotonic_ms() < end_ms) poll(&fds, 1, 20);"},
      {"own_wait", "tests/sql/a_test.cpp", "while (notified == 0) loop.run_once();",
       "for (int i = 0; i < 3; ++i) loop.run_once();"},
      {"own_wait", "tests/api/a_test.cpp", "for (; sql_number(stack, open) > 0;) ask();",
       "EXPECT_TRUE(eventually(1000, [&] { return sql_number(stack, open) == 0; }));"},
      {"blind_pause", "tests/api/a_test.cpp", "let_pass(500);", "// let_pass(500)"},
      {"blind_pause", "tests/support/a.cpp", "poll(nullptr, 0, 500);", "poll(&fds, 1, 500);"},
      {"no_claim", "tests/api/a_test.cpp", "TEST(A, Works) {\n  if (true) ask();\n}",
       "TEST(A, Works) {\n  if (true) EXPECT_EQ(ask(), 1);\n}"},
      {"name_form", "lib/a.h", "struct run_row {};", "struct pg_result;\nstruct RunRow {};"},
      {"name_form", "lib/RunRow.h", "", "struct RunRow {};"},
      {"retired_word", "lib/a.h", "void next_bell();", "// bell\nvoid next_notification();"},
      {"retired_word", "lib/a.h", "class OutboundDoor;", "class EgressProxy;"},
      {"opened_group", "docs/a.conf", "# a web server, adduser www-data hostler\n",
       "# a web server, setfacl -m u:www-data:rw socket\n"},
      {"retired_word", "sql/queries/a.sql", "-- name: a\nSELECT bell();",
       "-- name: a\n-- bell\nSELECT 1;"},
  };
}

const Rule* rule_named(std::string_view name) {
  for (const Rule& rule : rules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

TEST(StyleRules, FindTheBadFormAndLetTheGoodOnePass) {
  for (const Sample& sample : samples()) {
    const Rule* rule = rule_named(sample.rule);
    ASSERT_NE(rule, nullptr) << sample.rule;
    SourceFile bad{sample.path, sample.bad};
    EXPECT_FALSE(rule->check(bad).empty()) << sample.rule << " misses: " << sample.bad;
    bool path_is_bad = sample.bad.empty();
    SourceFile good{path_is_bad ? "lib/run_row.h" : sample.path, sample.good};
    EXPECT_TRUE(rule->check(good).empty()) << sample.rule << " refuses: " << sample.good;
  }
}

TEST(StyleRules, HaveASampleEach) {
  for (const Rule& rule : rules) {
    bool has_sample = false;
    for (const Sample& sample : samples()) has_sample = has_sample || sample.rule == rule.name;
    EXPECT_TRUE(has_sample) << rule.name;
  }
}

TEST(StyleText, PartsCodeFromStringsAndComments) {
  CppText parts = take_apart(
      "int a = 1'000;  // one\nf(\"two \\\" x\", R\"(three)\", '\"'); /* four\n */ g();\n");
  ASSERT_EQ(parts.strings.size(), 2u);
  EXPECT_EQ(parts.strings[0].text, "two \\\" x");
  EXPECT_EQ(parts.strings[1].text, "three");
  ASSERT_EQ(parts.comments.size(), 2u);
  EXPECT_EQ(parts.comments[1].line, 2);
  EXPECT_NE(parts.code.find("g();"), std::string::npos);
  EXPECT_EQ(parts.code.find("four"), std::string::npos);
}

}  // namespace
}  // namespace hostler::style
