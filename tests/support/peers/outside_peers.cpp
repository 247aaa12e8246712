// See tests/support/peers/outside_peers.h.
#include "tests/support/peers/outside_peers.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t records_limit_ms = 20'000;

struct Folder {
  Folder() : path((std::filesystem::temp_directory_path() / "peers-XXXXXX").string()) {
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
    ProgramRun run =
        run_program({"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path + "/key.pem", "-out",
                     path + "/ca.pem", "-subj", "/CN=peers of tests", "-addext",
                     "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost", "-days", "2"});
    if (run.status != 0) throw std::runtime_error("openssl: " + run.err);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

const std::string& folder() {
  static const Folder made;
  return made.path;
}

}  // namespace

std::string OutsidePeer::ca_file() { return folder() + "/ca.pem"; }

OutsidePeer::OutsidePeer(const std::string& script, std::vector<std::string> arguments) {
  static int number = 0;
  record_ = fmt::format("{}/record-{}", folder(), ++number);
  ChildPlan plan;
  plan.command = {"/usr/bin/python3", "tests/support/peers/" + script};
  plan.command.insert(plan.command.end(), arguments.begin(), arguments.end());
  plan.command.insert(plan.command.end(), {ca_file(), folder() + "/key.pem", record_});
  plan.log_path = record_ + ".log";
  plan.reads_stdout = true;
  child_ = std::make_unique<Child>(plan);
  constexpr std::string_view stated = "listening on ";
  std::string line = child_->read_line();
  if (line.starts_with(stated)) {
    std::from_chars(line.data() + stated.size(), line.data() + line.size(), port_);
  }
  if (port_ == 0) throw std::runtime_error(script + ": " + line + read_text_file(plan.log_path));
}

OutsidePeer::~OutsidePeer() { child_->send_signal(SIGKILL); }

std::string OutsidePeer::url(const std::string& path) const {
  return fmt::format("https://127.0.0.1:{}{}", port_, path);
}

std::vector<Json> OutsidePeer::records() const {
  std::vector<Json> list;
  std::ifstream file(record_);
  for (std::string line; std::getline(file, line);) {
    std::optional<Json> record = parse_json_or_nothing(line);
    if (record) list.push_back(std::move(*record));  // else it is being written
  }
  return list;
}

std::vector<Json> OutsidePeer::wait_for_records(size_t count) const {
  std::vector<Json> list;
  EXPECT_TRUE(eventually(records_limit_ms, [&] {
    list = records();
    return list.size() >= count;
  })) << count;
  return list;
}

}  // namespace hostler::testing_support
