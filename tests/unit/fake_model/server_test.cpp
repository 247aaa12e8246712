// The fake model over real sockets: streams, keep-alive, slow and leaving clients, and what its
// ledger says about them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dev/fake-model/http_server.h"
#include "dev/fake-model/service.h"
#include "dev/fake-model/wheel.h"
#include "lib/json.h"
#include "lib/utf8.h"
#include "tests/support/eventually.h"

namespace hostler::fake_model {
namespace {

// A blocking client: it lives on the test's own thread, the server on the loop's.
class Client {
 public:
  explicit Client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { leave(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void leave() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void reset() {
    linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    leave();
  }
  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // All bytes until the text is among them, or the server closes.
  std::string read_until(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      std::array<char, 65536> bytes;
      ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (count <= 0) break;
      received_.append(bytes.data(), static_cast<size_t>(count));
    }
    return std::exchange(received_, {});
  }

 private:
  int fd_;
  std::string received_;
};

std::string post(std::string_view text, bool stream = true, std::string_view fields = "") {
  std::string body = R"({"model":"m","stream":)" + std::string(stream ? "true" : "false") +
                     R"(,"messages":[{"role":"user","content":)" + json_quote(text) + "}]}";
  return "POST /v1/chat/completions HTTP/1.1\r\n" + std::string(fields) +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nconnection: close\r\n\r\n";
}

class ModelServer : public testing::Test {
 protected:
  // The conversation runs on a thread of its own; the server runs here until it has ended.
  void serve(const std::function<void(uint16_t port)>& conversation, ServiceOptions options = {}) {
    loop::Loop loop;
    Service service(loop, options);
    HttpServer server(loop, service.hooks());
    uint16_t port = server.listen(0);
    ASSERT_NE(port, 0);
    loop::Wakeup done(loop, [&loop] { loop.stop(); });
    std::thread client([&] {
      conversation(port);
      done.notify();
    });
    loop.run();
    client.join();
  }

  static Json ledger(uint16_t port) {
    Client client(port);
    client.send(get("/_requests"));
    std::string answer = client.read_until("\1");
    return parse_json_or_nothing(answer.substr(answer.find("\r\n\r\n") + 4)).value_or(Json());
  }
  // The ledger, as soon as nothing is open any more.
  static Json ledger_at_rest(uint16_t port) {
    Json seen = ledger(port);
    for (int i = 0; i < 2000 && seen.integer_or("open", -1) != 0; ++i) seen = ledger(port);
    return seen;
  }
};

const ServiceOptions fast{.word_delay_ms = 0, .tick_ms = 1, .required_key = {}};

TEST_F(ModelServer, StreamsWordByWordAndEndsWithDone) {
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send(post("[say one two three]"));
        std::string answer = client.read_until("0\r\n\r\n");
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
        EXPECT_NE(answer.find(R"("delta":{"content":"one "})"), std::string::npos) << answer;
        EXPECT_NE(answer.find(R"("delta":{"content":"three"})"), std::string::npos);
        EXPECT_NE(answer.find(R"("finish_reason":"stop")"), std::string::npos);
        EXPECT_NE(answer.find("data: [DONE]\n\n"), std::string::npos);
      },
      fast);
}

TEST_F(ModelServer, StampsAreTheTimesAtWhichTheyWereWritten) {
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send(post("[delay 5][stamps 3]"));
        std::string answer = client.read_until("0\r\n\r\n");
        std::vector<int64_t> stamps;
        const std::string mark = R"("delta":{"content":")";
        for (size_t at = answer.find(mark); at != answer.npos; at = answer.find(mark, at + 1)) {
          int64_t stamp = 0;
          std::from_chars(answer.data() + at + mark.size(), answer.data() + answer.size(), stamp);
          if (stamp != 0) stamps.push_back(stamp);
        }
        ASSERT_EQ(stamps.size(), 3u) << answer;
        EXPECT_GE(stamps[1] - stamps[0], 1000);
        EXPECT_GE(stamps[2] - stamps[1], 1000);
      },
      fast);
}

