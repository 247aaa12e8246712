// Deleted personas: what is long of them goes, unless a run goes on with it, and nobody can heap it
// up by deleting and creating.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/access.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class DeletedPersonas : public ::testing::Test {
 protected:
  std::string as_owner(const std::string& question) const {
    postgres::DbSession api = database_.as_api();
    api.begin();
    api.run(query::SetRequestContext{
        .org_id = fixture_.org_id,
        .user_id = fixture_.owner_id,
        .context = R"({"scope": "org", "permissions": ["data.personas.manage"]})"});
    std::string answer(api.run_text("SELECT " + question).text());
    api.commit();
    return answer;
  }
  std::string create(const std::string& key, int64_t limit = 200) const {
    return as_owner(fmt::format(
        "persona_create(jsonb_build_object('persona_key', '{}', 'version', '1', 'display_name', "
        "'P', 'description', 'd', 'system_prompt', repeat('x', 250000), 'tools', '[]'::jsonb, "
        "'confirm_tools', '[]'::jsonb, 'fallback_routes', '[]'::jsonb, 'response_format', "
        "'{{\"type\": \"text\"}}', 'is_active', "
        "true), {}) ->> 'id'",
        key, limit));
  }
  void remove(const std::string& id) const { as_owner(fmt::format("persona_delete('{}')", id)); }
  // Moves all deletions two minutes into the past.
  void age() const {
    fixture_.column("UPDATE personas SET deleted_at = deleted_at - interval '2 minutes'");
  }
  // Bytes of the prompt, of the format, and how many earlier states there are.
  std::string kept(const std::string& id) const {
    return fixture_.column(fmt::format(
        "SELECT concat_ws(' ', octet_length(system_prompt), octet_length(response_format), "
        "jsonb_array_length(earlier)) FROM personas WHERE id = '{}'",
        id));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(DeletedPersonas, LoseTheirPromptAndFormatWithTheNextChange) {
  std::string id = create("first");
  as_owner(fmt::format("persona_update('{}', '{{\"system_prompt\": \"other\"}}')", id));
  remove(id);
  EXPECT_EQ(kept(id), "5 16 1") << "a run may be created at this moment";
  age();
  std::string next = create("second");
  EXPECT_EQ(kept(id), "0 0");
  remove(next);
  age();
  remove(create("third"));
  EXPECT_EQ(kept(next), "0 0");
}

TEST_F(DeletedPersonas, KeepThemForARunThatGoesOn) {
  std::string id = create("first");
  std::string run = fixture_.new_run(fixture_.new_thread());
  std::string other =
      fixture_.column(fmt::format("SELECT persona_row_id FROM runs WHERE id = '{}'", run));
  auto run_names = [&](const std::string& persona) {
    fixture_.column(
        fmt::format("UPDATE runs SET persona_row_id = '{}' WHERE id = '{}'", persona, run));
  };
  run_names(id);
  remove(id);
  age();
  create("second");
  EXPECT_EQ(kept(id), "250000 16 0");
  run_names(other);
  create("third");
  EXPECT_EQ(kept(id), "0 0");
}

TEST_F(DeletedPersonas, AreKeptNoMoreOfThanMayLive) {
  for (int i = 0; i < 3; ++i) remove(create(fmt::format("p{}", i), 3));
  try {
    create("one more", 3);
    FAIL() << "three prompts are kept already";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::limits_reached);
  }
  age();
  EXPECT_FALSE(create("one more", 3).empty());
  EXPECT_FALSE(create("and another", 3).empty());
}

}  // namespace
}  // namespace hostler::testing_support
