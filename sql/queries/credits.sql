-- Credits and redemption codes.

-- name: credits_show
-- An organization's account with a page of its ledger.
-- $1 org_id uuid, $2 limit integer, $3 before uuid or null
SELECT json_build_object('org_id', account -> 'org_id', 'balance', account -> 'balance',
           'balance_text', account -> 'balance_text', 'available', account -> 'available',
           'transactions', page.body::json) AS body, page.next
FROM (SELECT array_agg(id) AS ids, array_agg(item) AS items
      FROM credit_transaction_page($1, $2::integer + 1, $3)) AS found,
     page_of(found.ids, found.items, $2) AS page, credit_account_json($1) AS account;

-- name: own_credits_show
-- As credits_show, of the caller's organization.
-- $1 limit integer, $2 before uuid or null
SELECT json_build_object('balance', account -> 'balance', 'balance_text', account -> 'balance_text',
           'available', account -> 'available', 'transactions', page.body::json) AS body, page.next
FROM (SELECT array_agg(id) AS ids, array_agg(item) AS items
      FROM credit_transaction_page(current_org(), $1::integer + 1, $2)) AS found,
     page_of(found.ids, found.items, $1) AS page, credit_account_json(current_org()) AS account;

-- name: credit_adjust
-- $1 org_id uuid, $2 amount bigint, $3 note text or null
SELECT credit_adjust($1, $2, $3) AS item;

-- name: credit_bulk_adjust
-- $1 amount bigint, $2 note text or null
SELECT credit_bulk_adjust($1, $2) AS item;

-- name: credit_bulk_preview
-- What credit_bulk_adjust, or without an amount credit_reset_all, would do.
-- $1 amount bigint or null
SELECT credit_bulk_preview($1) AS item;

-- name: credit_reset_all
-- $1 note text or null
SELECT credit_reset_all($1) AS item;

-- name: redemption_code_batch
-- $1 wanted jsonb
SELECT redemption_code_batch($1) AS item;

-- name: redemption_code_page
-- $1 q text or null, $2 type text or null, $3 limit integer, $4 before uuid or null
SELECT id, item FROM redemption_code_page($3::integer + 1, $4, $1, $2) ORDER BY id DESC;

-- name: redemption_code_guard
-- $1 redemption_code_id uuid
SELECT redemption_code_guard($1);

-- name: redemption_code_switch
-- $1 redemption_code_id uuid, $2 is_active boolean
SELECT redemption_code_switch($1, $2) AS item;

-- name: redemption_try
-- Counts a try, or raises its 429.
-- $1 limit_redeem_tries_per_minute integer
SELECT redemption_try($1);

-- name: redemption_redeem
-- $1 code text
SELECT redemption_redeem($1) AS item;
