// The type of a file by its bytes. What a client says of it, and how it is called, do not count.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct magic_set;

namespace hostler::files {

class FileTypes {
 public:
  // Loads the table of libmagic, so it is made before the process enters its sandbox. Throws
  // std::runtime_error when the table cannot be read.
  FileTypes();

  // A lower-case media type. UTF-8 without NUL is text, whatever libmagic makes of short files:
  // text/html, application/json, image/svg+xml or text/plain.
  std::string type_of(std::string_view bytes) const;

 private:
  std::unique_ptr<magic_set, void (*)(magic_set*)> cookie_;
};

}  // namespace hostler::files
