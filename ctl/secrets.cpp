// See ctl/secrets.h.
#include "ctl/secrets.h"

#include <memory>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "ctl/key_file.h"
#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/config/secret_box.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/operator.h"

namespace hostler {
namespace {

struct KeyRotation {
  bool only_prepares = false;  // the new key only opens yet: for hosts and programs with a copy
  bool is_now = false;         // though programs have a copy of the file, which lacks the key
  int64_t batch = 100;         // secrets in one transaction
};

// The key file of the package: systemd gives its programs copies of it.
constexpr std::string_view packaged_key_file = "/etc/hostler/secret.key";
constexpr const char* nil_id = "00000000-0000-0000-0000-000000000000";
// Programs store further secrets meanwhile; those that had the old key a moment ago, under it.
constexpr int rounds_max = 10;

struct Rotated {
  int64_t version = 0;
  bool is_new_key = false;
  int64_t rewrapped = 0;
  int64_t unreadable = 0;
  std::string first_unreadable;
};

// Whether some that open have an older key: what opens with none of the file is no reason to go on
// with a rotation for ever.
bool was_broken_off(postgres::DbSession& session, const config::SecretBox& box) {
  constexpr int64_t page_max = 1000;
  std::string after = nil_id;
  while (true) {
    postgres::Result older = session.run(query::SecretsToRewrap{
        .key_version = box.newest_version(), .after_id = after, .limit = page_max});
    if (older.empty()) return false;
    for (int i = 0; i < older.size(); ++i) {
      const postgres::Row row = older[i];
      if (secret_opens(box, row)) return true;
      after = row.text("id");
    }
  }
}

// Which key is to be the newest; makes it so in the file.
KeyFileChange choose_key(postgres::DbSession& session, const std::string& path,
                         const KeyRotation& rotation, Rotated& rotated) {
  config::SecretBox box = std::get<config::SecretBox>(config::SecretBox::load(path));
  if (prepared_version(path) > 0) return use_prepared_key(path);
  if (was_broken_off(session, box)) return {"", box.newest_version()};
  if (path == packaged_key_file && !rotation.is_now) {
    return {"hostler-api and hostler-runner have copies of " + path +
                ", which lack a new key until they restart. Run `hostlerctl secret rotate "
                "--prepare`, give every host the file, restart both, then run this again. Or use "
                "--now, and restart them at once",
            0};
  }
  rotated.is_new_key = true;
  return add_key(path, false);
}

// One transaction. Moves after behind the batch; false when there was none.
bool rewrap_batch(postgres::DbSession& session, const config::SecretBox& box, int64_t limit,
                  std::string& after, Rotated& rotated) {
  postgres::Result found = session.run(
      query::SecretsToRewrap{.key_version = rotated.version, .after_id = after, .limit = limit});
  if (found.empty()) return false;
  JsonWriter json;
  json.begin_array();
  int64_t sent = 0;
  for (int i = 0; i < found.size(); ++i) {
    const postgres::Row row = found[i];
    after = row.text("id");
    config::SealedSecret old_secret{row.integer("key_version"), row.bytes("wrapped_key"), {}};
    config::SecretIdentity identity{after, std::string(row.text("org_id")),
                                    std::string(row.text("kind"))};
    std::optional<config::SealedSecret> new_secret = box.rewrap(identity, old_secret);
    if (!new_secret) {
      if (++rotated.unreadable == 1) rotated.first_unreadable = after;
      continue;
    }
    ++sent;
    json.begin_object().member("id", after).member("old_key", to_base64(old_secret.wrapped_key));
    json.member("new_key", to_base64(new_secret->wrapped_key)).end_object();
  }
  json.end_array();
  if (sent == 0) return true;
  postgres::Result done =
      session.run(query::SecretsRewrap{.key_version = rotated.version, .wrapped = json.take()});
  rotated.rewrapped += done.front().integer("rewrapped");
  return true;
}

void rewrap_all(postgres::DbSession& session, const config::SecretBox& box, int64_t batch,
                Rotated& rotated) {
  for (int round = 0; round < rounds_max; ++round) {
    int64_t before = rotated.rewrapped;
    rotated.unreadable = 0;
    std::string after = nil_id;
    while (rewrap_batch(session, box, batch, after, rotated)) {
    }
    if (rotated.rewrapped == before) return;
  }
}

int prepare(const std::string& path, bool as_json) {
  KeyFileChange change{"", prepared_version(path)};
  if (change.version == 0) change = add_key(path, true);
  if (!change.fault.empty()) return fail(exit_bad_input, change.fault);
  JsonWriter json;
  json.begin_object().member("prepared_version", change.version).member("key_file", path);
  return answer(as_json, json.end_object().take(),
                fmt::format("Key {} is in {} and can open secrets, but no secret is sealed with it "
                            "yet. Give every host this file, restart hostler-api and "
                            "hostler-runner, then run `hostlerctl secret rotate`.\n",
                            change.version, path));
}

int report(const Rotated& rotated, bool as_json) {
  JsonWriter json;
  json.begin_object().member("key_version", rotated.version);
  json.member("is_new_key", rotated.is_new_key).member("rewrapped", rotated.rewrapped);
  json.member("unreadable", rotated.unreadable).end_object();
  answer(as_json, json.take(),
         fmt::format("{} put under key {}{}.\n", count_text(rotated.rewrapped, "secret"),
                     rotated.version, rotated.is_new_key ? ", which is new" : ""));
  if (rotated.unreadable == 0) return exit_ok;
  return fail(exit_bad_input,
              fmt::format("no key of the file opens {}, which stay unchanged; the first is {}",
                          count_text(rotated.unreadable, "secret"), rotated.first_unreadable));
}

int rotate(const CommandCall& call, const KeyRotation& rotation) {
  const std::string& path = call.settings().text("secrets.key_file");
  std::variant<config::SecretBox, std::string> box = config::SecretBox::load(path);
  if (const std::string* fault = std::get_if<std::string>(&box)) {
    return fail(exit_bad_input, *fault);
  }
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl secret");
  if (!owner.session) return fail(owner.status, owner.refusal);
  if (!owner.session->run(query::SecretsLock{}).front().boolean("is_ours")) {
    return fail(exit_try_again, "another rotation is under way");
  }
  if (rotation.only_prepares) return prepare(path, call.as_json);
  Rotated rotated;
  KeyFileChange change = choose_key(*owner.session, path, rotation, rotated);
  if (!change.fault.empty()) return fail(exit_bad_input, change.fault);
  rotated.version = change.version;
  config::SecretBox newest = std::get<config::SecretBox>(config::SecretBox::load(path));
  rewrap_all(*owner.session, newest, rotation.batch, rotated);
  return report(rotated, call.as_json);
}

// How many there are, and how many of them no key of the file opens.
int verify(const CommandCall& call) {
  constexpr int64_t any_version = 2'147'483'647;
  constexpr int64_t page_max = 1000;
  std::variant<config::SecretBox, std::string> box =
      config::SecretBox::load(call.settings().text("secrets.key_file"));
  if (const std::string* fault = std::get_if<std::string>(&box)) {
    return fail(exit_bad_input, *fault);
  }
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl secret");
  if (!owner.session) return fail(owner.status, owner.refusal);
  int64_t looked_at = 0;
  std::vector<std::string> unreadable;
  std::string after = nil_id;
  for (postgres::Result page;; looked_at += page.size()) {
    page = owner.session->run(
        query::SecretsToRewrap{.key_version = any_version, .after_id = after, .limit = page_max});
    if (page.empty()) break;
    for (int i = 0; i < page.size(); ++i) {
      const postgres::Row row = page[i];
      after = row.text("id");
      if (!secret_opens(std::get<config::SecretBox>(box), row)) unreadable.push_back(after);
    }
  }
  JsonWriter json;
  json.begin_object().member("secrets", looked_at);
  json.member("unreadable", std::ssize(unreadable)).end_object();
  answer(call.as_json, json.take(),
         fmt::format("{}, to be opened: {}.\n", count_text(looked_at, "secret"),
                     looked_at - std::ssize(unreadable)));
  if (unreadable.empty()) return exit_ok;
  return fail(exit_bad_input,
              fmt::format("no key of the file opens {}, the first is {}: it is not the file that "
                          "the programs had when these were stored",
                          count_text(std::ssize(unreadable), "secret"), unreadable.front()));
}

}  // namespace

bool secret_opens(const config::SecretBox& box, const postgres::Row& secret) {
  config::SealedSecret sealed{secret.integer("key_version"), secret.bytes("wrapped_key"), {}};
  config::SecretIdentity identity{std::string(secret.text("id")),
                                  std::string(secret.text("org_id")),
                                  std::string(secret.text("kind"))};
  return box.rewrap(identity, sealed).has_value();
}

void add_secret_commands(CommandLine& line) {
  CommandWord topic = line.topic("secret", "the keys that encrypt stored secrets");
  line.command(topic, "verify", "check whether the key file opens all stored secrets", verify);
  auto rotation = std::make_shared<KeyRotation>();
  CommandWord command =
      line.command(topic, "rotate", "put all secrets under a new key, without stopping anything",
                   [rotation](const CommandCall& call) { return rotate(call, *rotation); });
  CommandOption prepare =
      command.add_flag("--prepare", rotation->only_prepares,
                       "only add the key to the file, because hosts and programs have copies");
  command
      .add_flag(
          "--now", rotation->is_now,
          "alalthough the programs have a copy without the key, and must be restarted at once")
      .excludes(prepare);
  command.add_option("--batch", rotation->batch, "number of secrets in one transaction")
      .within(1, 10'000)
      .shows_default();
}

}  // namespace hostler
