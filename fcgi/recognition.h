// Who a client is before anybody is asked: address, trace, risk, by the gateway's settings. For
// fcgi/dispatch.cpp alone; callers with a token are refused by the database (sql: authenticate).
#pragma once

#include "fcgi/request.h"
#include "lib/gateway.h"

namespace hostler {

// Fills client_ip, risk and, of a trusted proxy, the trace id.
void recognize(const Gateway& gateway, Request& request);

// 403 risk.rejected of an open route. Not of the probes, nor of those that find out who it is:
// there a platform admin passes whatever the score (sql: risk_check).
void refuse_risky(const Request& request);

}  // namespace hostler
