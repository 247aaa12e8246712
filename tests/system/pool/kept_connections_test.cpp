// The connections to the pool that nginx keeps for its next request: those of reads only, which it
// may send again when a worker goes.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <set>

#include <fmt/format.h>

#include "tests/support/clients/fastcgi_client.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t patience_ms = 25'000;

class KeptConnections : public testing::Test {
 protected:
  KeptConnections() : stack_({{"HOSTLER_API_WORKERS=1"}}), user_(register_user(stack_)) {}

  std::string socket_path() const { return stack_.folder() + "/api.sock"; }
  std::string ask(FastcgiClient& client, const std::string& method) const {
    client.send(fastcgi_text("/v1/me", user_.client.token, method));
    return client.answer();
  }
  pid_t worker() {
    std::ifstream list(
        fmt::format("/proc/{}/task/{}/children", stack_.api().pid(), stack_.api().pid()));
    pid_t pid = 0;
    list >> pid;
    return pid;
  }

  ApiStack stack_;
  TestUser user_;
};

TEST_F(KeptConnections, CarryOneReadAfterAnother) {
  FastcgiClient client(socket_path());
  for (int i = 0; i < 3; ++i) {
    std::string answer = ask(client, "GET");
    EXPECT_NE(answer.find("Status: 200"), std::string::npos) << answer;
    EXPECT_NE(answer.find(user_.id), std::string::npos) << answer;
  }
  EXPECT_EQ(ask(client, "HEAD").find("\"email\""), std::string::npos);
  EXPECT_NE(ask(client, "GET").find(user_.id), std::string::npos) << "behind an answer to HEAD";
}

// More than a socket holds: who writes it has to wait for who reads.
TEST_F(KeptConnections, CarryALargeAnswerWhole) {
  FastcgiClient client(socket_path());
  client.send(fastcgi_text("/v1/openapi.json", ""));
  std::string first = client.answer();
  EXPECT_GT(first.size(), 400'000u);
  client.send(fastcgi_text("/v1/openapi.json", ""));
  EXPECT_EQ(client.answer().size(), first.size());
}

TEST_F(KeptConnections, EndWithTheAnswerToAnythingElse) {
  FastcgiClient client(socket_path());
  ask(client, "GET");
  EXPECT_NE(ask(client, "PATCH").find("Status: 4"), std::string::npos);
  EXPECT_TRUE(client.ends());
}

TEST_F(KeptConnections, AreLeftByAPeerWithoutHarm) {
  for (int i = 0; i < 200; ++i) {
    FastcgiClient client(socket_path());
    ask(client, "GET");
  }
  FastcgiClient amid_its_answer(socket_path());
  ask(amid_its_answer, "GET");
  amid_its_answer.send(fastcgi_text("/v1/threads", user_.client.token));
  FastcgiClient client(socket_path());
  EXPECT_NE(ask(client, "GET").find(user_.id), std::string::npos);
}

TEST_F(KeptConnections, EndWhenWhatComesIsNoRequest) {
  FastcgiClient client(socket_path());
  ask(client, "GET");
  client.send("GET / HTTP/1.1\r\n");
  EXPECT_TRUE(client.ends());
  FastcgiClient other(socket_path());
  EXPECT_NE(ask(other, "GET").find(user_.id), std::string::npos);
}

TEST_F(KeptConnections, EndWithTheirWorker) {
  FastcgiClient client(socket_path());
  ask(client, "GET");
  pid_t before = worker();
  stack_.api().send_signal(SIGHUP);
  EXPECT_TRUE(client.ends());
  EXPECT_TRUE(eventually(patience_ms, [&] { return worker() != before; }));
  FastcgiClient other(socket_path());
  EXPECT_NE(ask(other, "GET").find(user_.id), std::string::npos);
}

// nginx has kept connections to the worker that is killed, and no other.
TEST_F(KeptConnections, ThatAreLostCostNobodyARead) {
  for (int round = 0; round < 5; ++round) {
    std::vector<Call> calls(32, {"GET", "/v1/me", {}, {}, {}});
    for (const Answer& answer : user_.client.send_all(calls)) EXPECT_EQ(answer.status, 200);
    pid_t victim = worker();
    kill(victim, SIGKILL);
    for (const Answer& answer : user_.client.send_all(calls)) EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(eventually(patience_ms, [&] { return worker() != victim && worker() != 0; }));
  }
}

}  // namespace
}  // namespace hostler::testing_support
