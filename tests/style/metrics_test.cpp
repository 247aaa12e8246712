// The metrics: what the dashboard, the alert rules and the manual name exists, every metric is
// shown somewhere, and Prometheus finds nothing to mend. Runs the programs with --metrics.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "tests/style/contract.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::style {
namespace {

using testing_support::build_folder;
using testing_support::run_program;

constexpr const char* dashboard = "docs/monitoring/grafana-dashboard.json";
constexpr const char* alerts = "docs/monitoring/alerts.yml";
constexpr const char* cases = "tests/style/alert_cases.yml";

std::string printed() {
  return run_program({build_folder() + "/hostler-api", "--metrics"}).out +
         run_program({build_folder() + "/hostler-runner", "--metrics"}).out;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Every word of the form hostler_…, as far as it goes.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  for (size_t at = text.find("hostler_"); at != text.npos; at = text.find("hostler_", at + 1)) {
    bool is_begin = at == 0 || (std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0 &&
                                text[at - 1] != '_');
    size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at);
    if (is_begin) names.insert(text.substr(at, end == text.npos ? end : end - at));
  }
  return names;
}

// Names in Prometheus: a histogram has three.
std::set<std::string> metrics() {
  std::set<std::string> names;
  std::string text = printed();
  for (size_t at = text.find("# TYPE "); at != text.npos; at = text.find("# TYPE ", at + 1)) {
    size_t begin = at + 7;
    size_t blank = text.find(' ', begin);
    std::string name = text.substr(begin, blank - begin);
    bool is_histogram = text.compare(blank + 1, 9, "histogram") == 0;
    if (!is_histogram) names.insert(name);
    if (is_histogram) names.insert({name + "_bucket", name + "_sum", name + "_count"});
  }
  EXPECT_GT(names.size(), 40u) << text;
  return names;
}

TEST(Metrics, ThatDashboardAndAlertsNameExist) {
  std::set<std::string> there = metrics();
  for (const char* path : {dashboard, alerts}) {
    std::set<std::string> named = names_in(file_text(path));
    EXPECT_GT(named.size(), 8u) << path;
    for (const std::string& name : named) EXPECT_TRUE(there.contains(name)) << path << ": " << name;
  }
}

TEST(Metrics, AreAllShownOnTheDashboard) {
  std::set<std::string> shown = names_in(file_text(dashboard));
  for (const std::string& name : metrics()) {
    if (name.ends_with("_sum") || name.ends_with("_count")) continue;
    EXPECT_TRUE(shown.contains(name)) << name;
  }
}

TEST(Alerts, AreAllInTheManual) {
  std::string manual = file_text("docs/operations.md");
  std::string rules = file_text(alerts);
  int count = 0;
  for (size_t at = rules.find("alert: "); at != rules.npos; at = rules.find("alert: ", at + 1)) {
    std::string name = rules.substr(at + 7, rules.find('\n', at) - at - 7);
    EXPECT_NE(manual.find(name), manual.npos) << name;
    ++count;
  }
  EXPECT_GT(count, 8);
}

// increase() of a counter whose first sample is its first event is nothing.
TEST(Alerts, OfACounterHaveItsZero) {
  std::string text = printed();
  for (const char* series : {"hostler_runner_runs_failed_total{code=\"run.crashed\"} 0\n",
                             "hostler_runner_runs_failed_total{code=\"internal.error\"} 0\n",
                             "hostler_api_background_dropped_total{what=\"denial\"} 0\n",
                             "hostler_api_background_dropped_total{what=\"rate_limit\"} 0\n",
                             "hostler_runner_denials_dropped_total 0\n"}) {
    EXPECT_NE(text.find(series), text.npos) << series;
  }
}

// A failure that the API has a word for is not one of the others.
TEST(Metrics, TellFailedRunsByTheirCodes) {
  std::string text = printed();
  std::string openapi = file_text("docs/openapi.yaml");
  constexpr std::string_view listed = "x-run-codes: [";
  std::set<std::string> codes;
  for (size_t at = openapi.find(listed); at != openapi.npos; at = openapi.find(listed, at)) {
    at += listed.size();
    std::string list = openapi.substr(at, openapi.find(']', at) - at);
    for (size_t begin = 0; begin < list.size();) {
      size_t end = std::min(list.find(", ", begin), list.size());
      codes.insert(list.substr(begin, end - begin));
      begin = end + 2;
    }
  }
  codes.erase("run.cancelled");  // no failure
  EXPECT_GT(codes.size(), 10U);
  for (const std::string& code : codes) {
    std::string series = "hostler_runner_runs_failed_total{code=\"" + code + "\"} 0\n";
    EXPECT_NE(text.find(series), text.npos) << code;
  }
}

bool has_promtool() { return run_program({"/bin/sh", "-c", "command -v promtool"}).status == 0; }

TEST(Metrics, PassPrometheusOwnCheck) {
  if (!has_promtool()) GTEST_SKIP() << "SKIPPED: promtool is missing (apt install prometheus)";
  for (const char* program : {"hostler-api", "hostler-runner"}) {
    std::string text = run_program({build_folder() + "/" + program, "--metrics"}).out;
    testing_support::ProgramRun check = run_program({"promtool", "check", "metrics"}, {}, text);
    EXPECT_EQ(check.status, 0) << program << ": " << check.out << check.err;
    EXPECT_EQ(check.out + check.err, "") << program;
  }
}

TEST(Alerts, PassPrometheusOwnCheck) {
  if (!has_promtool()) GTEST_SKIP() << "SKIPPED: promtool is missing (apt install prometheus)";
  testing_support::ProgramRun check = run_program({"promtool", "check", "rules", alerts});
  EXPECT_EQ(check.status, 0) << check.out << check.err;
}

TEST(Alerts, RingForWhatTheCasesTell) {
  if (!has_promtool()) GTEST_SKIP() << "SKIPPED: promtool is missing (apt install prometheus)";
  testing_support::ProgramRun test = run_program({"promtool", "test", "rules", cases});
  EXPECT_EQ(test.status, 0) << test.out << test.err;
}

}  // namespace
}  // namespace hostler::style
