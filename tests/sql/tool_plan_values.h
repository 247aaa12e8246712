// The parameters of statements of webhook tools, MCP servers and open streams, as
// tests/sql/plan_values.h has those of all others. For that file alone.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace hostler {

// ask: answers an SQL expression of the database of many_rows.sql.
inline void add_tool_plan_values(std::map<std::string, std::string>& by_name,
                                 const std::function<std::string(const std::string&)>& ask) {
  std::string owned_run = ask("quote_literal(id) FROM runs WHERE owner_id IS NOT NULL");
  by_name.insert({
      {"tool_id", ask("quote_literal(id) FROM tools WHERE org_id IS NULL")},
      {"tool_create.wanted",
       R"('{"name": "w", "description": "d", "parameters": "{}", "url": "https://e.org",
           "timeout_seconds": 30, "is_repeatable": false, "is_active": true}')"},
      {"tool_update.changes", R"('{"is_active": true}')"},
      {"limit_tools", "1000000"},
      {"holders",
       R"('[{"kind": "network", "id": "192.0.2.7", "streams": 2, "limit_streams": 2}]')"},
      {"limit_mcp_servers", "1000000"},
      {"server_id", ask("quote_literal(id) FROM mcp_servers WHERE org_id IS NULL")},
      {"mcp_server_create.wanted",
       R"('{"key": "new", "url": "https://e.org", "authorization_kind": "none",
           "authorization_settings": {}, "allowed_tools": [], "trust": "ask",
           "is_active": true}')"},
      {"mcp_server_create.secret", "NULL"},
      {"verifier",
       "jsonb_build_object('id', uuidv7(), 'key_version', 1, 'wrapped_key', 'eA==', "
       "'sealed', 'eA==')"},
      {"mcp_server_update.changes", R"('{"trust": "run", "allowed_tools": ["read"]}')"},
      {"mcp_server_update.secret", "NULL"},
      {"mcp_tool_approve.tool_name", "'files__write'"},
      {"hash", "NULL"},
      {"claim_seconds", "60"},
      {"listing_id", ask("quote_literal(listing_id) FROM mcp_servers WHERE org_id IS NULL")},
      {"outcome",
       R"('{"protocol_version": "2026-07-28", "ttl_ms": null, "discovery": {}, "left_out": [],
           "tools": [{"name": "read",
                      "definition": "{\"name\": \"read\", \"inputSchema\": {}}"}]}')"},
      {"mcp_call_begin.run_id", owned_run},
      {"mcp_call_begin.tool", "'read'"},
      {"mcp_call_begin.hash", "'h'"},
      {"mcp_call_keep.run_id", owned_run},
      {"mcp_call_end.run_id", owned_run},
      {"more_authorizations", "0"},
      {"mcp_task_begin.run_id", owned_run},
      {"mcp_task_end.run_id", owned_run},
      {"mcp_task_end.tool_call_id", "'w1'"},
      {"mcp_task_begin.claim_id", "NULL"},
      {"mcp_task_begin.tool", "'read'"},
      {"mcp_task_begin.hash", "'h'"},
      {"mcp_credential.url", "'https://example.org/mcp'"},
      {"mcp_task_begin.task_id", "'t'"},
      {"mcp_task_resume.run_id", owned_run},
      {"full_orgs", "'{}'"},
      {"verdict", "'again'"},
      {"due_ms", "1000"},
      {"has_failed", "false"},
      {"is_idempotent", "false"},
  });
}

}  // namespace hostler
