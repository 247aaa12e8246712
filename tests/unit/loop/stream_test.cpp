// Streams: what is sent arrives once and in order however little the kernel takes at a time, and
// each end is told once, from outside of the owner's own calls.
#include "lib/loop/stream.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/crypto.h"
#include "lib/net/unix_listener.h"
#include "tests/support/eventually.h"

namespace hostler::loop {
namespace {

using testing_support::eventually;

class StreamTest : public ::testing::Test, protected StreamOwner {
 protected:
  StreamTest() {
    int fd = net::listen_unix(path_, 0600);
    listener_ = std::make_unique<StreamListener>(
        loop_, fd, [this](Stream stream) { stream_.emplace(std::move(stream)); });
  }
  ~StreamTest() override {
    if (client_ >= 0) close(client_);
    unlink(path_.c_str());
  }
  void on_bytes(std::string_view bytes) override { received_ += bytes; }
  void on_drained() override { ++drained_; }
  void on_closed() override {
    EXPECT_FALSE(is_calling_);
    ++closed_;
  }

  static int connected(const std::string& path) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  void open() {
    client_ = connected(path_);
    EXPECT_TRUE(until([this] { return stream_.has_value(); }));
    stream_->start(*this);
  }
  template <class What>
  bool until(What what) {
    return eventually(10'000, [&] {
      loop_.run_once();
      return what();
    });
  }
  // Returns what the client has read by now, at most so much at a time. False: the stream's end.
  bool read_some(size_t bytes_max = 1 << 20) {
    std::string bytes(bytes_max, '\0');
    ssize_t count = recv(client_, bytes.data(), bytes.size(), 0);
    if (count == 0) return false;
    if (count > 0) read_ += bytes.substr(0, static_cast<size_t>(count));
    return true;
  }
  void send(std::span<const SharedBytes> buffers) {
    is_calling_ = true;
    stream_->send(buffers);
    is_calling_ = false;
  }

  std::string path_ = testing::TempDir() + "stream-" + to_hex(random_bytes(6));
  Loop loop_;
  std::unique_ptr<StreamListener> listener_;
  std::optional<Stream> stream_;
  int client_ = -1;
  std::string received_;
  std::string read_;
  int drained_ = 0;
  int closed_ = 0;
  bool is_calling_ = false;
};

TEST_F(StreamTest, WritesAllOnceAndInOrderHoweverLittleIsTaken) {
  open();
  std::minstd_rand random(7);
  std::string sent;
  for (int round = 0; round < 40; ++round) {
    std::vector<SharedBytes> buffers;
    for (auto i = random() % 150; i > 0; --i) {
      buffers.push_back(
          std::make_shared<const std::string>(random() % 3000, static_cast<char>('a' + i % 26)));
      sent += *buffers.back();
    }
    send(buffers);
    for (auto i = random() % 6; i > 0; --i) {
      loop_.run_once();
      read_some(1 + random() % 40'000);
    }
    EXPECT_GE(sent.size(), read_.size() + stream_->pending_bytes());
  }
  EXPECT_TRUE(until([&] { return read_some() && read_.size() == sent.size(); }));
  EXPECT_TRUE(read_ == sent);
  EXPECT_EQ(stream_->pending_bytes(), 0u);
  EXPECT_GT(drained_, 0);
  EXPECT_EQ(closed_, 0);
}

TEST_F(StreamTest, EndsBehindWhatIsSent) {
  open();
  std::string sent(1 << 20, 'x');
  stream_->send(sent);
  stream_->end();
  EXPECT_TRUE(stream_->is_ending());
  stream_->send("too late");
  EXPECT_TRUE(until([&] { return read_some() && closed_ == 1; }));
  stream_.reset();
  EXPECT_TRUE(until([&] { return !read_some(); }));
  EXPECT_TRUE(read_ == sent);
  EXPECT_EQ(drained_, 0);
}

TEST_F(StreamTest, EndsOnALaterTurnWhenNothingIsOnItsWay) {
  open();
  is_calling_ = true;
  stream_->end();
  stream_->end();
  is_calling_ = false;
  EXPECT_EQ(closed_, 0);
  EXPECT_TRUE(until([&] { return closed_ == 1; }));
}

TEST_F(StreamTest, TellsOnceThatThePeerIsGone) {
  open();
  stream_->send(std::string(1 << 20, 'x'));
  EXPECT_GT(stream_->pending_bytes(), 0u);
  close(std::exchange(client_, -1));
  EXPECT_TRUE(until([&] { return closed_ == 1; }));
  stream_->send("nobody");
  stream_->end();
  for (int i = 0; i < 10; ++i) loop_.run_once();
  EXPECT_EQ(closed_, 1);
}

TEST_F(StreamTest, TellsAFaultOfTheWriteFromOutsideOfIt) {
  open();
  close(std::exchange(client_, -1));
  SharedBytes bytes = std::make_shared<const std::string>("nobody");
  send({&bytes, 1});
  EXPECT_TRUE(until([&] { return closed_ == 1; }));
}

TEST_F(StreamTest, HearsWhatIsSaid) {
  open();
  EXPECT_EQ(::send(client_, "hello", 5, 0), 5);
  EXPECT_TRUE(until([&] { return received_ == "hello"; }));
}

// A client that waits while there is no descriptor left is turned away, and the loop rests.
TEST_F(StreamTest, TurnsAwayWhoeverThereIsNoDescriptorFor) {
  int other = connected(path_);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few{256, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<int> taken;
  for (int fd = dup(other); fd >= 0; fd = dup(other)) taken.push_back(fd);
  std::array<char, 1> byte;
  bool is_turned_away = until([&] { return recv(other, byte.data(), 1, 0) == 0; });
  for (int fd : taken) close(fd);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(is_turned_away);
  EXPECT_FALSE(stream_.has_value());
  close(other);
  open();
}

}  // namespace
}  // namespace hostler::loop
