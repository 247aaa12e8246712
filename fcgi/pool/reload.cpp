// The inheritance as text; see fcgi/pool/reload.h.
#include "fcgi/pool/reload.h"

#include <charconv>

#include <fmt/format.h>

namespace hostler {
namespace {

// Takes a number off the front; false at the end.
bool take_number(std::string_view& text, int& number) {
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || number < -1) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string inheritance_text(const Inheritance& inheritance) {
  std::string text =
      fmt::format("{},{},{}", inheritance.listener.fd, inheritance.listener.path.empty() ? 0 : 1,
                  inheritance.listener.tcp_fd);
  for (const OldWorker& worker : inheritance.workers) {
    text += fmt::format(",{}:{}", worker.pid, worker.drain_fd);
  }
  return text;
}

std::optional<Inheritance> read_inheritance(std::string_view text, const std::string& own_path) {
  Inheritance found;
  int is_own = 0;
  bool is_well = take_number(text, found.listener.fd) && take_char(text, ',') &&
                 take_number(text, is_own) && take_char(text, ',') &&
                 take_number(text, found.listener.tcp_fd);
  if (!is_well) return std::nullopt;
  if (is_own == 1) found.listener.path = own_path;
  while (!text.empty()) {
    OldWorker worker{};
    is_well = take_char(text, ',') && take_number(text, worker.pid) && take_char(text, ':') &&
              take_number(text, worker.drain_fd);
    if (!is_well) return std::nullopt;
    found.workers.push_back(worker);
  }
  return found;
}

}  // namespace hostler
