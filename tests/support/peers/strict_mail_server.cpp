// See tests/support/peers/strict_mail_server.h.
#include "tests/support/peers/strict_mail_server.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hostler::testing_support {

StrictMailServer::ScriptFile::ScriptFile()
    : path_((std::filesystem::temp_directory_path() / "strict-mail-XXXXXX").string()) {
  int fd = mkstemp(path_.data());
  if (fd < 0) throw std::runtime_error("cannot make " + path_);
  close(fd);
}

StrictMailServer::ScriptFile::~ScriptFile() { unlink(path_.c_str()); }

void StrictMailServer::ScriptFile::write(const std::string& text) {
  std::string unfinished = path_ + ".new";
  std::ofstream(unfinished) << text;
  std::filesystem::rename(unfinished, path_);
}

}  // namespace hostler::testing_support
