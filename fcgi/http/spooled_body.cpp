// See fcgi/http/spooled_body.h.
#include "fcgi/http/spooled_body.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lib/error.h"
#include "lib/log.h"

namespace hostler {
namespace {

// /tmp may be in memory. PrivateTmp= gives a service both folders of its own. -1: it failed.
int open_nameless() {
  const char* named = getenv("TMPDIR");
  std::string folder = named != nullptr && *named != '\0' ? named : "/var/tmp";
  int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Not every file system has nameless files.
  std::string path = folder + "/hostler-upload-XXXXXX";
  fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) unlink(path.c_str());
  if (fd < 0) log_error("upload_has_no_file", {{"folder", folder}, {"cause", strerror(errno)}});
  return fd;
}

}  // namespace

SpooledBody::SpooledBody() : fd_(open_nameless()), is_full_(fd_ < 0) {}

SpooledBody::~SpooledBody() {
  if (fd_ >= 0) close(fd_);
}

bool SpooledBody::add(std::string_view bytes) {
  hash_.add(bytes);
  while (!bytes.empty() && !is_full_) {
    ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    is_full_ = count <= 0;
    if (is_full_) break;
    bytes_ += count;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return !is_full_;
}

void SpooledBody::end() { sha256_ = hash_.take(); }

std::string SpooledBody::read(int64_t offset, size_t count) const {
  std::string bytes(count, '\0');
  size_t done = 0;
  while (done < count) {
    ssize_t some =
        pread(fd_, bytes.data() + done, count - done, offset + static_cast<int64_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) throw Error(ErrorCode::internal_error, {}, "a temporary file cannot be read");
    if (some == 0) break;
    done += static_cast<size_t>(some);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace hostler
