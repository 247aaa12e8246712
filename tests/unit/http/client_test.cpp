// HttpClient against a scripted peer: answers whole and in pieces, limits, breaks, redirects.
#include "lib/http/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;

class HttpClientTest : public testing::Test {
 protected:
  HttpClientTest() { std::signal(SIGPIPE, SIG_IGN); }

  static http::HttpRequest request_to(const std::string& url) {
    http::HttpRequest request;
    request.url = url;
    request.guarded = false;
    return request;
  }
  http::HttpAnswer fetch(http::HttpRequest request) {
    return run_task(loop_, client_.fetch(std::move(request)));
  }
  http::HttpFailureKind failure_of(http::HttpRequest request) {
    http::HttpAnswer answer = fetch(std::move(request));
    EXPECT_TRUE(answer.failure.has_value()) << answer.head.status << " " << answer.body;
    return answer.failure ? answer.failure->kind : http::HttpFailureKind::bad_request;
  }

  loop::Loop loop_;
  http::HttpClient client_{loop_};
};

TEST_F(HttpClientTest, SendsWhatItIsGivenAndReadsTheAnswer) {
  std::string seen;
  ScriptedServer server([&seen](Peer& peer) {
    seen = peer.read_request();
    peer.send("HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX-One:  a b \r\nX-One: c\r\n\r\nhello");
    peer.wait_for_close();
  });
  http::HttpRequest request = request_to(server.url("/v1/x?y=1"));
  request.method = "POST";
  request.body = "{\"a\":1}";
  request.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
  http::HttpAnswer answer = fetch(std::move(request));
  ASSERT_FALSE(answer.failure) << answer.failure->message;
  EXPECT_EQ(answer.head.status, 201);
  EXPECT_EQ(answer.head.header("x-one"), "a b");
  EXPECT_EQ(answer.head.headers.size(), 3u);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_TRUE(seen.starts_with("POST /v1/x?y=1 HTTP/1.1\r\n")) << seen;
  EXPECT_NE(seen.find("\r\nX-Empty:"), std::string::npos) << seen;
  EXPECT_NE(seen.find("User-Agent: Hostler/"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("Expect"), std::string::npos) << seen;
  EXPECT_TRUE(seen.ends_with("\r\n\r\n{\"a\":1}")) << seen;
}

TEST_F(HttpClientTest, KeepsTheConnectionForTheNextRequest) {
  ScriptedServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.answer("ok");
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fetch(request_to(server.url())).body, "ok");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpClientTest, IgnoresProxyVariables) {
  ScriptedServer proxy([](Peer& peer) { peer.answer(peer.read_request()); });
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.answer("direct");
  });
  setenv("http_proxy", proxy.url().c_str(), 1);
  setenv("ALL_PROXY", proxy.url().c_str(), 1);
  EXPECT_EQ(fetch(request_to(server.url())).body, "direct");
  unsetenv("http_proxy");
  unsetenv("ALL_PROXY");
  EXPECT_EQ(proxy.connections(), 0);
}

Task<std::string> read_pieces(http::HttpClient& client, http::HttpRequest request,
                              std::atomic<int>& seen) {
  http::HttpExchange exchange(client, std::move(request));
  const http::HttpHead* head = co_await exchange.head();
  std::string pieces;
  if (head == nullptr) co_return "no head";
  while (true) {
    std::optional<std::string> piece = co_await exchange.next_piece();
    if (!piece) break;
    pieces += "[" + *piece + "]";
    ++seen;
    seen.notify_all();
  }
  if (exchange.failure()) pieces += http::http_failure_name(exchange.failure()->kind);
  co_return pieces;
}

TEST_F(HttpClientTest, HandsOverEachPieceWhenItArrives) {
  std::atomic<int> seen{0};
  ScriptedServer server([&seen](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    peer.send("3\r\none\r\n");
    seen.wait(0);  // the next piece is sent only after the client has read this one
    peer.send("3\r\ntwo\r\n");
    seen.wait(1);
    peer.send("0\r\n\r\n");
    peer.wait_for_close();
  });
  EXPECT_EQ(run_task(loop_, read_pieces(client_, request_to(server.url()), seen)), "[one][two]");
}

TEST_F(HttpClientTest, HandsOverWhatCameBeforeABreak) {
  std::atomic<int> seen{0};
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  });
  EXPECT_EQ(run_task(loop_, read_pieces(client_, request_to(server.url()), seen)), "[one]reset");
}

