// Backup and restore; see ctl/backup.h.
#include "ctl/backup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "ctl/subprocess.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/postgres/session.h"
#include "queries/operator.h"
#include "schema_version.h"

namespace hostler {
namespace {

constexpr const char* application = "hostlerctl backup";
// Compared after a restore.
constexpr const char* counted[] = {"users",  "orgs", "messages", "runs", "credit_transactions",
                                   "secrets"};

// The address for the arguments of a tool, which every user of the host may read: its password goes
// by the environment. Of several hosts the one that the session is at: a tool would take the first
// that answers, also one that only follows.
std::string address_without_password(const postgres::DbSession& session, const std::string& url) {
  postgres::ParsedAddress parsed = postgres::parse_address(session.at_this_server(url));
  if (!parsed.password.empty()) setenv("PGPASSWORD", parsed.password.c_str(), 1);
  return parsed.without_password;
}

int tool_failed(const char* tool, int status) {
  if (status == 127) {
    return fail(exit_unavailable,
                fmt::format("{} is missing: apt install postgresql-client", tool));
  }
  return fail(exit_bad_input, fmt::format("{} failed; its messages are above", tool));
}

std::string manifest(const postgres::Row& facts) {
  JsonWriter json;
  json.begin_object().member("version", HOSTLER_VERSION);
  json.member("schema_version", facts.text("schema_version"));
  json.member("created_at", facts.text("created_at"));
  json.member("key_version", facts.integer("key_version"));
  for (const char* name : counted) json.member(name, facts.integer(name));
  return json.end_object().take();
}

std::optional<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool write_whole(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return !file.fail();
}

// FILE.part, which becomes FILE when all is in it, and goes when not. Of one backup at a time: a
// second one into the same file would cut off what the first has written. pg_dump inherits the
// lock, so that it outlives a hostlerctl that is killed. What a killed backup left is written over.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& file)
      : file_(file), path_(file + ".part"), fd_(open(path_.c_str(), O_WRONLY | O_CREAT, 0600)) {
    if (fd_ < 0) {
      refusal_ = {exit_cannot_create,
                  fmt::format("cannot write {}: {}", file, std::strerror(errno))};
    } else if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      // Any other fault is of a file system without locks: there nothing guards.
      refusal_ = {exit_try_again, "another backup into " + file + " is under way"};
    } else if (std::filesystem::exists(file)) {  // it ended between the look and the lock
      refusal_ = {exit_bad_input, file + " exists; name another file"};
    } else {
      is_ours_ = true;
      fchmod(fd_, 0600);  // a leftover may be open to more than its owner
    }
  }
  ~UnfinishedFile() {
    if (is_ours_) std::remove(path_.c_str());
    if (fd_ >= 0) close(fd_);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  bool is_ours() const { return is_ours_; }
  int refuse() const { return fail(refusal_.status, refusal_.words); }
  const std::string& path() const { return path_; }
  // False, with errno, when it cannot have its name.
  bool finish() {
    is_ours_ = std::rename(path_.c_str(), file_.c_str()) != 0;
    return !is_ours_;
  }

 private:
  struct Refusal {
    int status = exit_ok;
    std::string words;
  };
  std::string file_;
  std::string path_;
  int fd_;
  bool is_ours_ = false;
  Refusal refusal_;
};

int back_up(const CommandCall& call, const std::string& file) {
  const config::Settings& settings = call.settings();
  if (std::filesystem::exists(file)) {
    return fail(exit_bad_input, file + " exists; name another file");
  }
  const std::string& url = settings.text("database.url");
  OwnerSession owner = open_migrated(url, application);
  if (!owner.session) return fail(owner.status, owner.refusal);
  umask(077);  // it holds everybody's data
  UnfinishedFile unfinished(file);
  if (!unfinished.is_ours()) return unfinished.refuse();
  postgres::DbSession& session = *owner.session;
  session.begin();
  postgres::Result facts = session.run(query::BackupFacts{});
  std::string snapshot(facts.front().text("snapshot"));
  SubprocessRun run = run_subprocess(
      {"pg_dump", "--dbname=" + address_without_password(session, url), "--role=hostler_owner",
       "--format=custom", "--snapshot=" + snapshot, "--file=" + unfinished.path()},
      false);
  // Ends the transaction. By now the connection may be gone, but the copy is complete.
  owner.session.reset();
  if (run.status != 0) return tool_failed("pg_dump", run.status);
  if (!write_whole(file + ".json", manifest(facts.front()) + "\n")) {
    return fail(exit_cannot_create,
                fmt::format("cannot write {}.json: {}", file, std::strerror(errno)));
  }
  if (!unfinished.finish()) {
    return fail(exit_cannot_create, fmt::format("cannot write {}: {}", file, std::strerror(errno)));
  }
  std::string lines = fmt::format(
      "{} and {}.json: {}, {}\nNot included: {}. Keep a copy of it elsewhere, because without it "
      "no stored secret opens.\n",
      file, file, count_text(facts.front().integer("users"), "user"),
      count_text(facts.front().integer("runs"), "run"), settings.text("secrets.key_file"));
  return answer(call.as_json, manifest(facts.front()), lines);
}

int restore(const CommandCall& call, const std::string& file) {
  std::optional<std::string> text = read_whole(file + ".json");
  if (!text)
    return fail(exit_bad_input, file + ".json is missing; backup writes it beside " + file);
  std::optional<Json> parsed = parse_json_or_nothing(*text);
  if (!parsed) return fail(exit_bad_input, file + ".json is not a file that backup wrote");
  const Json& wanted = *parsed;
  std::string version(wanted.text_or("schema_version"));
  if (version.empty()) return fail(exit_bad_input, file + ".json is not a file that backup wrote");
  if (version > schema_version_expected) {
    return fail(exit_bad_input,
                fmt::format("the backup has schema {}, this program only knows {}; {}", version,
                            schema_version_expected, newer_schema_mend));
  }
  const std::string& url = call.settings().text("database.url");
  std::string address;
  {
    OwnerSession owner = open_as_owner(url, "hostlerctl restore");
    if (!owner.session) return fail(owner.status, owner.refusal);
    if (owner.session->run(query::TableCount{}).front().integer("count") != 0) {
      return fail(exit_bad_input,
                  "the database is not empty; make another one with hostlerctl setup-database "
                  "--superuser-url URL --database NAME and name it in database.url");
    }
    address = address_without_password(*owner.session, url);
  }
  // Comments on extensions belong to their makers.
  SubprocessRun run =
      run_subprocess({"pg_restore", "--dbname=" + address, "--role=hostler_owner", "--no-comments",
                      "--exit-on-error", "--single-transaction", file},
                     false);
  if (run.status != 0) return tool_failed("pg_restore", run.status);
  OwnerSession owner = open_as_owner(url, "hostlerctl restore");
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->begin();
  postgres::Result facts = owner.session->run(query::BackupFacts{});
  owner.session->rollback();
  for (const char* name : counted) {
    int64_t found = facts.front().integer(name);
    int64_t expected = wanted.integer_or(name, -1);
    if (found != expected) {
      return fail(
          exit_bad_input,
          fmt::format(
              "{}: the backup had {}, the database has {}; drop it, because it is incomplete", name,
              expected, found));
    }
  }
  // Without it Postgres knows nothing of what the tables hold: of small ones for a minute, of large
  // ones for longer, of those in partitions for ever.
  owner.session->run_text("ANALYZE");
  return answer(call.as_json, manifest(facts.front()),
                fmt::format("restored: schema {}, {}, {}; now run hostlerctl migrate\n", version,
                            count_text(facts.front().integer("users"), "user"),
                            count_text(facts.front().integer("runs"), "run")));
}

}  // namespace

void add_backup_commands(CommandLine& line) {
  auto file = std::make_shared<std::string>();
  CommandWord backup =
      line.command("backup", "copy the database into a file, without stopping anything",
                   [file](const CommandCall& call) { return back_up(call, *file); });
  backup.add_option("FILE", *file, "a new file; FILE.json lists its content").required();
  CommandWord restored =
      line.command("restore", "fill an empty database from such a file",
                   [file](const CommandCall& call) { return restore(call, *file); });
  restored.add_option("FILE", *file, "a file that backup wrote").required();
}

}  // namespace hostler
