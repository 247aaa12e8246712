// web_search.beta against the real thing: Debian's searx on loopback, offline, with one engine that
// searches a small SQLite file. Skipped, and said so, where the package searx is not installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr const char* searx_run = "/usr/bin/searx-run";

void write_pages(const std::string& file) {
  const std::string script =
      "import sqlite3, sys\n"
      "db = sqlite3.connect(sys.argv[1])\n"
      "db.execute('CREATE TABLE pages (url TEXT, title TEXT, content TEXT)')\n"
      "db.executemany('INSERT INTO pages VALUES (?, ?, ?)', [\n"
      "  (f'https://example.org/{n}', f'Red panda {n}', f'What is known: 世界 {n}')\n"
      "  for n in range(1, 8)])\n"
      "db.commit()\n";
  ProgramRun run = run_program({"/usr/bin/python3", "-c", script, file});
  ASSERT_EQ(run.status, 0) << run.err;
}

void write_settings(const std::string& file, int port, const std::string& pages) {
  std::ofstream(file) << fmt::format(
      R"(general: {{debug: false, instance_name: test}}
search: {{safe_search: 0, autocomplete: "", default_lang: "", formats: [html, json]}}
server: {{port: {}, bind_address: 127.0.0.1, secret_key: for tests, base_url: false,
  image_proxy: false, http_protocol_version: "1.0", method: GET}}
ui: {{static_path: /usr/share/python3-searx/static,
  templates_path: /usr/share/python3-searx/templates, default_theme: oscar,
  default_locale: "", theme_args: {{oscar_style: logicodev}}}}
outgoing: {{request_timeout: 2.0, useragent_suffix: "", pool_connections: 10, pool_maxsize: 10,
  enable_http2: false}}
locales: {{en: English}}
doi_resolvers: {{none: "http://127.0.0.1:1/"}}
default_doi_resolver: none
engines:
  - name: pages
    engine: sqlite
    shortcut: p
    categories: general
    database: {}
    result_template: default.html
    query_str: "SELECT url, title, content FROM pages WHERE title LIKE '%' || :query || '%'"
)",
      port, pages);
}

TEST(Searx, AnswersTheSearchesOfARun) {
  if (access(searx_run, X_OK) != 0) {
    GTEST_SKIP() << "searx is not installed: apt-get install --no-install-recommends searx";
  }
  ApiStack stack(ApiStackOptions{{}, true});
  add_fake_model(stack);
  int port = free_port();
  write_pages(stack.folder() + "/pages.db");
  write_settings(stack.folder() + "/searx.yml", port, stack.folder() + "/pages.db");
  Child searx({{"/usr/bin/python3", searx_run},
               {"SEARX_SETTINGS_PATH=" + stack.folder() + "/searx.yml", "HOME=" + stack.folder()},
               stack.folder() + "/searx.log",
               false});
  std::string url = fmt::format("http://127.0.0.1:{}", port);
  auto answers = [&url] {
    return run_program({"/usr/bin/curl", "-s", "-f", "-o", "/dev/null", url}).status == 0;
  };
  EXPECT_TRUE(eventually(30'000, [&] { return answers() || !searx.is_running(); }));
  ASSERT_TRUE(searx.is_running()) << read_text_file(stack.folder() + "/searx.log");
  TestUser admin = register_admin(stack);
  const std::string beta = "/v1/tool-providers/web_search/web_search.beta/";
  std::string place = fmt::format(R"({{"base_url":"{}"}})", url);
  ASSERT_EQ(admin.client.put(beta + "credential", place).status, 204);
  ASSERT_EQ(admin.client.put(beta + "activate", "").status, 204);

  TestUser user = register_user(stack);
  RunStory story =
      run_story(user.client, R"([tool web_search {"query":"panda","max_results":3}] [say found])");
  EXPECT_EQ(story.status, "completed");
  std::string result = story.result();
  EXPECT_NE(result.find("https://example.org/3"), std::string::npos) << result;
  EXPECT_NE(result.find("What is known: 世界 1"), std::string::npos) << result;
  EXPECT_EQ(result.find("Red panda 4"), std::string::npos) << "as many as were asked for";
  RunStory none = run_story(user.client, R"([tool web_search {"query":"unheard of"}] [say none])");
  EXPECT_EQ(none.outcomes(), std::vector<std::string>{"ok"});
}

}  // namespace
}  // namespace hostler::testing_support
