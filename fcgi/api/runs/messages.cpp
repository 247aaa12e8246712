// Messages of a thread. Statements: sql/queries/threads.sql.
#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/message_content.h"
#include "fcgi/http/input.h"
#include "lib/search_words.h"
#include "queries/threads.h"

namespace hostler {

OneStatement create_message(const Input& input) {
  Fields fields = input.body();
  MessageContent content = read_message_parts(fields);
  fields.check();
  std::string words = search_words(content.text);
  return OneStatement::row(query::MessageCreate{.thread_id = input.path_value("thread_id"),
                                                .content = std::move(content.text),
                                                .words = std::move(words),
                                                .limit_stored_bytes =
                                                    input.settings.integer("limit.stored_bytes"),
                                                .parts = std::move(content.parts)},
                           201)
      .share_commit();
}

OneStatement list_messages(const Input& input) {
  QueryFields fields = input.query();
  Page page = Input::page_of(fields);
  std::optional<std::string> after = fields.id("after");
  fields.check();
  bool goes_forward = after && !page.before;
  return OneStatement::items(input,
                             query::MessagePage{.thread_id = input.path_value("thread_id"),
                                                .limit = page.limit,
                                                .before = page.before,
                                                .after = after},
                             {.limit = page.limit,
                              .cursor_name = goes_forward ? "after" : "before",
                              .is_reversed = !goes_forward,
                              .measured = "content"});
}

}  // namespace hostler
