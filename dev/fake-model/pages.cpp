// The pages of pages.h: one table row a page.
#include "dev/fake-model/pages.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "dev/fake-model/delayed_answer.h"

namespace hostler::fake_model {
namespace {

constexpr int64_t page_bytes_max = 64 * 1024 * 1024;
constexpr int64_t wait_ms_max = 600'000;

constexpr std::string_view simple_html = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>A simple page &amp; its title</title>
<style>body { color: red }</style><script>var hidden = "never shown";</script></head>
<body><nav><a href="/pages/text">Elsewhere</a></nav>
<h1>Boats and lanterns</h1>
<p>The first paragraph has <b>bold</b> words, an entity &mdash; and a
   line break in its source.</p>
<p>Größe, 世界, &#128512;.</p>
<ul><li>One</li><li>Two</li></ul>
<table><tr><th>Name</th><th>Count</th></tr><tr><td>boats</td><td>3</td></tr></table>
<p hidden>Hidden text.</p><!-- a comment -->
</body></html>
)";

struct Asked {
  Wheel& wheel;
  Exchange& exchange;
  const HttpRequest& request;
  std::string rest;  // of the path, behind the page's name and its slash
};

int64_t number_or(std::string_view text, int64_t fallback, int64_t max) {
  int64_t number = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_whole = fault == std::errc() && end == text.data() + text.size();
  return is_whole && number >= 0 && number <= max ? number : fallback;
}

int64_t wanted(const Asked& asked, std::string_view name, int64_t fallback, int64_t max) {
  return number_or(query_value(asked.request.query, name).value_or(""), fallback, max);
}

std::unique_ptr<Work> give(const Asked& asked, std::string content_type, std::string_view body,
                           int status = 200) {
  asked.exchange.answer({status, std::move(content_type), {}}, body);
  return nullptr;
}

std::unique_ptr<Work> redirect(const Asked& asked, int status, std::string location) {
  // A header field cannot hold a line end: it would begin a field of its own.
  std::erase_if(location, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  asked.exchange.answer({status, "text/html", {{"location", location}}}, "<p>Moved</p>");
  return nullptr;
}

std::unique_ptr<Work> simple(const Asked& asked) {
  return give(asked, "text/html; charset=utf-8", simple_html);
}

std::unique_ptr<Work> redirect_chain(const Asked& asked) {
  int64_t left = number_or(asked.rest, 1, 1000);
  if (left == 0) return simple(asked);
  return redirect(asked, 302, "/pages/redirect/" + std::to_string(left - 1));
}

std::unique_ptr<Work> redirect_to(const Asked& asked) {
  int64_t status = wanted(asked, "status", 302, 399);
  std::string url = query_value(asked.request.query, "url").value_or("/pages/simple");
  return redirect(asked, static_cast<int>(std::max<int64_t>(status, 300)), std::move(url));
}

std::unique_ptr<Work> redirect_loop(const Asked& asked) {
  return redirect(asked, 302, "/pages/redirect-loop");
}

// In ISO 8859-1: e9 is é, fc is ü.
constexpr std::string_view latin1_body = "<p>Caf\xe9 in Z\xfcrich</p></body></html>\n";

std::unique_ptr<Work> latin1(const Asked& asked) {
  return give(asked, "text/html; charset=ISO-8859-1",
              "<html><head><title>Latin 1</title></head><body>" + std::string(latin1_body));
}

std::unique_ptr<Work> latin1_meta(const Asked& asked) {
  return give(asked, "text/html",
              "<html><head><meta charset=\"iso-8859-1\"><title>Latin 1</title></head><body>" +
                  std::string(latin1_body));
}

std::unique_ptr<Work> bad_utf8(const Asked& asked) {
  return give(asked, "text/html; charset=utf-8",
              "<html><title>Broken</title><p>Half a character: \xe4\xb8 and \xff.</p></html>");
}

std::unique_ptr<Work> huge(const Asked& asked) {
  size_t bytes = static_cast<size_t>(wanted(asked, "bytes", 6 * 1024 * 1024, page_bytes_max));
  std::string body = "<html><title>Huge</title><body>";
  while (body.size() < bytes) body += "<p>Many words, 世界, in a very long page.</p>\n";
  return give(asked, "text/html; charset=utf-8", body);
}

std::unique_ptr<Work> slow(const Asked& asked) {
  AnswerHead head{200, "text/html; charset=utf-8", {}};
  return answer_after(asked.wheel, asked.exchange, std::move(head), std::string(simple_html),
                      wanted(asked, "ms", 3000, wait_ms_max));
}

// A line every so often, until so many were sent.
class Drip final : public Work, private Wheel::Entry {
 public:
  Drip(const Asked& asked, int64_t lines, int64_t pause_ms)
      : wheel_(asked.wheel), exchange_(asked.exchange), lines_(lines), pause_ms_(pause_ms) {
    exchange_.begin_stream({200, "text/html; charset=utf-8", {}});
    on_due();
  }

 private:
  void on_due() override {
    if (lines_-- <= 0) return exchange_.end();
    exchange_.write("<p>drip</p>\n");
    wheel_.schedule(*this, wheel_.now_ms() + pause_ms_);
  }

  Wheel& wheel_;
  Exchange& exchange_;
  int64_t lines_;
  int64_t pause_ms_;
};

std::unique_ptr<Work> drip(const Asked& asked) {
  return std::make_unique<Drip>(asked, wanted(asked, "lines", 60, 1'000'000),
                                wanted(asked, "ms", 1000, wait_ms_max));
}

std::unique_ptr<Work> text(const Asked& asked) {
  return give(asked, "text/plain; charset=utf-8", "Plain text, <b>not bold</b>, 世界.\n");
}
std::unique_ptr<Work> json(const Asked& asked) {
  return give(asked, "application/json", R"({"boats":3,"lanterns":[true,null,"世界"]})");
}
std::unique_ptr<Work> pdf(const Asked& asked) {
  return give(asked, "application/pdf",
              "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n%%EOF\n");
}
std::unique_ptr<Work> image(const Asked& asked) {
  return give(asked, "image/png", std::string_view("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16));
}
std::unique_ptr<Work> untyped(const Asked& asked) { return give(asked, "", simple_html); }
std::unique_ptr<Work> empty(const Asked& asked) { return give(asked, "text/html", ""); }

std::unique_ptr<Work> status(const Asked& asked) {
  int64_t code = std::max<int64_t>(number_or(asked.rest, 404, 599), 200);
  return give(asked, "text/html", "<html><title>Status</title><p>As asked.</p></html>",
              static_cast<int>(code));
}

std::unique_ptr<Work> cut(const Asked& asked) {
  asked.exchange.write_raw(
      "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5000\r\n\r\n"
      "<html><p>The rest of this page never");
  asked.exchange.cut(CutStyle::close);
  return nullptr;
}

struct PageRow {
  std::string_view name;
  std::unique_ptr<Work> (*answer)(const Asked& asked);
};

constexpr PageRow pages[] = {
    {"simple", simple},
    {"redirect", redirect_chain},
    {"redirect-to", redirect_to},
    {"latin1", latin1},
    {"latin1-meta", latin1_meta},
    {"redirect-loop", redirect_loop},
    {"bad-utf8", bad_utf8},
    {"huge", huge},
    {"slow", slow},
    {"drip", drip},
    {"text", text},
    {"json", json},
    {"pdf", pdf},
    {"image", image},
    {"untyped", untyped},
    {"empty", empty},
    {"status", status},
    {"cut", cut},
};

}  // namespace

std::unique_ptr<Work> answer_page(Wheel& wheel, Exchange& exchange, const HttpRequest& request) {
  Asked asked{wheel, exchange, request, {}};
  if (request.method != "GET" && request.method != "HEAD") {
    return give(asked, "text/plain", "GET only\n", 405);
  }
  std::string_view rest = std::string_view(request.path).substr(std::string_view("/pages").size());
  rest.remove_prefix(rest.starts_with('/') ? 1 : 0);
  std::string_view name = rest.substr(0, rest.find('/'));
  if (name.size() < rest.size()) asked.rest = percent_decoded(rest.substr(name.size() + 1));
  for (const PageRow& row : pages) {
    if (row.name == name) return row.answer(asked);
  }
  return give(asked, "text/html", "<html><title>Not found</title><p>No such page.</p></html>", 404);
}

std::string_view pages_help() {
  return R"(Pages
  GET /pages/simple, text, json, pdf, image, untyped (no content type), empty
  GET /pages/latin1 (said in the header), latin1-meta (said in the page), bad-utf8
  GET /pages/redirect/N (N times, then simple), redirect-loop, redirect-to?url=U&status=302
  GET /pages/huge?bytes=N, slow?ms=N, drip?lines=N&ms=N, status/N, cut (half a page)
)";
}

}  // namespace hostler::fake_model
