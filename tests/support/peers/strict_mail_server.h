// A mail server that answers as a test wants at every step; its script's members are described in
// tests/support/peers/strict_mail_server.py. It keeps mails and commands apart.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/peers/outside_peers.h"

namespace hostler::testing_support {

class StrictMailServer {
 public:
  explicit StrictMailServer(const std::string& script = "{}") {
    set_script(script);
    peer_ = std::make_unique<OutsidePeer>("strict_mail_server.py",
                                          std::vector<std::string>{file_.path()});
  }
  // From the next connection on.
  void set_script(const std::string& script) { file_.write(script); }

  int port() const { return peer_->port(); }
  std::vector<std::string> commands() const {
    std::vector<std::string> commands;
    for (const Json& record : peer_->records()) {
      if (record.find("command") != nullptr) commands.emplace_back(record.text_or("command"));
    }
    return commands;
  }
  // Whole mails, oldest first.
  std::vector<Json> mails() const {
    std::vector<Json> mails;
    for (Json& record : peer_->records()) {
      if (record.find("message") != nullptr) mails.push_back(std::move(record));
    }
    return mails;
  }
  // Whether it was sent a line that begins so.
  bool was_sent(std::string_view beginning) const {
    std::vector<std::string> sent = commands();
    return std::any_of(sent.begin(), sent.end(),
                       [&](const std::string& command) { return command.starts_with(beginning); });
  }

 private:
  class ScriptFile {
   public:
    ScriptFile();
    ~ScriptFile();
    ScriptFile(const ScriptFile&) = delete;
    ScriptFile& operator=(const ScriptFile&) = delete;
    // Renamed into place: the server reads a whole one.
    void write(const std::string& text);
    const std::string& path() const { return path_; }

   private:
    std::string path_;
  };

  ScriptFile file_;
  std::unique_ptr<OutsidePeer> peer_;
};

}  // namespace hostler::testing_support
