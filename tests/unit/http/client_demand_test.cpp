// Exchanges whose body is read only while somebody waits for a piece of it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>

#include "lib/http/client.h"
#include "tests/support/eventually.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;

class ReadsOnDemand : public testing::Test {
 protected:
  ReadsOnDemand() { std::signal(SIGPIPE, SIG_IGN); }

  static http::HttpRequest request_to(const std::string& url) {
    http::HttpRequest request;
    request.url = url;
    request.guarded = false;
    return request;
  }

  loop::Loop loop_;
  http::HttpClient client_{loop_};
};

// Takes a piece, is long busy with it while the next one lies there, and asks for the rest.
Task<std::string> read_after_a_while(http::HttpClient& client, loop::Loop& loop,
                                     http::HttpRequest request, std::atomic<int>& sent,
                                     std::atomic<int>& taken) {
  int64_t busy_ms = 4 * request.idle_timeout_ms;
  http::HttpExchange exchange(client, std::move(request));
  co_await exchange.head();
  std::string pieces;
  while (true) {
    std::optional<std::string> piece = co_await exchange.next_piece();
    if (!piece) break;
    pieces += "[" + *piece + "]";
    taken = taken + 1;
    taken.notify_all();
    while (sent < 2) co_await loop::sleep_ms(loop, 1);
    if (taken == 1) co_await loop::sleep_ms(loop, busy_ms);
  }
  if (exchange.failure()) pieces += http::http_failure_name(exchange.failure()->kind);
  co_return pieces;
}

// Then the silence is the reader's own, and what gathered comes as one piece.
TEST_F(ReadsOnDemand, WhatGatheredMeanwhile) {
  std::atomic<int> sent{0};
  std::atomic<int> taken{0};
  ScriptedServer server([&sent, &taken](Peer& peer) {
    while (!peer.read_request().empty()) {
      peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
      taken.wait(0);
      peer.send("3\r\ntwo\r\n");
      peer.send("5\r\nthree\r\n");
      sent = 2;
      taken.wait(1);
      peer.send("0\r\n\r\n");
    }
  });
  http::HttpRequest request = request_to(server.url());
  request.reads_on_demand = true;
  request.idle_timeout_ms = 50;
  EXPECT_EQ(run_task(loop_, read_after_a_while(client_, loop_, request, sent, taken)),
            "[one][twothree]");
  sent = taken = 0;
  request.reads_on_demand = false;
  EXPECT_EQ(run_task(loop_, read_after_a_while(client_, loop_, request, sent, taken)),
            "[one][twothree]timeout_idle");
  EXPECT_EQ(server.connections(), 1);
}

Task<std::string> leave_unread(http::HttpClient& client, loop::Loop& loop,
                               http::HttpRequest request, std::atomic<bool>& closed) {
  http::HttpExchange exchange(client, std::move(request));
  std::optional<std::string> piece = co_await exchange.next_piece();
  while (!closed) co_await loop::sleep_ms(loop, 1);
  co_return piece.value_or("");
}

// A caller that leaves an exchange whose socket is not read, or was closed meanwhile, leaves
// nothing.
TEST_F(ReadsOnDemand, AndEndsAnExchangeThatIsNotRead) {
  std::atomic<bool> closed{false};
  ScriptedServer server([&closed](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    peer.send("3\r\ntwo\r\n");
    peer.reset();
    closed = true;
  });
  http::HttpRequest request = request_to(server.url());
  request.reads_on_demand = true;
  for (int i = 0; i < 3; ++i) {
    closed = false;
    std::string piece = run_task(loop_, leave_unread(client_, loop_, request, closed));
    EXPECT_TRUE(piece.starts_with("one") || piece.empty()) << piece;
  }
}

// The late one's time passes while the early one is busy: curl finds that out where it reads for
// the early one, whose coroutine runs then.
Task<std::string> read_beside(http::HttpClient& client, loop::Loop& loop, http::HttpRequest request,
                              std::atomic<int>& step, bool& is_reading) {
  http::HttpExchange exchange(client, std::move(request));
  std::optional<std::string> first = co_await exchange.next_piece();
  step = 1;
  step.notify_all();
  while (step < 2) co_await loop::sleep_ms(loop, 1);
  co_await loop::sleep_ms(loop, 20);
  auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  bool is_due =
      testing_support::eventually(10'000, [due] { return std::chrono::steady_clock::now() > due; });
  if (!is_due) co_return "the time never came";
  Task<std::optional<std::string>> next = exchange.next_piece();
  is_reading = true;
  bool is_there = next.start(nullptr);
  is_reading = false;
  if (!is_there) co_return "nothing was held";
  std::optional<std::string> second = next.take();
  co_return second.value_or("");
}

Task<void> wait_in_vain(http::HttpClient& client, http::HttpRequest request, bool& is_reading,
                        bool& has_met) {
  http::HttpExchange exchange(client, std::move(request));
  co_await exchange.head();
  has_met = is_reading;
}

// A woken reader may end any exchange, so nobody is within the call of another one's reader.
TEST_F(ReadsOnDemand, AndWakesNobodyElseWithinIt) {
  std::atomic<int> step{0};
  ScriptedServer server([&step](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    step.wait(0);
    peer.send("3\r\ntwo\r\n");
    step = 2;
    peer.wait_for_close();
  });
  ScriptedServer silent([](Peer& peer) { peer.wait_for_close(); });
  http::HttpRequest late = request_to("https://127.0.0.1:" + std::to_string(silent.port()));
  late.connect_timeout_ms = 100;
  bool is_reading = false;
  bool has_met = true;
  Task<void> vain = wait_in_vain(client_, late, is_reading, has_met);
  EXPECT_FALSE(vain.start(nullptr));
  http::HttpRequest early = request_to(server.url());
  early.reads_on_demand = true;
  std::string piece = run_task(loop_, read_beside(client_, loop_, early, step, is_reading));
  EXPECT_EQ(piece, "two");
  run_task(loop_, loop::sleep_ms(loop_, 20));
  EXPECT_TRUE(vain.done());
  EXPECT_FALSE(has_met);
}

}  // namespace
}  // namespace hostler
