// The parameters of statements of files, as tests/sql/plan_values.h has those of all others. For
// that file alone.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace hostler {

// ask: answers an SQL expression of the database of many_rows.sql. user: the quoted id of the owner
// of the large organization.
inline void add_file_plan_values(std::map<std::string, std::string>& by_name,
                                 const std::function<std::string(const std::string&)>& ask,
                                 const std::string& user) {
  std::string file_to_check =
      ask("quote_literal(id) FROM files WHERE check_due_at IS NOT NULL ORDER BY id LIMIT 1");
  std::string parts =
      "(SELECT json_build_array(json_build_object('type', 'image', 'file_id', f.id)) FROM files f "
      "WHERE f.created_by_user_id = " +
      user + " AND f.state = 'ready' ORDER BY f.id LIMIT 1)";
  by_name.insert({
      {"file_id", ask("quote_literal(id) FROM files WHERE created_by_user_id = " + user +
                      " AND state = 'ready' ORDER BY id LIMIT 1")},
      {"file_begin.wanted", R"('{"name": "a.png", "mime_type": "image/png", "bytes": 1,
           "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}')"},
      {"file_page_of_end_user.end_user", "'customer10'"},
      {"message_create.parts", parts},
      {"run_begin.parts", parts},
      {"thread_begin.parts", parts},
      {"client_chat_begin.parts", parts},
      {"file_add_piece.file_id", ask("quote_literal(id) FROM files WHERE name = 'begun 0'")},
      {"file_finish.file_id", ask("quote_literal(id) FROM files WHERE name = 'begun 1'")},
      {"file_check_finish.file_id", file_to_check},
      {"file_check_refuse.file_id", file_to_check},
      {"file_check_postpone.file_id", file_to_check},
      {"file_check_again.file_id", file_to_check},
      {"after_org_id", "'00000000-0000-0000-0000-000000000000'"},
      {"after_user_id", "'00000000-0000-0000-0000-000000000000'"},
      {"limit_file_bytes", "33554432"},
      {"limit_upload_bytes_per_day", "0"},
      {"files_unused_days", "7"},
      {"check_number", "0"},
  });
}

}  // namespace hostler
