// Sealed secrets open where they belong and nowhere else; key files are refused with reasons.
#include "lib/config/secret_box.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lib/crypto.h"

namespace hostler {
namespace {

const config::SecretIdentity identity{"018f0000-0000-7000-8000-000000000001",
                                      "018f0000-0000-7000-8000-000000000002", "llm_provider"};

config::SecretBox box_of(std::string_view text) {
  return std::get<config::SecretBox>(config::SecretBox::parse(text));
}
std::string fault_of(std::string_view text) {
  return std::get<std::string>(config::SecretBox::parse(text));
}
std::string key_line(int version) {
  return std::to_string(version) + ":" + to_base64(random_bytes(32)) + "\n";
}

TEST(SecretBox, OpensWhatItSealed) {
  config::SecretBox box = box_of(random_bytes(32));
  config::SealedSecret secret = box.seal(identity, "sk-secret");
  EXPECT_EQ(box.open(identity, secret), "sk-secret");
  EXPECT_EQ(secret.sealed.find("sk-secret"), std::string::npos);
}

TEST(SecretBox, SealsTheSameTextDifferentlyEachTime) {
  config::SecretBox box = box_of(random_bytes(32));
  config::SealedSecret first = box.seal(identity, "same");
  config::SealedSecret second = box.seal(identity, "same");
  EXPECT_NE(first.sealed, second.sealed);
  EXPECT_NE(first.wrapped_key, second.wrapped_key);
}

TEST(SecretBox, RefusesAnotherIdOrganizationOrKind) {
  config::SecretBox box = box_of(random_bytes(32));
  config::SealedSecret secret = box.seal(identity, "sk-secret");
  EXPECT_FALSE(box.open({identity.org_id, identity.org_id, identity.kind}, secret));
  EXPECT_FALSE(box.open({identity.id, identity.id, identity.kind}, secret));
  EXPECT_FALSE(box.open({identity.id, "", identity.kind}, secret));
  EXPECT_FALSE(box.open({identity.id, identity.org_id, "setting"}, secret));
}

TEST(SecretBox, RefusesPartsSwappedBetweenSecretsOfOnePlace) {
  config::SecretBox box = box_of(random_bytes(32));
  config::SealedSecret first = box.seal(identity, "first");
  config::SealedSecret second = box.seal(identity, "second");
  EXPECT_FALSE(box.open(identity, {first.key_version, second.wrapped_key, first.sealed}));
  EXPECT_FALSE(box.open(identity, {first.key_version, first.sealed, first.wrapped_key}));
}

TEST(SecretBox, RefusesEachFlippedByteAndEachCut) {
  config::SecretBox box = box_of(random_bytes(32));
  config::SealedSecret secret = box.seal(identity, "sk-secret");
  for (std::string config::SealedSecret::*part :
       {&config::SealedSecret::wrapped_key, &config::SealedSecret::sealed}) {
    for (size_t i = 0; i < (secret.*part).size(); ++i) {
      config::SealedSecret changed = secret;
      (changed.*part)[i] = static_cast<char>((changed.*part)[i] ^ 1);
      EXPECT_FALSE(box.open(identity, changed)) << i;
      changed = secret;
      (changed.*part).resize(i);
      EXPECT_FALSE(box.open(identity, changed)) << i;
    }
  }
}

TEST(SecretBox, RefusesAnotherKeyFile) {
  config::SealedSecret secret = box_of(random_bytes(32)).seal(identity, "sk-secret");
  EXPECT_FALSE(box_of(random_bytes(32)).open(identity, secret));
}

TEST(SecretBox, WrapsWithTheNewestKeyAndOpensWithAnOlderOne) {
  std::string first = key_line(1);
  config::SealedSecret old_secret = box_of(first).seal(identity, "old");
  config::SecretBox rotated = box_of("# rotated\n" + key_line(12) + "\n" + first + key_line(3));
  EXPECT_EQ(rotated.newest_version(), 12);
  EXPECT_EQ(rotated.seal(identity, "new").key_version, 12);
  EXPECT_EQ(rotated.open(identity, old_secret), "old");
  EXPECT_FALSE(box_of(key_line(2)).open(identity, old_secret)) << "its version is not in the file";
}

TEST(SecretBox, CountsHowOftenEachKeyWraps) {
  config::SecretBox box = box_of(key_line(3) + key_line(4));
  EXPECT_TRUE(box.take_wraps().empty());
  config::SealedSecret secret = box.seal(identity, "one");
  box.seal(identity, "two");
  box.open(identity, secret);
  EXPECT_EQ(box.take_wraps(), (std::map<int64_t, int64_t>{{4, 2}}));
  EXPECT_TRUE(box.take_wraps().empty());
}

TEST(SecretBox, OpensWithAKeyThatIsPreparedAndDoesNotSealWithIt) {
  std::string first = key_line(1);
  std::string second = key_line(2);
  config::SecretBox prepared = box_of(first + "next " + second);
  EXPECT_EQ(prepared.newest_version(), 1);
  EXPECT_EQ(prepared.versions(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(prepared.seal(identity, "x").key_version, 1);
  EXPECT_EQ(prepared.open(identity, box_of(first + second).seal(identity, "x")), "x");
  EXPECT_NE(fault_of("next " + first).find("no key"), std::string::npos) << "none seals";
}

TEST(SecretBox, RewrapsWithoutTouchingWhatIsInside) {
  std::string first = key_line(1);
  config::SealedSecret was = box_of(first).seal(identity, "sk-secret");
  config::SecretBox rotated = box_of(first + key_line(2));
  std::optional<config::SealedSecret> now = rotated.rewrap(identity, was);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->key_version, 2);
  EXPECT_EQ(now->sealed, was.sealed);
  EXPECT_NE(now->wrapped_key, was.wrapped_key);
  EXPECT_EQ(rotated.open(identity, *now), "sk-secret");
  EXPECT_FALSE(box_of(first).open(identity, *now)) << "the old key alone opens it no more";
  config::SecretIdentity elsewhere = identity;
  elsewhere.kind = "setting";
  EXPECT_FALSE(rotated.rewrap(elsewhere, was));
  EXPECT_FALSE(box_of(key_line(3)).rewrap(identity, was));
}

TEST(SecretBox, ReadsALineWithoutItsLineEnd) {
  std::string line = key_line(1);
  line.pop_back();
  EXPECT_EQ(box_of(line).newest_version(), 1);
}

TEST(SecretBox, SaysWhatIsWrongWithAKeyFile) {
  EXPECT_NE(fault_of("").find("no key"), std::string::npos);
  EXPECT_NE(fault_of(std::string(31, 'x')).find("line 1"), std::string::npos);
  EXPECT_NE(fault_of(key_line(1) + "2:" + to_base64("short")).find("line 2"), std::string::npos);
  EXPECT_NE(fault_of("0:" + to_base64(random_bytes(32))).find("version"), std::string::npos);
  EXPECT_NE(fault_of(key_line(1) + key_line(1)).find("again"), std::string::npos);
}

class KeyFile : public testing::Test {
 protected:
  KeyFile() : path_(testing::TempDir() + "hostler-key-" + to_hex(random_bytes(8))) {}
  ~KeyFile() override { std::filesystem::remove(path_); }
  std::string fault_with(mode_t mode, size_t bytes) {
    std::ofstream(path_, std::ios::binary) << random_bytes(bytes);
    chmod(path_.c_str(), mode);
    std::variant<config::SecretBox, std::string> loaded = config::SecretBox::load(path_);
    const std::string* fault = std::get_if<std::string>(&loaded);
    return fault == nullptr ? "" : *fault;
  }
  std::string path_;
};

TEST_F(KeyFile, IsReadAgainWhenAnotherTookItsPlace) {
  auto put = [this](const std::string& text) {
    std::string fresh = path_ + ".new";
    std::ofstream(fresh, std::ios::binary) << text;
    chmod(fresh.c_str(), 0600);
    std::filesystem::rename(fresh, path_);
  };
  std::string first = key_line(1);
  std::string second = key_line(2);
  put(first);
  config::SecretBox box = std::get<config::SecretBox>(config::SecretBox::load(path_));
  std::string code_key = box.derived_key("login code");
  config::SealedSecret of_other = box_of(first + second).seal(identity, "x");
  EXPECT_FALSE(box.open(identity, of_other));
  put(first + second);
  EXPECT_EQ(box.open(identity, of_other), "x");
  EXPECT_EQ(box.seal(identity, "y").key_version, 2);
  EXPECT_NE(box.derived_key("login code"), code_key);
  put("nonsense");
  EXPECT_EQ(box.seal(identity, "y").key_version, 2) << "a bad file changes nothing";
  std::filesystem::remove(path_);
  EXPECT_EQ(box.open(identity, of_other), "x");
}

TEST_F(KeyFile, IsTakenWhenOnlyOwnerAndGroupReadIt) { EXPECT_EQ(fault_with(0640, 32), ""); }

TEST_F(KeyFile, IsRefusedWhenEverybodyMayReadIt) {
  EXPECT_NE(fault_with(0644, 32).find("everybody"), std::string::npos);
}

TEST_F(KeyFile, IsRefusedWhenItIsShort) {
  EXPECT_NE(fault_with(0600, 16).find(path_), std::string::npos);
}

TEST_F(KeyFile, IsRefusedWhenItIsMissingOrAFolder) {
  EXPECT_NE(std::get<std::string>(config::SecretBox::load(path_)).find("No such file"),
            std::string::npos);
  EXPECT_NE(std::get<std::string>(config::SecretBox::load("/tmp")).find("regular"),
            std::string::npos);
}

// A new key would make of one host's fault the loss of every stored secret.
TEST_F(KeyFile, IsNeverToBeMadeAnewByItsFault) {
  std::vector<std::string> faults{fault_with(0644, 32), fault_with(0600, 16),
                                  std::get<std::string>(config::SecretBox::load("/tmp"))};
  for (const std::string& fault : faults) {
    EXPECT_EQ(fault.find("urandom"), std::string::npos) << fault;
    EXPECT_EQ(fault.find("makes one"), std::string::npos) << fault;
  }
  EXPECT_NE(faults[0].find("chmod 0600"), std::string::npos) << faults[0];
  EXPECT_NE(faults[1].find("your copy of it"), std::string::npos) << faults[1];
  std::filesystem::remove(path_);
  std::string missing = std::get<std::string>(config::SecretBox::load(path_));
  EXPECT_EQ(missing.find("urandom"), std::string::npos) << missing;
  EXPECT_NE(missing.find("copy it from another host"), std::string::npos) << missing;
}

TEST_F(KeyFile, SaysWhoMustReadItWhenThisUserMayNot) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads every file";
  std::string fault = fault_with(0000, 32);
  EXPECT_NE(fault.find("Permission denied"), std::string::npos) << fault;
  EXPECT_NE(fault.find("must be able to read it"), std::string::npos) << fault;
}

TEST(KeyPrefix, ShowsTheBeginningAndTheLastFour) {
  EXPECT_EQ(config::key_prefix_of("sk-proj-abcdefghijklmnopqrstuvwxyz0123"), "sk-proj-****0123");
}

TEST(KeyPrefix, ShowsNothingOfAShortKey) {
  EXPECT_EQ(config::key_prefix_of(""), "****");
  EXPECT_EQ(config::key_prefix_of("12345678901234567"), "****");
}

TEST(KeyPrefix, ShowsAtMostAThird) {
  for (size_t size = 18; size < 60; ++size) {
    std::string shown = config::key_prefix_of(std::string(size, 'k'));
    EXPECT_LE((shown.size() - 4) * 3, size) << size;
    EXPECT_GE(shown.size(), 10u) << size;
  }
}

TEST(KeyPrefix, ShowsNothingOfAKeyThatIsNotPlainText) {
  EXPECT_EQ(config::key_prefix_of("schlüssel-schlüssel-schlüssel"), "****");
}

}  // namespace
}  // namespace hostler
