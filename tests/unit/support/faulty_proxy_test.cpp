// The line of the fault tests breaks where it should, once, and passes on everything else.
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/eventually.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>

#include <fmt/format.h>

#include "tests/support/peers/scripted_server.h"

namespace hostler {
namespace {

using namespace testing_support;

class FaultyProxyTest : public testing::Test {
 protected:
  // A client of the line, with a limit of so many milliseconds to each read.
  struct Client {
    Client(const FaultyProxy& line, int wait_ms) : fd(socket(AF_INET, SOCK_STREAM, 0)) {
      sockaddr_in there{};
      there.sin_family = AF_INET;
      there.sin_port = htons(static_cast<uint16_t>(line.port()));
      there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
      timeval limit{wait_ms / 1000, wait_ms % 1000 * 1000};
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    ~Client() { close(fd); }
    // Returns what comes until `wanted` bytes are there, the end, a break or the limit.
    std::string ask(std::string_view text, size_t wanted) {
      send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      std::string answer;
      char bytes[4096];
      while (answer.size() < wanted) {
        ssize_t count = recv(fd, bytes, sizeof bytes, 0);
        end = count == 0 ? "closed" : count > 0 ? "" : errno == EAGAIN ? "silent" : "reset";
        if (count <= 0) break;
        answer.append(bytes, static_cast<size_t>(count));
      }
      return answer;
    }
    int fd;
    std::string end;
  };

  Client client(int wait_ms = 20'000) { return {proxy_, wait_ms}; }

  static constexpr std::string_view request = "GET / HTTP/1.1\r\n\r\n";
  // Returns what the server saw of the newest request.
  std::string seen() {
    std::lock_guard lock(mutex_);
    return seen_;
  }

  std::mutex mutex_;
  std::string seen_;
  ScriptedServer server_{[this](Peer& peer) {
    while (true) {
      std::string request_seen = peer.read_request();
      std::lock_guard lock(mutex_);
      seen_ = request_seen;
      if (seen_.empty() || !peer.send("abcdef") || !peer.send("ghi")) return;
    }
  }};
  FaultyProxy proxy_{"127.0.0.1:" + server_.url("").substr(server_.url("").rfind(':') + 1)};
};

TEST_F(FaultyProxyTest, PassesEverythingWithoutAFault) {
  Client peer = client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(peer.ask(request, 9), "abcdefghi");
  EXPECT_EQ(proxy_.connections(), 1);
  EXPECT_EQ(proxy_.faults(), 0);
}

TEST_F(FaultyProxyTest, CutsBehindWhatIsLetThroughAndOnlyOnce) {
  proxy_.arm({FaultKind::cut, LineEnd::server, "cdefg", 2});
  Client peer = client();
  EXPECT_EQ(peer.ask(request, 9), "abcd") << "the match was in two pieces";
  EXPECT_EQ(peer.end, "closed");
  EXPECT_EQ(proxy_.faults(), 1);
  EXPECT_EQ(client().ask(request, 9), "abcdefghi");
}

TEST_F(FaultyProxyTest, CutsBeforeTheServerHearsOfIt) {
  proxy_.arm({FaultKind::cut, LineEnd::client, "\r\n\r\n"});
  Client peer = client();
  EXPECT_EQ(peer.ask(request, 9), "");
  ASSERT_TRUE(server_.wait_for_ended(1));
  EXPECT_EQ(seen(), "");
}

TEST_F(FaultyProxyTest, ResetsBothEnds) {
  proxy_.arm({FaultKind::reset});
  Client peer = client();
  EXPECT_EQ(peer.ask(request, 9), "");
  EXPECT_EQ(peer.end, "reset");
}

TEST_F(FaultyProxyTest, KeepsAHalfOpenConnectionSilent) {
  proxy_.arm({FaultKind::half_open, LineEnd::server, "e"});
  Client peer = client(300);
  EXPECT_EQ(peer.ask(request, 9), "abcd");
  EXPECT_EQ(peer.end, "silent");
  proxy_.cut_all();
  peer.ask("", 1);
  EXPECT_NE(peer.end, "silent");
}

TEST_F(FaultyProxyTest, SwallowsWhatOneEndSays) {
  proxy_.arm({FaultKind::swallow, LineEnd::server});
  Client peer = client(300);
  EXPECT_EQ(peer.ask(request, 9), "");
  EXPECT_EQ(peer.end, "silent");
  EXPECT_EQ(seen(), request) << "the server was asked and has answered";
}

TEST_F(FaultyProxyTest, DelaysAndGoesOn) {
  proxy_.arm({FaultKind::delay, LineEnd::server, "d", 0, 200});
  Client peer = client();
  int64_t begin_ms = monotonic_ms();
  EXPECT_EQ(peer.ask(request, 9), "abcdefghi");
  EXPECT_GE(monotonic_ms() - begin_ms, 200);
}

TEST_F(FaultyProxyTest, RefusesNewConnections) {
  proxy_.refuse(true);
  EXPECT_EQ(client().ask(request, 9), "");
  proxy_.refuse(false);
  EXPECT_EQ(client().ask(request, 9), "abcdefghi");
}

}  // namespace
}  // namespace hostler
