// Threads: the caller's conversations. Statements: sql/queries/threads.sql.
#include "queries/threads.h"
#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/marks.h"
#include "fcgi/api/runs/message_content.h"
#include "fcgi/api/runs/new_thread.h"
#include "fcgi/http/input.h"
#include "lib/search_words.h"
#include "queries/runs.h"

namespace hostler {
namespace {

// Greater than the id of any thread.
constexpr const char* greatest_id = "ffffffff-ffff-ffff-ffff-ffffffffffff";

}  // namespace

OneStatement create_thread(const Input& input) {
  Fields fields = input.optional_body();
  NewThread wanted = read_new_thread(fields);
  fields.check();
  return OneStatement::item(query::ThreadCreate{.title = wanted.title,
                                                .is_private = wanted.is_private,
                                                .end_user = wanted.end_user,
                                                .metadata = wanted.metadata,
                                                .words = wanted.words},
                            201)
      .share_commit();
}

OneStatement list_threads(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> end_user = fields.text("end_user", end_user_bounds);
  bool is_archived = fields.boolean("is_archived").value_or(false);
  std::optional<bool> is_pinned = fields.boolean("is_pinned");
  Page page = Input::page_of(fields);
  fields.check();
  std::string before = page.before.value_or(greatest_id);
  if (end_user) {
    return OneStatement::items(input,
                               query::ThreadPageOfEndUser{.end_user = *end_user,
                                                          .limit = page.limit,
                                                          .before = before,
                                                          .is_archived = is_archived,
                                                          .is_pinned = is_pinned},
                               {.limit = page.limit});
  }
  return OneStatement::items(input,
                             query::ThreadPage{.limit = page.limit,
                                               .before = before,
                                               .is_archived = is_archived,
                                               .is_pinned = is_pinned},
                             {.limit = page.limit});
}

OneStatement search_threads(const Input& input) {
  QueryFields fields = input.query();
  std::string wanted = fields.required_text("q", {.min = 1, .max = 500});
  Page page = Input::page_of(fields);
  fields.check();
  return OneStatement::items(
      input,
      query::ThreadSearch{
          .query = search_query(wanted), .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement show_thread(const Input& input) {
  return OneStatement::item(query::ThreadShow{.thread_id = input.path_value("thread_id")});
}

OneStatement update_thread(const Input& input) {
  Fields fields = input.body();
  Nullable<std::string> title = fields.nullable_text("title", {.max = 200, .is_name = true});
  std::optional<std::string> metadata = read_metadata(fields);
  std::optional<bool> is_pinned = fields.optional_boolean("is_pinned");
  std::optional<bool> is_archived = fields.optional_boolean("is_archived");
  fields.check_patch();
  return OneStatement::item(query::ThreadUpdate{.thread_id = input.path_value("thread_id"),
                                                .has_title = title.is_given,
                                                .title = title.value,
                                                .metadata = metadata,
                                                .words = search_words(title.value.value_or("")),
                                                .is_pinned = is_pinned,
                                                .is_archived = is_archived});
}

OneStatement branch_thread(const Input& input) {
  Fields fields = input.body();
  std::string message_id = fields.required_id("message_id");
  std::string content = read_message_content(fields);
  fields.check();
  std::string words = search_words(content);
  return OneStatement::item(
      query::ThreadBranch{.thread_id = input.path_value("thread_id"),
                          .message_id = message_id,
                          .content = std::move(content),
                          .words = std::move(words),
                          .limit_stored_bytes = input.settings.integer("limit.stored_bytes")},
      201);
}

OneStatement delete_thread(const Input& input) {
  return OneStatement::no_content(query::ThreadDelete{.thread_id = input.path_value("thread_id")})
      .notify_of(runs_that_stopped);
}

}  // namespace hostler
