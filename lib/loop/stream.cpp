// Streams over libuv pipes; see lib/loop/stream.h. Handles live on the heap and are freed in their
// close callback, as everywhere on the loop.
#include "lib/loop/stream.h"

#include <sys/socket.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"

namespace hostler::loop {
namespace {

constexpr size_t buffers_at_once_max = 64;

// Whatever is read is looked at before the next read: one buffer serves all streams of a thread.
uv_buf_t read_buffer() {
  static thread_local std::array<char, 64 << 10> bytes;
  return uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
}

uv_buf_t buffer_of(std::string_view bytes) {
  return uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
}

uv_stream_t* stream_of(uv_pipe_t& pipe) { return reinterpret_cast<uv_stream_t*>(&pipe); }
uv_handle_t* uv_of(uv_pipe_t& pipe) { return reinterpret_cast<uv_handle_t*>(&pipe); }

}  // namespace

struct Stream::Handle {
  uv_pipe_t pipe;
  StreamOwner* owner = nullptr;   // null: the stream is gone
  std::unique_ptr<Writing> next;  // gathers while another is being written
  size_t next_bytes = 0;
  bool is_writing = false;
  bool is_ending = false;
  bool is_broken = false;

  void write(std::unique_ptr<Writing> writing);
  void written(int status);
  void read(ssize_t count, const uv_buf_t* buffer);
};

// Buffers on their way into the kernel.
struct Stream::Writing {
  uv_write_t request;
  Handle* handle;
  size_t skip = 0;  // bytes of the first buffer that are written already
  std::vector<SharedBytes> buffers;
};

void Stream::start(StreamOwner& owner) {
  handle_->owner = &owner;
  uv_read_start(
      stream_of(handle_->pipe),
      [](uv_handle_t*, size_t, uv_buf_t* buffer) { *buffer = read_buffer(); },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
        static_cast<Handle*>(stream->data)->read(count, buffer);
      });
}

void Stream::Handle::read(ssize_t count, const uv_buf_t* buffer) {
  if (count == 0 || owner == nullptr) return;  // EAGAIN
  if (count > 0) {
    owner->on_bytes({buffer->base, static_cast<size_t>(count)});
    return;
  }
  is_broken = true;
  uv_read_stop(stream_of(pipe));
  owner->on_closed();
}

void Stream::send(std::string text) {
  SharedBytes bytes = std::make_shared<const std::string>(std::move(text));
  send(std::span<const SharedBytes>(&bytes, 1));
}

void Stream::send(std::span<const SharedBytes> buffers) {
  if (handle_->is_ending || handle_->is_broken) return;
  size_t skip = 0;
  while (!handle_->is_writing && !buffers.empty()) {
    std::array<uv_buf_t, buffers_at_once_max> views;
    size_t count = 0;
    size_t total = 0;
    for (; count < std::min(buffers.size(), views.size()); ++count) {
      views[count] = buffer_of(*buffers[count]);
      total += buffers[count]->size();
    }
    int taken = uv_try_write(stream_of(handle_->pipe), views.data(), static_cast<unsigned>(count));
    if (taken < 0 && taken != UV_EAGAIN) {
      // Reading notices the same fault, and tells the owner from outside of this call.
      handle_->is_broken = true;
      return;
    }
    size_t written = taken < 0 ? 0 : static_cast<size_t>(taken);
    bool is_all = written == total;
    while (!buffers.empty() && written >= buffers.front()->size()) {
      written -= buffers.front()->size();
      buffers = buffers.subspan(1);
    }
    skip = written;
    if (!is_all) break;
  }
  if (buffers.empty()) return;
  if (!handle_->next) handle_->next = std::make_unique<Writing>();
  Writing& next = *handle_->next;
  if (next.buffers.empty()) next.skip = skip;
  for (const SharedBytes& buffer : buffers) {
    next.buffers.push_back(buffer);
    handle_->next_bytes += buffer->size();
  }
  handle_->next_bytes -= skip;
  if (!handle_->is_writing) handle_->write(std::move(handle_->next));
}