TEST_F(ModelServer, AnswersRequestsSentAheadOnOneConnectionInTheirOrder) {
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send(post("[say first]", false) + post("[say second]", false) +
                    post("[say third]", false, "connection: close\r\n"));
        std::string answers = client.read_until("\1");
        size_t first = answers.find("first");
        size_t second = answers.find("second");
        size_t third = answers.find("third");
        EXPECT_LT(first, second);
        EXPECT_LT(second, third);
        EXPECT_NE(third, std::string::npos);
      },
      fast);
}

TEST_F(ModelServer, NoticesThatAClientLeftInMidStream) {
  serve([](uint16_t port) {
    Client client(port);
    client.send(post("[words 100000]"));
    client.read_until("river");
    client.leave();
    Json seen = ledger_at_rest(port);
    EXPECT_EQ(seen.integer_or("aborted_by_client", -1), 1);
    EXPECT_EQ(seen.integer_or("open_streams", -1), 0);
  });
}

TEST_F(ModelServer, NoticesThatAClientLeftDuringSilence) {
  serve([](uint16_t port) {
    Client client(port);
    client.send(post("[silence]"));
    EXPECT_TRUE(testing_support::eventually(
        10'000, [port] { return ledger(port).integer_or("open", 0) > 0; }));
    client.leave();
    EXPECT_EQ(ledger_at_rest(port).integer_or("aborted_by_client", -1), 1);
  });
}

TEST_F(ModelServer, NoticesAResetThatComesTogetherWithBytes) {
  serve(
      [](uint16_t port) {
        for (int i = 0; i < 50; ++i) {
          Client client(port);
          client.send(post("[say first]", false) + post("[silence]"));
          client.read_until("HTTP/1.1 200 OK");
          client.send("POST /more");
          client.reset();
        }
        Json seen = ledger_at_rest(port);
        EXPECT_EQ(seen.integer_or("open", -1), 0);
      },
      fast);
}

TEST_F(ModelServer, WaitsForASlowClientAndThenGoesOn) {
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send(post("[words 100000]"));
        client.read_until("river");
        // 100,000 words are about 28 MB of events: far more than the sockets take, so the stream
        // is open as long as nobody reads.
        EXPECT_EQ(ledger(port).integer_or("open_streams", -1), 1);
        std::string answer = client.read_until("data: [DONE]\n\n");
        EXPECT_GT(answer.size(), 10'000'000U);
        EXPECT_EQ(ledger_at_rest(port).integer_or("finished", -1), 1);
      },
      fast);
}

TEST_F(ModelServer, CutsAStreamWithoutItsLastChunk) {
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send(post("[say begun][cut]"));
        std::string answer = client.read_until("\1");
        EXPECT_NE(answer.find("begun"), std::string::npos);
        EXPECT_EQ(answer.find("0\r\n\r\n"), std::string::npos);
        EXPECT_EQ(ledger_at_rest(port).integer_or("cut_by_server", -1), 1);
      },
      fast);
}

TEST_F(ModelServer, SplitsCharactersBetweenChunksWithoutLosingAByte) {
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send(post("[split-utf8]"));
        std::string answer = client.read_until("0\r\n\r\n");
        EXPECT_NE(answer.find("Gr\xc3\r\n"), std::string::npos);
        std::string whole;
        for (size_t at = answer.find("\r\n\r\n") + 4; at < answer.size();) {
          size_t line = answer.find("\r\n", at);
          size_t bytes = 0;
          std::from_chars(answer.data() + at, answer.data() + line, bytes, 16);
          whole += answer.substr(line + 2, bytes);
          at = line + 2 + bytes + 2;
        }
        EXPECT_TRUE(is_utf8(whole));
        EXPECT_NE(whole.find("世界您好"), std::string::npos);
      },
      fast);
}

TEST_F(ModelServer, AsksForItsKeyAndNeverShowsOne) {
  ServiceOptions options = fast;
  options.required_key = "secret-key-1";
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send(post("hi", false));
        EXPECT_TRUE(client.read_until("}}").starts_with("HTTP/1.1 401 "));
        client.send(post("hi", false, "authorization: Bearer secret-key-1\r\n"));
        EXPECT_TRUE(client.read_until("\"usage\"").starts_with("HTTP/1.1 200 "));
        Json seen = ledger_at_rest(port);
        EXPECT_EQ(seen.find("requests")->as_array()->size(), 2U);
        EXPECT_EQ(seen.dump().find("secret-key-1"), std::string::npos);
      },
      options);
}

