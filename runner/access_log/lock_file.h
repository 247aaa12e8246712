// A file that one process of the host at a time has locked, with an id in it: random, made by the
// first holder of the lock and found again by later ones. The lock dies with the process, so its
// holder knows that all earlier holders are dead. Used for a daemon's instance and for the access
// log's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hostler::runner {

class LockFile {
 public:
  // boot: the id is valid for this boot of the host and this very file. Otherwise a new one is
  // made, because a copy of the file, as in a cloned machine or an image, proves nothing about the
  // holder of the lock. Without a boot the id stays with the file's text.
  explicit LockFile(std::string path, std::optional<std::string> boot = std::nullopt)
      : path_(std::move(path)), boot_(std::move(boot)) {}
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // At once or not at all; held until this object ends. False: another process has the lock, or
  // the file cannot be opened.
  bool take();
  // Why take() was false; empty when another process has the lock.
  const std::string& fault() const { return fault_; }

  // Both with the lock held.
  const std::string& id() const { return id_; }             // 32 hex digits
  int64_t id_created_ns() const { return id_created_ns_; }  // wall clock of the file system

 private:
  std::string bond() const;
  void read_or_make_id();

  std::string path_;
  std::optional<std::string> boot_;
  int fd_ = -1;
  std::string fault_;
  std::string id_;
  int64_t id_created_ns_ = 0;
};

// The kernel's name for this boot, empty if it is hidden.
std::string boot_of_host();

}  // namespace hostler::runner
