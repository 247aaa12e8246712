// Rows as clients read them: a row is an object, a column a member of it, called as the column is
// and written as its type is, byte for byte as Postgres would. So the one list of an object's
// members, in their order, is the SQL function <object>_item that its statements share. Of rows
// with the two columns id and item the latter is the object, which Postgres made. Called by the
// answers of fcgi/http/handler.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/postgres/database.h"

namespace hostler {

// The first row. The statement was bound with answers_binary, as all of these.
std::string item_json(const postgres::Result& result);

struct PageShape {
  int64_t limit;  // the statement read one row further
  std::string_view cursor_name = "before";
  bool is_reversed = false;  // clients get them in the other order than they were read in
  // The last row may have only an id: a bounded look ended there, and the next page continues after
  // it.
  bool ends_early = false;
  // The column whose bytes count against the bound of a page; empty: all that is written counts.
  std::string_view measured = {};
};

constexpr size_t page_bytes_max = 4 << 20;  // contract section 1, Paging

struct ItemPage {
  std::string body;  // an array
  std::string next;  // the id, in the first column, of the last row shown; empty: no more exist
};

// Returns as many as fit, but at least one if any exist.
ItemPage item_page(const postgres::Result& result, const PageShape& shape);

}  // namespace hostler
