// See fcgi/api/runs/new_thread.h.
#include "fcgi/api/runs/new_thread.h"

#include "fcgi/api/runs/marks.h"
#include "lib/search_words.h"

namespace hostler {

NewThread read_new_thread(Fields& fields) {
  NewThread thread;
  thread.title = fields.nullable_text("title", {.max = 200, .is_name = true}).value;
  thread.words = search_words(thread.title.value_or(""));
  thread.is_private = fields.optional_boolean("is_private").value_or(false);
  thread.end_user = fields.nullable_text("end_user", end_user_bounds).value;
  thread.metadata = read_metadata(fields).value_or("{}");
  return thread;
}

}  // namespace hostler
