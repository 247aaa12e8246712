// Streams over watched descriptors; see lib/loop/stream.h. Handles live on the heap and are freed
// in their close callback, as everywhere on the loop.
#include "lib/loop/stream.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "lib/error.h"

namespace hostler::loop {
namespace {

constexpr size_t buffers_at_once_max = 64;

constexpr int accepts_at_once_max = 64;

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Returns -1 if none is left.
int open_spare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

uv_handle_t* uv_of(uv_poll_t& poll) { return reinterpret_cast<uv_handle_t*>(&poll); }

}  // namespace

// Watched for reading from start() on: so the peer's end is noticed; for writing while something
// waits for the kernel.
struct Stream::Handle {
  uv_poll_t poll;
  StreamOwner* owner = nullptr;      // null: the stream is gone
  std::unique_ptr<Waiting> waiting;  // null: nothing
  int fd;
  bool is_ending = false;
  bool is_broken = false;

  explicit Handle(int accepted_fd) : fd(accepted_fd) { poll.data = this; }
  size_t write(std::span<const SharedBytes>& buffers, size_t skip);
  void watch();
  void take(bool readable, bool writable);
  void read();
  void write_waiting();
  void end_reading();
  void close_for_owner();
};

// Buffers that the kernel did not take yet.
struct Stream::Waiting {
  std::deque<SharedBytes> buffers;
  size_t skip = 0;   // bytes of the first one that are written already
  size_t bytes = 0;  // all that waits
};

void Stream::Handle::watch() {
  int events = UV_READABLE | (waiting ? UV_WRITABLE : 0);
  uv_poll_start(&poll, events, [](uv_poll_t* polled, int status, int ready) noexcept {
    // After an error libuv watches no longer, and there is nothing to read any more.
    Handle& handle = *static_cast<Handle*>(polled->data);
    if (status < 0) {
      handle.close_for_owner();
    } else {
      handle.take((ready & UV_READABLE) != 0, (ready & UV_WRITABLE) != 0);
    }
  });
}

// Each call of the owner may be the stream's last: this is still there, and its owner is not.
void Stream::Handle::take(bool readable, bool writable) {
  if (readable) read();
  if (writable && waiting && owner != nullptr && !is_broken) write_waiting();
}

void Stream::Handle::close_for_owner() {
  is_broken = true;
  uv_poll_stop(&poll);
  if (owner != nullptr) owner->on_closed();
}

// Tells the owner that it is closed, on a later turn.
void Stream::Handle::end_reading() { shutdown(fd, SHUT_RD); }

void Stream::Handle::read() {
  // The owner looks at the bytes before the next read, because one buffer serves all streams of a
  // thread.
  static thread_local std::array<char, 64 << 10> bytes;
  ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
  if (count > 0) {
    owner->on_bytes({bytes.data(), static_cast<size_t>(count)});
  } else if (count == 0 || !is_for_later(errno)) {
    close_for_owner();
  }
}

// Writes from the first buffer's byte `skip` on until the kernel takes no more, drops from
// `buffers` what is written whole, and answers how much of the first that is left is written.
size_t Stream::Handle::write(std::span<const SharedBytes>& buffers, size_t skip) {
  while (!buffers.empty()) {
    std::array<iovec, buffers_at_once_max> views;
    size_t count = std::min(buffers.size(), views.size());
    size_t total = 0;
    for (size_t i = 0; i < count; ++i) {
      std::string_view bytes = std::string_view(*buffers[i]).substr(i == 0 ? skip : 0);
      views[i] = {const_cast<char*>(bytes.data()), bytes.size()};
      total += bytes.size();
    }
    msghdr message{};
    message.msg_iov = views.data();
    message.msg_iovlen = count;
    ssize_t taken = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (taken < 0 && !is_for_later(errno)) {
      is_broken = true;
      return 0;
    }
    size_t written = taken < 0 ? 0 : static_cast<size_t>(taken);
    bool is_all = written == total;
    skip += written;
    while (!buffers.empty() && skip >= buffers.front()->size()) {
      skip -= buffers.front()->size();
      buffers = buffers.subspan(1);
    }
    if (!is_all) break;
  }
  return skip;
}

void Stream::Handle::write_waiting() {
  std::array<SharedBytes, buffers_at_once_max> batch;
  while (waiting) {
    size_t count = std::min(waiting->buffers.size(), batch.size());
    std::copy_n(waiting->buffers.begin(), count, batch.begin());
    std::span<const SharedBytes> left(batch.data(), count);
    size_t skip = write(left, waiting->skip);
    if (is_broken) {
      close_for_owner();
      return;
    }
    for (size_t i = 0; i < count - left.size(); ++i) {
      waiting->bytes -= waiting->buffers.front()->size() - std::exchange(waiting->skip, 0);
      waiting->buffers.pop_front();
    }
    if (!left.empty()) waiting->bytes -= skip - std::exchange(waiting->skip, skip);
    if (waiting->buffers.empty()) waiting.reset();
    if (!left.empty()) return;
  }
  if (is_ending) {
    close_for_owner();
    return;
  }
  watch();
  owner->on_drained();
}

void Stream::start(StreamOwner& owner) {
  handle_->owner = &owner;
  handle_->watch();
}

void Stream::send(std::string text) {
  SharedBytes bytes = std::make_shared<const std::string>(std::move(text));
  send(std::span<const SharedBytes>(&bytes, 1));
}

void Stream::send(std::span<const SharedBytes> buffers) {
  if (handle_->is_ending || handle_->is_broken) return;
  size_t skip = 0;
  if (!handle_->waiting) {
    skip = handle_->write(buffers, 0);
    if (handle_->is_broken) handle_->end_reading();
    if (buffers.empty() || handle_->is_broken) return;
    handle_->waiting = std::make_unique<Waiting>();
    handle_->waiting->skip = skip;
    handle_->watch();
  }
  Waiting& waiting = *handle_->waiting;
  for (const SharedBytes& buffer : buffers) {
    waiting.buffers.push_back(buffer);
    waiting.bytes += buffer->size();
  }
  waiting.bytes -= skip;
}

void Stream::end() {
  if (handle_->is_ending || handle_->is_broken) return;
  handle_->is_ending = true;
  if (!handle_->waiting) handle_->end_reading();
}

size_t Stream::pending_bytes() const { return handle_->waiting ? handle_->waiting->bytes : 0; }

bool Stream::is_ending() const { return handle_->is_ending; }

Stream::~Stream() {
  if (handle_ == nullptr) return;
  handle_->owner = nullptr;
  uv_close(uv_of(handle_->poll),
           [](uv_handle_t* closed) noexcept { delete static_cast<Handle*>(closed->data); });
  close(handle_->fd);
}

struct StreamListener::Handle {
  explicit Handle(int listening_fd) : fd(listening_fd) { poll.data = this; }
  ~Handle() {
    if (spare_fd >= 0) close(spare_fd);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  uv_poll_t poll;
  int fd;
  // Given up for a moment when there is no other left, to close who is waiting: or it would wait,
  // and the loop turn, until one is free.
  int spare_fd = open_spare();
  OnStream on_stream;  // null: the listener is gone
  Admits admits;

  void accept_all();
  int accept_one();
  void take(int accepted_fd);
};

StreamListener::StreamListener(Loop& loop, int fd, OnStream on_stream, Admits admits)
    : handle_(new Handle(fd)) {
  handle_->on_stream = std::move(on_stream);
  handle_->admits = std::move(admits);
  int failed = listen(fd, SOMAXCONN) != 0 ? errno : -uv_poll_init(loop.raw(), &handle_->poll, fd);
  if (failed != 0) {
    delete handle_;
    close(fd);
    throw Error(ErrorCode::internal_error, {},
                fmt::format("cannot listen: {}", std::generic_category().message(failed)));
  }
  uv_poll_start(&handle_->poll, UV_READABLE, [](uv_poll_t* polled, int, int) noexcept {
    static_cast<Handle*>(polled->data)->accept_all();
  });
}

StreamListener::~StreamListener() {
  handle_->on_stream = nullptr;
  uv_close(uv_of(handle_->poll),
           [](uv_handle_t* closed) noexcept { delete static_cast<Handle*>(closed->data); });
  close(handle_->fd);
}

// Serves those that wait, but only so many, because streams want to be served in between.
void StreamListener::Handle::accept_all() {
  for (int i = 0; i < accepts_at_once_max && on_stream; ++i) {
    int accepted_fd = accept_one();
    if (accepted_fd < 0) return;
    take(accepted_fd);
  }
}

int StreamListener::Handle::accept_one() {
  // Another thread may have taken its number when it was given up.
  if (spare_fd < 0) spare_fd = open_spare();
  int accepted_fd = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  bool is_out = accepted_fd < 0 && (errno == EMFILE || errno == ENFILE);
  if (!is_out || spare_fd < 0) return accepted_fd;
  close(spare_fd);
  accepted_fd = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted_fd >= 0) close(accepted_fd);
  spare_fd = open_spare();
  return -1;
}

void StreamListener::Handle::take(int accepted_fd) {
  auto* accepted = new Stream::Handle(accepted_fd);
  if (uv_poll_init(poll.loop, &accepted->poll, accepted_fd) != 0) {
    delete accepted;
    close(accepted_fd);
    return;
  }
  Stream stream(accepted);
  if (admits && !admits(accepted_fd)) return;
  int bytes = send_buffer_bytes;
  setsockopt(accepted_fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  on_stream(std::move(stream));
}

}  // namespace hostler::loop
