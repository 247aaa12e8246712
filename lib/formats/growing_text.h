// Text that grows with a run, in states that are copied for every batch. Copies share the written
// bytes, and appending costs only the new bytes. For one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hostler::formats {

class GrowingText {
 public:
  size_t size() const { return size_; }
  std::string_view view() const { return whole_ ? std::string_view(*whole_).substr(0, size_) : ""; }

  void append(std::string_view more) {
    // Another copy went on from here, or this one was cut: what is written belongs to somebody.
    bool is_shared = !whole_ || whole_->size() != size_;
    if (is_shared) whole_ = std::make_shared<std::string>(view());
    whole_->append(more);
    size_ += more.size();
  }
  void cut(size_t size) { size_ = size; }

 private:
  std::shared_ptr<std::string> whole_;
  size_t size_ = 0;
};

}  // namespace hostler::formats
