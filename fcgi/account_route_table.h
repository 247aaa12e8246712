// Routes of signing in and of a person's own account, in the form of fcgi/route_table.h, which
// includes them.
#pragma once

#include "fcgi/route_terms.h"

namespace hostler::route_table {

// With a token, the same path begins what POST /v1/auth/confirm takes.
inline constexpr Route passkey_of_caller{
    post,   "/v1/auth/passkey:begin", before_factor(user), dedicated, none,
    by_org, begin_passkey_confirm};

// clang-format off
inline constexpr auto account_routes = std::to_array<Route>({
    {get,   "/v1/auth/captcha-config",        open,
            pipelined, none, by_address, show_captcha_config},
    {get,   "/v1/auth/registration-mode",     open,
            pipelined, none, by_address, show_registration_mode},
    {post,  "/v1/auth/check",                 open,
            dedicated, mib, by_address, check_login},
    {post,  "/v1/auth/register",              open,
            dedicated, mib, by_address, register_account},
    {post,  "/v1/auth/login",                 finds_caller(open),
            dedicated, mib, by_address, log_in},
    {post,  "/v1/auth/refresh",               finds_caller(open),
            dedicated, none, by_address, refresh_session},
    {post,  "/v1/auth/logout",                before_factor(before_proof(user)),
            dedicated, none, by_org, log_out},
    {post,  "/v1/auth/factor",                finds_caller(open),
            dedicated, mib, by_address, answer_factor},
    {post,  "/v1/auth/passkey:begin",         open, dedicated, none, by_address,
            begin_passkey_login, nullptr, nullptr, nullptr, &passkey_of_caller},
    {post,  "/v1/auth/passkey",               finds_caller(open),
            dedicated, mib, by_address, log_in_by_passkey},
    {get,   "/v1/auth/sso/providers",         open, pipelined, none, by_address, list_sso_providers},
    {post,  "/v1/auth/sso/start",             open, dedicated, mib, by_address, start_sso},
    {get,   "/v1/auth/sso/callback/{provider_key}", finds_caller(open), dedicated, none, by_address,
            return_from_provider, nullptr, render_sso_fault, nullptr, nullptr, true},
    {post,  "/v1/auth/sso/backchannel-logout/{provider_key}", open,
            dedicated, mib, by_address, log_out_by_provider},
    {post,  "/v1/auth/confirm",               before_factor(user), dedicated, mib, by_org, prove_session},
    {post,  "/v1/auth/email/verify/send",     before_proof(user),
            dedicated, none, by_org, send_email_verification},
    {post,  "/v1/auth/email/verify/confirm",  open,
            dedicated, mib, by_address, confirm_email},
    {post,  "/v1/auth/email/revert",          open,
            dedicated, mib, by_address, revert_email},
    {post,  "/v1/auth/email/otp/send",        finds_caller(open),
            dedicated, mib, by_address, send_login_code},
    {post,  "/v1/auth/email/otp/verify",      finds_caller(open),
            dedicated, mib, by_address, verify_login_code},

    {get,   "/v1/me",                         before_factor(before_proof(user_or_key)),
            pipelined, none, by_org, show_me},
    {patch, "/v1/me",                         user, dedicated, mib, by_org, update_me},
    {del,   "/v1/me",                         own_account(may_end_caller(user)), dedicated, mib, by_org, delete_me},
    {post,  "/v1/me/password",                own_account(user), dedicated, mib, by_org, change_password},
    {post,  "/v1/me/email",                   own_account(user), dedicated, mib, by_org, change_email},
    {get,   "/v1/me/sessions",                user, pipelined, none, by_org, list_sessions},
    {del,   "/v1/me/sessions/{session_id}",   user, dedicated, none, by_org, revoke_session},
    {get,   "/v1/me/factors",                 before_factor(user), pipelined, none, by_org, list_factors},
    {post,  "/v1/me/factors/totp",            own_account(fresh(before_factor(user))),
            idempotent, mib, by_org, create_totp},
    {post,  "/v1/me/factors/totp/{factor_id}:confirm", own_account(fresh(before_factor(user))),
            dedicated, mib, by_org, confirm_totp, guard_factor},
    {post,  "/v1/me/factors/passkeys:begin",  own_account(fresh(before_factor(user))),
            dedicated, none, by_org, begin_passkey},
    {post,  "/v1/me/factors/passkeys",        own_account(fresh(before_factor(user))),
            idempotent, mib, by_org, create_passkey},
    {del,   "/v1/me/factors/{factor_id}",     own_account(fresh(before_factor(user))),
            dedicated, none, by_org, delete_factor},
    {post,  "/v1/me/recovery-codes",          own_account(fresh(before_factor(user))),
            idempotent, none, by_org, renew_recovery_codes},
    {get,   "/v1/me/identities",              user, pipelined, none, by_org, list_identities},
    {del,   "/v1/me/identities/{identity_id}", own_account(fresh(user)),
            dedicated, none, by_org, delete_identity},
    {get,   "/v1/me/invite-code",             user, pipelined, none, by_org, show_own_invite_code},
    {post,  "/v1/me/invite-code/reset",       own_account(user), idempotent, none, by_org, reset_own_invite_code},

    {post,  "/v1/me/export",                  own_account(fresh(user)), idempotent, none, by_org, export_me},
    {get,   "/v1/exports/{export_id}",        user, pipelined, none, by_org, show_export},
    {get,   "/v1/exports/{export_id}/content", own_account(fresh(user)), dedicated, none, by_org, read_export},
});
// clang-format on

}  // namespace hostler::route_table
