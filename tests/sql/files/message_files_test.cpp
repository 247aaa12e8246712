// Files in messages and in given histories: what is stored, who keeps a file, and what runs are
// refused for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/search_words.h"
#include "queries/chat_runs.h"
#include "queries/files.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

class MessageFiles : public ::testing::Test {
 protected:
  std::string new_file(const std::string& creator, std::string_view name = "Chart.png",
                       std::string_view type = "image/png") {
    return fixture_.column(fmt::format(
        "INSERT INTO files (org_id, created_by_user_id, name, mime_type, bytes, sha256, state, "
        "width, height, unused_since, search) VALUES ('{}', '{}', '{}', '{}', 1, sha256('x'), "
        "'ready', 30, 40, clock_timestamp(), words_vector('{}')) RETURNING id",
        fixture_.org_id, creator, name, type, search_words(name)));
  }
  static std::string parts_of(std::string_view file_id) {
    return fmt::format(R"([{{"type":"text","text":"Look"}},{{"type":"image","file_id":"{}"}}])",
                       file_id);
  }
  postgres::BoundStatement message_of(const std::string& parts) const {
    return query::MessageCreate{.thread_id = thread_id_,
                                .content = "Look",
                                .words = "look",
                                .limit_stored_bytes = 0,
                                .parts = parts};
  }
  std::string post(const std::string& parts) {
    return std::string(fixture_.as_owner(message_of(parts)).front().text("item"));
  }
  ErrorCode refusal_of(const postgres::BoundStatement& statement) const {
    try {
      fixture_.as_owner(statement);
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  void take_images(bool takes) {
    fixture_.column(fmt::format("UPDATE llm_models SET input_types = '{{text{}}}' RETURNING 1",
                                takes ? ",image" : ""));
  }
  std::string unused_since(const std::string& file_id) const {
    return fixture_.column(fmt::format(
        "SELECT CASE WHEN unused_since IS NULL THEN 'used' WHEN unused_since = '-infinity' THEN "
        "'gone' ELSE 'unused' END FROM files WHERE id = '{}'",
        file_id));
  }
  bool is_found(const std::string& typed) const {
    return fixture_
               .as_owner(query::ThreadSearch{
                   .query = search_query(typed), .limit = 10, .before = std::nullopt})
               .size() == 1;
  }
  static query::ChatRunCreate chat_of(const std::string& part) {
    return {.persona_id = std::nullopt,
            .route_id = std::nullopt,
            .history = R"([{"role":"user","content":"","parts":[)" + part + "]}]",
            .sampling = std::nullopt,
            .end_user = std::nullopt,
            .metadata = "{}",
            .keeps = true,
            .limit_concurrent_runs = 100,
            .limit_concurrent_runs_per_user = 0,
            .limit_stored_bytes = 0,
            .credit_run_hold = 10,
            .response_format = std::nullopt,
            .tools = std::nullopt,
            .answered_calls = std::vector<std::string>(),
            .missing_calls = std::vector<std::string>()};
  }
  static std::string upload_part(std::string_view base64, int bytes) {
    return fmt::format(
        R"({{"type":"image","field":"f","upload":{{"name":"image.png","words":"image png",)"
        R"("mime_type":"image/png","bytes":{},"sha256":"{:064}","data":"{}",)"
        R"("limit_file_bytes":10,"limit_stored_bytes":0,"limit_upload_bytes_per_day":0}}}})",
        bytes, 0, base64);
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread("first");
};

TEST_F(MessageFiles, ShowTheFactsOfTheirFilesUntilTheseAreGone) {
  std::string file = new_file(fixture_.owner_id);
  EXPECT_THAT(post(parts_of(file)), HasSubstr("Chart.png"));
  fixture_.column(fmt::format("SELECT file_remove('{}')::text", file));
  std::string shown = fixture_.column(fmt::format(
      "SELECT message_parts(m)::text FROM messages m WHERE parts IS NOT NULL AND thread_id = '{}'",
      thread_id_));
  EXPECT_THAT(shown, Not(HasSubstr("Chart.png")));
  EXPECT_THAT(shown, HasSubstr("image/png"));
  EXPECT_THAT(shown, HasSubstr(file));
}

TEST_F(MessageFiles, AreTheCallersOwnImages) {
  EXPECT_EQ(refusal_of(message_of(parts_of(new_file(fixture_.other_id)))),
            ErrorCode::files_not_found);
  EXPECT_EQ(refusal_of(message_of(parts_of("01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"))),
            ErrorCode::files_not_found);
  EXPECT_EQ(
      refusal_of(message_of(parts_of(new_file(fixture_.owner_id, "a.pdf", "application/pdf")))),
      ErrorCode::validation_error);
  std::string refused = new_file(fixture_.owner_id);
  fixture_.column(fmt::format(
      "UPDATE files SET state = 'refused', refusal = 'files.unreadable' WHERE id = '{}' "
      "RETURNING 1",
      refused));
  EXPECT_EQ(refusal_of(message_of(parts_of(refused))), ErrorCode::files_refused);
}

TEST_F(MessageFiles, AreFoundByTheirNames) {
  EXPECT_FALSE(is_found("chart"));
  std::string file = new_file(fixture_.owner_id);
  post(parts_of(file));
  EXPECT_TRUE(is_found("chart"));
  EXPECT_FALSE(is_found("chart first"));
  fixture_.column(fmt::format("SELECT file_remove('{}')::text", file));
  EXPECT_FALSE(is_found("chart"));
}

TEST_F(MessageFiles, KeepAFileUntilTheLastMessageIsGone) {
  std::string file = new_file(fixture_.owner_id);
  post(parts_of(file));
  post(parts_of(file));
  EXPECT_EQ(unused_since(file), "used");
  auto remove_one = [&] {
    fixture_.column(
        "DELETE FROM messages WHERE id = (SELECT min(message_id::text)::uuid FROM "
        "message_files) RETURNING 1");
  };
  remove_one();
  EXPECT_EQ(unused_since(file), "used");
  remove_one();
  EXPECT_EQ(unused_since(file), "gone");
}

TEST_F(MessageFiles, StopARunWhoseModelsTakeNoImages) {
  post(parts_of(new_file(fixture_.owner_id)));
  EXPECT_EQ(refusal_of(RunFixture::run_of(thread_id_)), ErrorCode::runs_input_unsupported);
  take_images(true);
  EXPECT_EQ(refusal_of(RunFixture::run_of(thread_id_)), ErrorCode::count_);
}

TEST_F(MessageFiles, StopNoRunWhenTheyAreDeletedOrFarBack) {
  std::string file = new_file(fixture_.owner_id);
  post(parts_of(file));
  fixture_.column("UPDATE llm_models SET context_tokens = 1024 RETURNING 1");
  fixture_.column(fmt::format(
      "INSERT INTO messages (org_id, thread_id, created_by_user_id, role, content) VALUES "
      "('{}', '{}', '{}', 'user', repeat('a', 5000)) RETURNING id",
      fixture_.org_id, thread_id_, fixture_.owner_id));
  EXPECT_EQ(refusal_of(RunFixture::run_of(thread_id_)), ErrorCode::count_) << "a daemon decides";
  std::string other = fixture_.new_thread("other");
  std::swap(thread_id_, other);
  post(parts_of(file));
  fixture_.column(fmt::format("SELECT file_remove('{}')::text", file));
  EXPECT_EQ(refusal_of(RunFixture::run_of(thread_id_)), ErrorCode::count_);
}

TEST_F(MessageFiles, OfGivenHistoriesAreMadeOfTheRequest) {
  EXPECT_EQ(refusal_of(chat_of(upload_part("eHl6", 3))), ErrorCode::runs_input_unsupported);
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM files"), "0");
  take_images(true);
  fixture_.as_owner(chat_of(upload_part("eHl6", 3)));
  EXPECT_EQ(fixture_.column("SELECT convert_from(content, 'UTF8') FROM file_pieces"), "xyz");
  EXPECT_EQ(fixture_.column("SELECT name || ' ' || counted_bytes FROM files"), "image.png 4096");
  EXPECT_THAT(fixture_.column("SELECT messages::text FROM run_histories"),
              HasSubstr(fixture_.column("SELECT id::text FROM files")));
  EXPECT_THAT(fixture_.column("SELECT messages::text FROM run_histories"), Not(HasSubstr("eHl6")));
  std::string file = fixture_.column("SELECT id FROM files");
  EXPECT_EQ(unused_since(file), "used");
  fixture_.column("DELETE FROM run_histories RETURNING 1");
  EXPECT_EQ(unused_since(file), "gone");
}

TEST_F(MessageFiles, ThatWereUploadedAreOnlyUnusedAfterAGivenHistory) {
  take_images(true);
  std::string file = new_file(fixture_.owner_id);
  fixture_.as_owner(chat_of(fmt::format(R"({{"type":"image","file_id":"{}"}})", file)));
  EXPECT_EQ(unused_since(file), "used");
  fixture_.column("DELETE FROM run_histories RETURNING 1");
  EXPECT_EQ(unused_since(file), "unused");
}

TEST_F(MessageFiles, OfRequestsHaveTheLimitsOfUploads) {
  take_images(true);
  EXPECT_EQ(refusal_of(chat_of(upload_part("eHl6eHl6eHl6eHl6", 12))), ErrorCode::files_too_large);
}

}  // namespace
}  // namespace hostler::testing_support