TEST_F(HttpClientTest, TellsABrokenConnectionFromARefusedOne) {
  ScriptedServer resets([](Peer& peer) {
    peer.read_request();
    peer.reset();
  });
  EXPECT_EQ(failure_of(request_to(resets.url())), http::HttpFailureKind::reset);
  ScriptedServer closes([](Peer& peer) { peer.read_request(); });
  EXPECT_EQ(failure_of(request_to(closes.url())), http::HttpFailureKind::reset);
  ScriptedServer cuts([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  });
  EXPECT_EQ(failure_of(request_to(cuts.url())), http::HttpFailureKind::reset);
  int port = testing_support::Canary().port();  // closed again
  EXPECT_EQ(failure_of(request_to("http://127.0.0.1:" + std::to_string(port))),
            http::HttpFailureKind::connect);
  ScriptedServer babbles([](Peer& peer) {
    peer.read_request();
    peer.send("220 mail.example ESMTP\r\n");
  });
  EXPECT_EQ(failure_of(request_to(babbles.url())), http::HttpFailureKind::protocol);
}

TEST_F(HttpClientTest, RefusesABodyBehindNoHead) {
  for (const char* head : {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nHTTP/1.1 103 Early Hints\r\n\r\n"}) {
    ScriptedServer server([head](Peer& peer) {
      peer.read_request();
      peer.send(head + std::string(400'000, 'x'));
      peer.wait_for_close();
    });
    EXPECT_EQ(failure_of(request_to(server.url())), http::HttpFailureKind::protocol) << head;
    EXPECT_TRUE(server.wait_for_ended(1));
  }
}

TEST_F(HttpClientTest, LimitsTheWaitForTheFirstByteForSilenceAndForAll) {
  ScriptedServer silent([](Peer& peer) {
    peer.read_request();
    peer.wait_for_close();
  });
  http::HttpRequest request = request_to(silent.url());
  request.first_byte_timeout_ms = 30;
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::timeout_first_byte);

  ScriptedServer stalls([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    peer.wait_for_close();
  });
  request = request_to(stalls.url());
  request.idle_timeout_ms = 30;
  http::HttpAnswer answer = fetch(request);
  EXPECT_EQ(answer.failure->kind, http::HttpFailureKind::timeout_idle);
  EXPECT_EQ(answer.body, "half");

  // Trickling keeps the silence short; the limit of everything still holds.
  ScriptedServer trickles([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    while (peer.send("x")) {
    }
  });
  request = request_to(trickles.url());
  request.total_timeout_ms = 50;
  request.response_bytes_max = size_t{1} << 40;
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::timeout_total);
  EXPECT_TRUE(silent.wait_for_ended(1));
  EXPECT_TRUE(trickles.wait_for_ended(1));
}

TEST_F(HttpClientTest, LimitsTheWaitForTls) {
  ScriptedServer silent([](Peer& peer) { peer.wait_for_close(); });
  http::HttpRequest request = request_to("https://127.0.0.1:" + std::to_string(silent.port()));
  request.connect_timeout_ms = 30;
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::timeout_connect);
}

TEST_F(HttpClientTest, BoundsBodyAndHead) {
  ScriptedServer server([](Peer& peer) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      if (request.starts_with("GET /head")) {
        peer.send("HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 10'000; ++i) peer.send("X-Field: " + std::string(20, 'x') + "\r\n");
        peer.send("\r\n");
      } else {
        peer.answer(std::string(100'000, 'x'));
      }
    }
  });
  http::HttpRequest request = request_to(server.url());
  request.response_bytes_max = 1000;
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::too_large);
  request.over_limit = http::OverLimit::cut;
  http::HttpAnswer answer = fetch(request);
  EXPECT_FALSE(answer.failure);
  EXPECT_TRUE(answer.truncated);
  EXPECT_EQ(answer.body.size(), 1000u);
  request.response_bytes_max = 100'000;
  EXPECT_FALSE(fetch(request).truncated);
  EXPECT_EQ(failure_of(request_to(server.url("/head"))), http::HttpFailureKind::too_large);
}

