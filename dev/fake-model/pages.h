// A few web pages for fetchers that read HTML themselves: plain ones, and each way a page can be
// awkward. Called by the service for everything below /pages.
#pragma once

#include <memory>
#include <string_view>

#include "dev/fake-model/http_server.h"
#include "dev/fake-model/wheel.h"

namespace hostler::fake_model {

std::unique_ptr<Work> answer_page(Wheel& wheel, Exchange& exchange, const HttpRequest& request);

// For --help.
std::string_view pages_help();

}  // namespace hostler::fake_model
