// The table of fuzz targets. Each is a function of tests/fuzz/<name>_fuzz.cpp with inputs in
// tests/fuzz/corpus/<name>.
#pragma once

#include <array>
#include <string_view>

namespace hostler::fuzz {

using TargetFunction = void (*)(std::string_view input);

void address(std::string_view input);
void body(std::string_view input);
void confirmation(std::string_view input);
void cookie(std::string_view input);
void cursor(std::string_view input);
void fastcgi(std::string_view input);
void html(std::string_view input);
void http_head(std::string_view input);
void json(std::string_view input);
void log_line(std::string_view input);
void mail(std::string_view input);
void mcp_answer(std::string_view input);
void mcp_oauth(std::string_view input);
void model_anthropic(std::string_view input);
void model_openai(std::string_view input);
void model_turns(std::string_view input);
void multipart(std::string_view input);
void network(std::string_view input);
void schema(std::string_view input);
void scgi(std::string_view input);
void scim(std::string_view input);
void settings(std::string_view input);
void smtp_reply(std::string_view input);
void socks(std::string_view input);
void target(std::string_view input);
void time_text(std::string_view input);
void tool_answer(std::string_view input);
void url(std::string_view input);

struct TargetRow {
  std::string_view name;
  TargetFunction function;
};

constexpr std::array<TargetRow, 28> targets = {{
    {"address", address},
    {"body", body},
    {"confirmation", confirmation},
    {"cookie", cookie},
    {"cursor", cursor},
    {"fastcgi", fastcgi},
    {"html", html},
    {"http_head", http_head},
    {"json", json},
    {"log_line", log_line},
    {"mail", mail},
    {"mcp_answer", mcp_answer},
    {"mcp_oauth", mcp_oauth},
    {"model_anthropic", model_anthropic},
    {"model_openai", model_openai},
    {"model_turns", model_turns},
    {"multipart", multipart},
    {"network", network},
    {"schema", schema},
    {"scgi", scgi},
    {"scim", scim},
    {"settings", settings},
    {"smtp_reply", smtp_reply},
    {"socks", socks},
    {"target", target},
    {"time_text", time_text},
    {"tool_answer", tool_answer},
    {"url", url},
}};

}  // namespace hostler::fuzz
