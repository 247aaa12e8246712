-- Checks of names and addresses by hostlerctl after an upgrade of ICU or libidn2. Never used by the services.

-- name: doctor_addresses
-- Addresses whose keys are not merely the address in lower case.
-- $1 limit bigint
SELECT email, email_key FROM users
WHERE status <> 'deleted' AND (email ~ '[^[:ascii:]]' OR email ~* '@(.*\.)?xn--' OR email_key <> lower(email))
ORDER BY id LIMIT $1;

-- name: names_stale_count
-- How many names no ICU of this version has looked at.
-- $1 icu text
SELECT count(*) AS count FROM user_names WHERE icu IS DISTINCT FROM $1;

-- name: names_stale
-- Some of them.
-- $1 icu text, $2 limit bigint
SELECT name_key FROM user_names WHERE icu IS DISTINCT FROM $1 LIMIT $2;

-- name: names_look_set
-- $1 names text[], $2 skeletons text[], $3 icu text
UPDATE user_names n SET skeleton = made.skeleton, icu = $3::text
FROM unnest($1::text[], $2::text[]) AS made (name, skeleton) WHERE n.name_key = made.name;

-- name: names_alike
-- Names of several users that look alike, where one is not ASCII.
SELECT string_agg(n.name_key, ', ' ORDER BY n.name_key) AS names FROM user_names n
WHERE n.skeleton IN (SELECT q.skeleton FROM user_names q WHERE q.name_key ~ '[^[:ascii:]]')
GROUP BY n.skeleton HAVING count(DISTINCT n.user_id) > 1 ORDER BY n.skeleton LIMIT 100;
