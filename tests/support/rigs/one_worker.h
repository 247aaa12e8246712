// A pool of one worker, for tests that change a setting and rely on it afterwards. Each worker
// reads changed settings by itself, and no client can choose the worker that answers it.
#pragma once

namespace hostler::testing_support {

inline constexpr const char* one_worker = "HOSTLER_API_WORKERS=1";

}  // namespace hostler::testing_support
