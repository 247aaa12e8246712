// The table of fragments; see lib/client/user_agent.h.
#include "lib/client/user_agent.h"

#include <algorithm>
#include <array>

#include "lib/ascii.h"

namespace hostler::client {
namespace {

struct Fragment {
  std::string_view text;  // lower case
  UserAgentClass kind;
};

using enum UserAgentClass;

// The first that occurs counts: bots name themselves inside the words of a browser.
constexpr auto fragments = std::to_array<Fragment>({
    {"bot", bot},
    {"crawl", bot},
    {"spider", bot},
    {"slurp", bot},
    {"scrapy", bot},
    {"archiver", bot},
    {"headlesschrome", bot},
    {"phantomjs", bot},
    {"facebookexternalhit", bot},
    {"mediapartners-google", bot},
    {"bingpreview", bot},
    {"feedfetcher", bot},
    {"curl/", tool},
    {"wget/", tool},
    {"python", tool},
    {"aiohttp/", tool},
    {"go-http-client/", tool},
    {"okhttp/", tool},
    {"java/", tool},
    {"apache-httpclient/", tool},
    {"postmanruntime/", tool},
    {"insomnia/", tool},
    {"httpie/", tool},
    {"libwww-perl/", tool},
    {"axios/", tool},
    {"node", tool},
    {"undici", tool},
    {"deno/", tool},
    {"bun/", tool},
    {"ruby", tool},
    {"guzzlehttp/", tool},
    {"php", tool},
    {"dart/", tool},
    {"reqwest", tool},
    {"hyper/", tool},
    {"powershell/", tool},
    {"k6/", tool},
    {"apachebench/", tool},
    {"jmeter", tool},
    {"hostler", tool},
    {"mozilla/", browser},
    {"opera/", browser},
});

// More of a header field is not looked at.
constexpr size_t looked_at_max = 512;

bool holds(std::string_view text, std::string_view fragment) {
  auto found = std::search(text.begin(), text.end(), fragment.begin(), fragment.end(),
                           [](char a, char b) { return ascii::lower(a) == b; });
  return found != text.end();
}

}  // namespace

UserAgentClass user_agent_class(std::string_view user_agent) {
  user_agent = user_agent.substr(0, looked_at_max);
  for (const Fragment& fragment : fragments) {
    if (holds(user_agent, fragment.text)) return fragment.kind;
  }
  return unknown;
}

std::string_view user_agent_class_name(UserAgentClass kind) {
  switch (kind) {
    case browser:
      return "browser";
    case bot:
      return "bot";
    case tool:
      return "tool";
    case unknown:
      return "unknown";
  }
  return "";
}

}  // namespace hostler::client
