// The ports api.listen_tcp and stream.listen_tcp, for nginx on other hosts: GET /healthz,
// GET /v1/me and GET /v1/runs/{run_id}/events from an address that may connect, and from one that
// may not.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include <fmt/format.h>

#include "tests/support/clients/fastcgi_client.h"
#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr const char* peer = "127.0.0.2";
constexpr const char* stranger = "127.0.0.3";

// Sends and reads to the end, as from that address.
std::string exchange(const char* from, int port, const std::string& bytes) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval limit{.tv_sec = 20, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, from, &address.sin_addr);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  address.sin_port = htons(static_cast<uint16_t>(port));
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::array<char, 4096> piece;
    ssize_t count = 0;
    while ((count = recv(fd, piece.data(), piece.size(), 0)) > 0) {
      answer.append(piece.data(), static_cast<size_t>(count));
    }
  }
  close(fd);
  return answer;
}

class Ports : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    api_port_ = free_port();
    stream_port_ = free_port();
    stack_ = std::make_unique<ApiStack>(
        ApiStackOptions{{fmt::format("HOSTLER_API_LISTEN_TCP=127.0.0.1:{}", api_port_),
                         "HOSTLER_API_TCP_PEERS=127.0.0.2/32",
                         fmt::format("HOSTLER_STREAM_LISTEN_TCP=127.0.0.1:{}", stream_port_),
                         "HOSTLER_STREAM_TCP_PEERS=127.0.0.2/32"},
                        true});
    add_fake_model(*stack_);
  }
  static void TearDownTestSuite() { stack_.reset(); }

  static std::string ask_api(const char* from, const std::string& path,
                             const std::string& token = "") {
    return exchange(from, api_port_, fastcgi_text(path, token));
  }
  static std::string ask_stream(const char* from, const std::string& run_id,
                                const std::string& token) {
    return exchange(from, stream_port_,
                    scgi_text({{"REQUEST_METHOD", "GET"},
                               {"REQUEST_URI", "/v1/runs/" + run_id + "/events"},
                               {"HTTP_AUTHORIZATION", "Bearer " + token},
                               {"REMOTE_ADDR", "192.0.2.7"}}));
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  static std::string metrics(const std::string& program) {
    return run_program({"/usr/bin/curl", "-sS", "--unix-socket",
                        stack_->folder() + "/metrics-" + program + ".sock", "http://x/"})
        .out;
  }

  static inline std::unique_ptr<ApiStack> stack_;
  static inline int api_port_ = 0;
  static inline int stream_port_ = 0;
};

TEST_F(Ports, AnswerRequestsOfAPeer) {
  std::string answer = ask_api(peer, "/healthz");
  EXPECT_TRUE(has(answer, "Status: 200")) << answer;
  TestUser user = register_user(*stack_);
  answer = ask_api(peer, "/v1/me", user.client.token);
  EXPECT_TRUE(has(answer, user.id)) << answer;
  EXPECT_TRUE(has(ask_api(peer, "/v1/me"), "Status: 401"));
}

TEST_F(Ports, EndAConnectionWithItsAnswerThoughThePeerWouldKeepIt) {
  int64_t begin_ms = monotonic_ms();
  EXPECT_TRUE(has(ask_api(peer, "/healthz"), "Status: 200"));
  EXPECT_LT(monotonic_ms() - begin_ms, 10'000) << "it was kept";
}

TEST_F(Ports, CarryAStreamToAPeer) {
  TestUser user = register_user(*stack_);
  std::string run_id = start_output(user.client, "say hello");
  std::string stream = ask_stream(peer, run_id, user.client.token);
  EXPECT_TRUE(has(stream, "text/event-stream")) << stream;
  EXPECT_TRUE(has(stream, "id: 1\n"));
  EXPECT_TRUE(has(stream, "run.completed")) << stream;
}

TEST_F(Ports, CloseAtOnceForAStranger) {
  TestUser user = register_user(*stack_);
  EXPECT_EQ(ask_api(stranger, "/healthz"), "");
  EXPECT_EQ(ask_stream(stranger, "00000000-0000-7000-8000-000000000000", user.client.token), "");
  EXPECT_TRUE(has(metrics("api"), "\nhostler_api_peers_refused_total 1\n"));
  EXPECT_TRUE(has(metrics("runner"), "\nhostler_runner_peers_refused_total 1\n"));
  for (const char* program : {"api", "runner"}) {
    std::string log = read_text_file(stack_->folder() + "/" + program + ".log");
    EXPECT_TRUE(has(log, "peer_refused") && has(log, stranger)) << program;
  }
}

// Bytes that are not FastCGI, or stop in the middle, cost only their sender the connection.
TEST_F(Ports, OutliveAPeerThatTalksNonsense) {
  EXPECT_EQ(exchange(peer, api_port_, "GET / HTTP/1.1\r\n\r\n"), "");
  std::string half = fastcgi_text("/healthz", "");
  EXPECT_FALSE(has(exchange(peer, api_port_, half.substr(0, half.size() / 2)), "Status: 200"));
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(has(ask_api(peer, "/healthz"), "Status: 200"));
}

TEST_F(Ports, StayOpenWhileThePoolReloads) {
  auto generations = [] {
    std::string log = read_text_file(stack_->folder() + "/api.log");
    int count = 0;
    for (size_t at = log.find("pool_started"); at != log.npos;
         at = log.find("pool_started", at + 1))
      ++count;
    return count;
  };
  int before = generations();
  stack_->api().send_signal(SIGHUP);
  auto is_served_by_the_new = [&] {
    std::string answer = ask_api(peer, "/healthz");
    EXPECT_TRUE(has(answer, "Status: 200")) << answer;
    return generations() > before;
  };
  EXPECT_TRUE(eventually(20'000, is_served_by_the_new, 50));
  EXPECT_EQ(ask_api(stranger, "/healthz"), "");
}

TEST_F(Ports, AreThereAgainBehindANewDaemon) {
  stack_->kill_runner();
  stack_->start_runner();
  TestUser user = register_user(*stack_);
  std::string run_id = start_output(user.client, "say hello");
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  EXPECT_TRUE(has(ask_stream(peer, run_id, user.client.token), "run.completed"));
}

}  // namespace
}  // namespace hostler::testing_support
