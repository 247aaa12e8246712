-- From which addresses an organization may be used. Behind access.authenticate, which enforces the rules.

-- name: ip_rule_create
-- $1 type text, $2 cidr cidr, $3 note text or null, $4 is_forced boolean
SELECT ip_rule_create($1, $2::cidr, $3, $4) AS item;

-- name: ip_rule_page
-- The organization's rules, newest first.
-- $1 limit integer, $2 before uuid or null
SELECT id, ip_rule_json(ip_rules) AS item FROM ip_rules
WHERE org_id = current_org() AND ($2::uuid IS NULL OR id < $2)
ORDER BY id DESC LIMIT $1::integer + 1;

-- name: ip_rule_check
-- Whether the organization's rules let an address in, and by which rule.
-- $1 address cidr
SELECT ip_rule_check($1::cidr) AS item;

-- name: ip_rule_guard
-- Raises when the organization has no such rule.
-- $1 rule_id uuid
SELECT ip_rule_guard($1);

-- name: ip_rule_delete
-- $1 rule_id uuid, $2 is_forced boolean
SELECT ip_rule_delete($1, $2);
