// Counting over processes, and the text that Prometheus reads: lib/metrics.h,
// lib/program/metrics_server.h.
#include "lib/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "fcgi/http/api_metrics.h"
#include "fcgi/pool/reload.h"
#include "lib/net/unix_listener.h"
#include "lib/program/metrics_server.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<MetricRow> rows() {
  return {{MetricType::counter, "calls_total", "Calls.", {"kind=\"a\"", "kind=\"b\""}},
          {MetricType::histogram, "seconds", "Time.", {""}},
          {MetricType::gauge, "open", "Now open.", {""}}};
}

TEST(Metrics, AddUpWhatAllWritersCounted) {
  Metrics metrics(rows(), 2);
  metrics.writer(0).count(0, 1);
  metrics.writer(1).count(0, 1, 4);
  metrics.writer(0).set(2, 0, 3);
  metrics.writer(1).set(2, 0, 2);
  std::string text = metrics.prometheus_text();
  EXPECT_THAT(text, HasSubstr("# TYPE calls_total counter\ncalls_total{kind=\"b\"} 5\n"));
  EXPECT_THAT(text, Not(HasSubstr("kind=\"a\""))) << "what never counted is left out";
  EXPECT_THAT(text, HasSubstr("\nopen 5\n"));
}

TEST(Metrics, ThatBeginAtZeroAreWrittenBeforeTheyCount) {
  Metrics metrics({{MetricType::counter, "falls_total", "Falls.", {"kind=\"a\""}, true}}, 1);
  EXPECT_THAT(metrics.prometheus_text(), HasSubstr("falls_total{kind=\"a\"} 0\n"));
  metrics.writer(0).count(0);
  EXPECT_THAT(metrics.prometheus_text(), HasSubstr("falls_total{kind=\"a\"} 1\n"));
}

TEST(Metrics, ShareTheirMemoryWithForkedProcesses) {
  Metrics metrics(rows(), 2);
  pid_t child = fork();
  if (child == 0) {
    metrics.writer(1).count(0, 0, 7);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_THAT(metrics.prometheus_text(), HasSubstr("calls_total{kind=\"a\"} 7\n"));
}

TEST(Metrics, WriteHistogramsCumulatively) {
  Metrics metrics(rows(), 1);
  metrics.writer(0).observe_us(1, 0, 250);
  metrics.writer(0).observe_us(1, 0, 251);
  metrics.writer(0).observe_us(1, 0, 60'000'000);
  std::string text = metrics.prometheus_text();
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"0.00025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"0.0005\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"10\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("seconds_sum 60.000501\n"));
  EXPECT_THAT(text, HasSubstr("seconds_count 3\n"));
}

TEST(Metrics, ForgetTheGaugesOfADeadProcessAndKeepItsCounts) {
  Metrics metrics(rows(), 1);
  metrics.writer(0).count(0, 0);
  metrics.writer(0).set(2, 0, 9);
  metrics.clear_gauges(0);
  EXPECT_THAT(metrics.prometheus_text(), HasSubstr("calls_total{kind=\"a\"} 1\n"));
  EXPECT_THAT(metrics.prometheus_text(), HasSubstr("\nopen 0\n"));
}

TEST(Metrics, OfThePoolCountARequestByRouteAndStatus) {
  Metrics metrics(api_metric_rows(), 1);
  metrics.writer(0).count(metric_requests, request_series(nullptr, 404));
  EXPECT_THAT(metrics.prometheus_text(),
              HasSubstr("hostler_api_requests_total{route=\"none\",status=\"4xx\"} 1\n"));
  for (int status : {0, 99, 700}) EXPECT_LT(request_series(nullptr, status), 1'000'000u);
}

std::string answer_at(const std::string& path, const std::string& request) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) {
      answer.append(buffer, static_cast<size_t>(got));
    }
  }
  close(fd);
  return answer;
}

class MetricsServed : public testing::Test {
 protected:
  MetricsServed() {
    char name[] = "/tmp/hostler-metrics-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/m.sock";
  }
  ~MetricsServed() override { std::filesystem::remove_all(folder_); }

  // Returns what each of the requests, sent one after the other, is answered with.
  std::vector<std::string> answers_to(std::vector<std::string> requests) {
    loop::Loop loop;
    program::MetricsServer server(loop, net::listen_unix(path_, 0660),
                                  [] { return std::string("up 1\n"); });
    std::vector<std::string> answers;
    loop::Wakeup done(loop, [&loop] { loop.stop(); });
    std::thread client([&] {
      for (const std::string& request : requests) answers.push_back(answer_at(path_, request));
      done.notify();
    });
    loop.run();
    client.join();
    return answers;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(MetricsServed, AnswerAGetAndNothingElse) {
  std::vector<std::string> answers =
      answers_to({"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\n\r\n",
                  std::string(20'000, 'x')});
  EXPECT_THAT(answers[0], HasSubstr("200 OK\r\nContent-Type: text/plain; version=0.0.4"));
  EXPECT_TRUE(answers[0].ends_with("\r\n\r\nup 1\n"));
  EXPECT_THAT(answers[1], HasSubstr("405 Method Not Allowed\r\nAllow: GET\r\n"));
  EXPECT_THAT(answers[2], Not(HasSubstr("200 OK")));
}

TEST_F(MetricsServed, ReplaceASocketThatNobodyListensOnAndRefuseALiveOne) {
  int first = net::listen_unix(path_, 0660);
  EXPECT_THROW(net::listen_unix(path_, 0660), Error);
  close(first);
  int second = net::listen_unix(path_, 0660);
  EXPECT_GE(second, 0);
  close(second);
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms(0660));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THROW(net::listen_unix(path_, 0660), Error) << "what is no socket stays";
}

TEST(Inheritance, TravelsAsText) {
  Inheritance inheritance;
  inheritance.listener = {5, "/run/api.sock", 9};
  inheritance.workers = {{120, 7}, {121, -1}};
  std::string text = inheritance_text(inheritance);
  std::optional<Inheritance> read = read_inheritance(text, "/run/api.sock");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->listener.fd, 5);
  EXPECT_EQ(read->listener.path, "/run/api.sock");
  EXPECT_EQ(read->listener.tcp_fd, 9);
  ASSERT_EQ(read->workers.size(), 2u);
  EXPECT_EQ(read->workers[1].pid, 121);
  EXPECT_EQ(read->workers[1].drain_fd, -1);
  inheritance.listener.path.clear();
  EXPECT_EQ(read_inheritance(inheritance_text(inheritance), "/run/api.sock")->listener.path, "");
}

TEST(Inheritance, OfAnotherFormIsNone) {
  for (const char* text : {"", "x", "5", "5,", "5,1,", "5,1", "5,1,-1,7", "5,1,-1,7:", "5,1,7:8",
                           "5,1,-1,7:8,", "5,1 -1,7:8"}) {
    EXPECT_FALSE(read_inheritance(text, "")) << text;
  }
}

}  // namespace
}  // namespace hostler