void Stream::Handle::write(std::unique_ptr<Writing> writing) {
  std::vector<uv_buf_t> views;
  views.reserve(writing->buffers.size());
  for (const SharedBytes& buffer : writing->buffers) {
    size_t skip = views.empty() ? writing->skip : 0;
    views.push_back(buffer_of(std::string_view(*buffer).substr(skip)));
  }
  next_bytes = 0;
  is_writing = true;
  writing->handle = this;
  writing->request.data = writing.get();
  auto done = [](uv_write_t* request, int status) {
    std::unique_ptr<Writing> finished(static_cast<Writing*>(request->data));
    finished->handle->written(status);
  };
  int failed = uv_write(&writing->request, stream_of(pipe), views.data(),
                        static_cast<unsigned>(views.size()), done);
  if (failed != 0) {
    is_writing = false;
    is_broken = true;
    return;
  }
  static_cast<void>(writing.release());  // the callback's now
}

void Stream::Handle::written(int status) {
  is_writing = false;
  if (owner == nullptr || is_broken) return;
  if (status < 0) {
    is_broken = true;
    owner->on_closed();
    return;
  }
  if (next) {
    write(std::move(next));
    return;
  }
  if (is_ending) {
    is_broken = true;
    owner->on_closed();
    return;
  }
  owner->on_drained();
}

void Stream::end() {
  if (handle_->is_ending || handle_->is_broken) return;
  handle_->is_ending = true;
  if (handle_->is_writing) return;
  // Nothing is on its way. An empty write calls back on a later turn, from outside of this call.
  std::unique_ptr<Writing> last = std::make_unique<Writing>();
  last->buffers.push_back(std::make_shared<const std::string>());
  handle_->write(std::move(last));
}

size_t Stream::pending_bytes() const {
  return uv_stream_get_write_queue_size(stream_of(handle_->pipe)) + handle_->next_bytes;
}

bool Stream::is_ending() const { return handle_->is_ending; }

Stream::~Stream() {
  handle_->owner = nullptr;
  uv_close(uv_of(handle_->pipe),
           [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
}

struct StreamListener::Handle {
  uv_pipe_t pipe;  // libuv does not mind that it may be a socket of TCP
  OnStream on_stream;
  Admits admits;

  void accept();
};

StreamListener::StreamListener(Loop& loop, int fd, OnStream on_stream, Admits admits)
    : handle_(new Handle) {
  handle_->on_stream = std::move(on_stream);
  handle_->admits = std::move(admits);
  handle_->pipe.data = handle_;
  uv_pipe_init(loop.raw(), &handle_->pipe, 0);
  int failed = uv_pipe_open(&handle_->pipe, fd);
  if (failed == 0) {
    failed = uv_listen(stream_of(handle_->pipe), SOMAXCONN, [](uv_stream_t* listening, int status) {
      if (status == 0) static_cast<Handle*>(listening->data)->accept();
    });
  }
  if (failed == 0) return;
  uv_close(uv_of(handle_->pipe),
           [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
  throw Error(ErrorCode::internal_error, {}, fmt::format("cannot listen: {}", uv_strerror(failed)));
}

StreamListener::~StreamListener() {
  handle_->on_stream = nullptr;
  uv_close(uv_of(handle_->pipe),
           [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
}

void StreamListener::Handle::accept() {
  Stream::Handle* accepted = new Stream::Handle;
  uv_pipe_init(pipe.loop, &accepted->pipe, 0);
  accepted->pipe.data = accepted;
  std::unique_ptr<Stream> stream(new Stream(accepted));
  if (uv_accept(stream_of(pipe), stream_of(accepted->pipe)) != 0) return;
  int fd = -1;
  uv_fileno(uv_of(accepted->pipe), &fd);
  if (admits && !admits(fd)) return;
  int bytes = send_buffer_bytes;
  uv_send_buffer_size(uv_of(accepted->pipe), &bytes);
  on_stream(std::move(stream));
}

}  // namespace hostler::loop