TEST_F(HttpClientTest, BoundsWhatComesBehindABody) {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n");
    while (peer.send("X-Field: " + std::string(4000, 'x') + "\r\n")) {
    }
  });
  http::HttpRequest request = request_to(server.url());
  request.over_limit = http::OverLimit::cut;
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::too_large);
  EXPECT_TRUE(server.wait_for_ended(1));
}

Task<size_t> largest_piece(http::HttpClient& client, loop::Loop& loop, http::HttpRequest request,
                           std::atomic<size_t>& sent, size_t& total) {
  http::HttpExchange exchange(client, std::move(request));
  co_await exchange.head();
  while (sent < size_t{512} * 1024) {
    co_await loop::sleep_ms(loop, 1);
  }
  size_t largest = 0;
  while (true) {
    std::optional<std::string> piece = co_await exchange.next_piece();
    if (!piece) break;
    largest = std::max(largest, piece->size());
    total += piece->size();
  }
  co_return largest;
}

TEST_F(HttpClientTest, StopsReadingWhileNobodyTakesThePieces) {
  constexpr size_t body_bytes = size_t{8} << 20;
  std::atomic<size_t> sent{0};
  ScriptedServer server([&sent](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n\r\n");
    std::string block(64 * 1024, 'x');
    while (sent < body_bytes && peer.send(block)) sent += block.size();
    peer.wait_for_close();
  });
  http::HttpRequest request = request_to(server.url());
  request.response_bytes_max = body_bytes;
  size_t total = 0;
  size_t largest = run_task(loop_, largest_piece(client_, loop_, request, sent, total));
  EXPECT_EQ(total, body_bytes);
  EXPECT_LE(largest, size_t{256} * 1024);
  EXPECT_GT(largest, size_t{200} * 1024);
}

Task<void> wait_for_head(http::HttpClient& client, http::HttpRequest request) {
  http::HttpExchange exchange(client, std::move(request));
  co_await exchange.head();
  ADD_FAILURE() << "must have been cancelled";
}

Task<void> cancel_when(loop::Loop& loop, Task<void>& task, std::atomic<bool>& due) {
  while (!due) {
    co_await loop::sleep_ms(loop, 1);
  }
  task.cancel();
}

TEST_F(HttpClientTest, GoesOnSendingToAServerThatAnswersEarly) {
  const std::string body(size_t{8} << 20, 'b');
  std::string seen;
  ScriptedServer server([&seen](Peer& peer) {
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    seen = peer.read_request();
    peer.send("3\r\ntwo\r\n0\r\n\r\n");
    peer.wait_for_close();
  });
  http::HttpRequest request = request_to(server.url());
  request.method = "POST";
  request.body = body;
  http::HttpAnswer answer = fetch(std::move(request));
  EXPECT_FALSE(answer.failure) << answer.failure->message;
  EXPECT_EQ(answer.body, "onetwo");
  EXPECT_TRUE(seen.ends_with(body)) << seen.size();
}

TEST_F(HttpClientTest, ClosesTheConnectionOfACancelledExchange) {
  std::atomic<bool> asked{false};
  ScriptedServer server([&asked](Peer& peer) {
    peer.read_request();
    asked = true;
    peer.wait_for_close();
  });
  Task<void> task = wait_for_head(client_, request_to(server.url()));
  EXPECT_FALSE(task.start(nullptr));
  run_task(loop_, cancel_when(loop_, task, asked));
  EXPECT_TRUE(server.wait_for_ended(1));
}

TEST_F(HttpClientTest, RefusesRequestsThatCannotBeSent) {
  for (const char* url : {"", "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:70/_x",
                          "http://", "http:///path", "http://a b/", "http://user@127.0.0.1/",
                          "http://user:word@127.0.0.1/", "http://127.0.0.1:0/", "//127.0.0.1/",
                          "http://127.0.0.1:99999/", "http://127.0.0.1\\@x/", "127.0.0.1:80"}) {
    EXPECT_EQ(failure_of(request_to(url)), http::HttpFailureKind::bad_request) << url;
  }
  http::HttpRequest request = request_to("http://127.0.0.1/");
  request.https_only = true;
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::bad_request);
  request.https_only = false;
  request.headers = {{"X-Key", "a\r\nX-Other: b"}};
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::bad_request);
  request.headers = {{"X Key", "a"}};
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::bad_request);
  request.headers.clear();
  request.method = "GET /other";
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::bad_request);
}

}  // namespace
}  // namespace hostler