TEST_F(ModelServer, KeepsTheLastHundredRequestsAndForgetsThemWhenTold) {
  serve(
      [](uint16_t port) {
        Client client(port);
        for (int i = 0; i < 105; ++i) {
          client.send(post("[say number-" + std::to_string(i) + "]", false));
          client.read_until("\"usage\"");
        }
        Json seen = ledger_at_rest(port);
        EXPECT_EQ(seen.integer_or("count", -1), 105);
        EXPECT_EQ(seen.find("requests")->as_array()->size(), 100U);
        EXPECT_NE(seen.find("requests")->as_array()->front().text_or("body").find("number-5]"),
                  std::string_view::npos);
        Client other(port);
        other.send("DELETE /_requests HTTP/1.1\r\n\r\n");
        other.read_until("true}");
        EXPECT_EQ(ledger(port).integer_or("count", -1), 0);
      },
      fast);
}

TEST_F(ModelServer, AnswersAMalformedRequestAndCloses) {
  serve(
      [](uint16_t port) {
        Client client(port);
        client.send("no request at all\r\n\r\n");
        EXPECT_TRUE(client.read_until("\1").starts_with("HTTP/1.1 400 "));
        Client second(port);
        second.send(post("[say well]", false) + "no request at all\r\n\r\n");
        std::string answers = second.read_until("\1");
        EXPECT_TRUE(answers.starts_with("HTTP/1.1 200 "));
        EXPECT_NE(answers.find("HTTP/1.1 400 "), std::string::npos);
      },
      fast);
}

TEST_F(ModelServer, FailsToolQueriesAsTheirWordsSay) {
  serve(
      [](uint16_t port) {
        for (auto [target, begin] : std::vector<std::pair<std::string_view, std::string_view>>{
                 {"/beta/search?q=boats&format=json", "HTTP/1.1 200 "},
                 {"/beta/search?q=fail+503&format=json", "HTTP/1.1 503 "},
                 {"/beta/search?q=boats", "HTTP/1.1 403 "},
                 {"/gamma/https://example.org/x", "HTTP/1.1 401 "},
                 {"/pages/redirect/2", "HTTP/1.1 302 "},
                 {"/pages/simple", "HTTP/1.1 200 "},
                 {"/nowhere", "HTTP/1.1 404 "}}) {
          Client client(port);
          client.send(get(target));
          EXPECT_TRUE(client.read_until("\1").starts_with(begin)) << target;
        }
      },
      fast);
}

struct Notification final : Wheel::Entry {
  Notification(std::vector<int>& fired_, int name_) : fired(fired_), name(name_) {}
  void on_due() override { fired.push_back(name); }
  std::vector<int>& fired;
  int name;
};

TEST(ModelWheel, FiresInTheOrderOfTimeAndNotBefore) {
  loop::Loop loop;
  Wheel wheel(loop);
  std::vector<int> fired;
  Notification late(fired, 3);
  Notification early(fired, 1);
  Notification middle(fired, 2);
  Notification never(fired, 9);
  int64_t begin = wheel.now_ms();
  wheel.schedule(late, begin + 1100);  // more than one round of the wheel
  wheel.schedule(early, begin);
  wheel.schedule(middle, begin + 30);
  wheel.schedule(never, begin + 10);
  wheel.cancel(never);
  loop.run();
  EXPECT_EQ(fired, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(wheel.now_ms(), begin + 1100);
}

TEST(ModelWheel, ForgetsAnEntryThatIsDestroyedByAnotherInTheSameTurn) {
  struct Killer final : Wheel::Entry {
    explicit Killer(std::unique_ptr<Notification>& victim_) : victim(victim_) {}
    void on_due() override { victim.reset(); }
    std::unique_ptr<Notification>& victim;
  };
  loop::Loop loop;
  Wheel wheel(loop);
  std::vector<int> fired;
  std::unique_ptr<Notification> victim = std::make_unique<Notification>(fired, 1);
  Killer killer(victim);
  wheel.schedule(killer, wheel.now_ms() + 5);
  wheel.schedule(*victim, wheel.now_ms() + 5);
  loop.run();
  EXPECT_TRUE(fired.empty());
}

}  // namespace
}  // namespace hostler::fake_model
