// Connections on a listening socket, on the loop: accept, read, write. Bytes to write are shared
// between streams and never copied. Used by the relay. No coroutines here, and a watched descriptor
// instead of libuv's own stream, which takes more than all else that a relay keeps of one: an idle
// stream costs its socket and 200 bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/loop/loop.h"

namespace hostler::loop {

using SharedBytes = std::shared_ptr<const std::string>;

// Events of a stream for its owner. on_closed is the last call. From inside it or any other the
// owner may destroy the stream.
class StreamOwner {
 public:
  virtual void on_bytes(std::string_view bytes) = 0;  // valid during the call
  virtual void on_drained() = 0;                      // all that was sent is written
  virtual void on_closed() = 0;                       // the peer went away, or end() is done

 protected:
  ~StreamOwner() = default;
};

class Stream {
 public:
  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  // Closes at once; what is not written is lost.
  ~Stream();

  // Begins to read. The owner outlives the stream.
  void start(StreamOwner& owner);
  // Writes at once what the kernel takes, and the rest when it can. Calls nobody back before it
  // returns. Nothing happens after end() or when the peer is gone.
  void send(std::span<const SharedBytes> buffers);
  void send(std::string text);
  // Closes when everything is written; then on_closed.
  void end();

  // Sent but not taken by the kernel yet.
  size_t pending_bytes() const;
  bool is_ending() const;

 private:
  friend class StreamListener;
  struct Handle;
  struct Waiting;
  explicit Stream(Handle* handle) : handle_(handle) {}
  Handle* handle_;  // null: moved from
};

// The listening end. Destroying it stops the accepting; streams live on.
class StreamListener {
 public:
  using OnStream = std::function<void(Stream)>;
  // Whether the connection may stay; it is closed at once otherwise.
  using Admits = std::function<bool(int fd)>;
  // Takes over a listening socket, of the host or of the network. Throws internal_error if it is
  // not one.
  StreamListener(Loop& loop, int fd, OnStream on_stream, Admits admits = {});
  ~StreamListener();
  StreamListener(const StreamListener&) = delete;
  StreamListener& operator=(const StreamListener&) = delete;

  // Number of bytes that the kernel buffers for each accepted stream. A slow reader becomes visible
  // after that.
  static constexpr int send_buffer_bytes = 32 << 10;

 private:
  struct Handle;
  Handle* handle_;
};

}  // namespace hostler::loop
