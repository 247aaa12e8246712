-- The base of every topic: versions of the schema, ids, errors, times, names, search words, pages. Created by
-- hostlerctl migrate as hostler_owner. The roles exist already: they belong to the cluster and are created by
-- hostlerctl setup-database.

GRANT USAGE ON SCHEMA public TO hostler_api, hostler_runner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO hostler_api, hostler_runner;

CREATE TABLE schema_migrations (
    version text COLLATE "C" PRIMARY KEY CHECK (version ~ '^[0-9]{5}$'),
    name text NOT NULL,
    checksum bytea NOT NULL,
    -- The oldest schema whose programs still work on this one: during an upgrade both are at work.
    compatible_from text NOT NULL CHECK (compatible_from ~ '^[0-9]{5}$' AND compatible_from <= version),
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON schema_migrations TO hostler_api, hostler_runner;

-- Whose functions the database has: replaced by hostlerctl migrate when their text is another.
CREATE TABLE schema_functions (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    checksum bytea NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Bounds of columns that are written with every message and run. They are domains, because Postgres reads and plans the
-- text of every CHECK of a table again for every statement that writes a row of it, even of another column: seven of
-- them took a fifth of a message's cost. Postgres keeps those of a domain, and checks only written values.
CREATE DOMAIN count_from_zero AS integer CHECK (VALUE >= 0);
CREATE DOMAIN amount_from_zero AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN message_role AS text CHECK (VALUE IN ('user', 'assistant', 'tool'));
CREATE DOMAIN client_name AS text COLLATE "C" CHECK (length(VALUE) BETWEEN 1 AND 128);

-- UUIDv7 with microseconds (RFC 9562 method 3): ids made by one session one after the other are in
-- order, and an id is also a time by the database's clock: its milliseconds, the version, 12 bits of their fraction.
-- One expression that looks at the clock once, so that Postgres puts it into the statements whose default it is.
CREATE OR REPLACE FUNCTION uuidv7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT (left(overlay(lpad(to_hex(trunc(extract(epoch FROM clock_timestamp()) * 65536000)::bigint), 16, '0')
                         PLACING '7' FROM 13 FOR 0), 16)
            || substr(gen_random_uuid()::text, 20))::uuid
$$;

-- The same of a given moment: of two that are a microsecond apart the later one has the greater id.
CREATE OR REPLACE FUNCTION uuidv7_of(moment timestamptz) RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT (left(overlay(lpad(to_hex(trunc(extract(epoch FROM moment) * 65536000)::bigint), 16, '0')
                         PLACING '7' FROM 13 FOR 0), 16)
            || substr(gen_random_uuid()::text, 20))::uuid
$$;

-- The moment of a change to what was changed last at `last`, whose row is held: later than that, also when the clock
-- went back, or a standby whose clock is behind was promoted. Where ids of it stand for an order.
CREATE OR REPLACE FUNCTION moment_after(last timestamptz, now timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT greatest(now, last + interval '1 microsecond')
$$;

-- The least id of a moment: bounds of partitions and of time filters over ids.
CREATE OR REPLACE FUNCTION uuidv7_floor(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Times as clients see them: RFC 3339, UTC, milliseconds.
CREATE OR REPLACE FUNCTION rfc3339(moment timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Ends the transaction with an error of the API: code as on the wire; reason, which occurrence of it, if there are
-- several or a client gets more than the code's title; facts for its words, which stand in lib/error_reasons.cpp, a row
-- each. refused: the caller that authenticate() refused, apart from everything that a client may see.
CREATE OR REPLACE FUNCTION fail(code text, reason text DEFAULT NULL, facts jsonb DEFAULT '{}', refused text DEFAULT '')
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'HS000', MESSAGE = concat_ws(' ', code, reason), HINT = facts::text,
        DETAIL = refused;
END
$$;

-- Case-insensitive identity of logins, usernames and addresses.
CREATE OR REPLACE FUNCTION name_key(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT lower(normalize(name, NFKC) COLLATE "und-x-icu")
$$;

-- Like the programs' search_words() (lib/search_words.h), except for marks that stand alone and texts of more words
-- than count there. For text that only the database has: the streamed part of an unfinished answer.
CREATE OR REPLACE FUNCTION search_words(content text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT coalesce(string_agg(DISTINCT w.word, ' '), '')
    FROM regexp_matches(lower(left(content, 32768)),
        '((?:(?=[[:alnum:]])[\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF])+)'
        '|((?:(?![\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF])[[:alnum:]])+)', 'g') AS found (parts)
    CROSS JOIN LATERAL (
        SELECT left(found.parts[2], 60) AS word WHERE found.parts[2] IS NOT NULL
        UNION ALL
        SELECT substr(found.parts[1], n, 2) FROM generate_series(1, length(found.parts[1])) AS n) AS w
$$;

-- The result of search_words() for a text, as an index of words has it.
CREATE OR REPLACE FUNCTION words_vector(words text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(string_to_array(words, ' '))
$$;

-- Where a URL leads, as scheme://host:port in small letters; of what is no plain one the whole text, so that every
-- change of it counts as another place.
CREATE OR REPLACE FUNCTION url_origin(url text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(lower(part[1] || '://' || part[2]) || ':'
                    || coalesce(nullif(ltrim(part[4], '0'), ''),
                                CASE lower(part[1]) WHEN 'http' THEN '80' ELSE '443' END),
                    url)
    FROM regexp_match(url, '^(https?)://([^][/?#:@%\\]+|\[[0-9a-f:.]+\])(:([0-9]*))?(?=[/?#]|$)', 'i') AS part
$$;

-- The same as people read it: without the port that the scheme has anyway.
CREATE OR REPLACE FUNCTION url_shown_origin(url text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT regexp_replace(url_origin(url), '^(https://.*):443$|^(http://.*):80$', '\1\2')
$$;

-- Whether a URL is the other one or lies below it: the same origin and query, and a path that is the other's or
-- continues after it. A path with dot segments or encoded separators counts as another place, because servers resolve
-- them.
CREATE OR REPLACE FUNCTION url_is_below(url text, place text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT url = place OR (
        url_origin(url) = url_origin(place) AND coalesce(u[2], '') = coalesce(p[2], '')
        AND u[1] !~* '(^|/)(\.|%2e){1,2}(/|$)' AND u[1] !~* '\\|%2f|%5c'
        AND (rtrim(u[1], '/') = rtrim(p[1], '/') OR starts_with(u[1], rtrim(p[1], '/') || '/')))
    FROM (SELECT regexp_match(url, '^[^:]*://[^/?#]*([^?#]*)(\?[^#]*)?') AS u,
                 regexp_match(place, '^[^:]*://[^/?#]*([^?#]*)(\?[^#]*)?') AS p) AS parts
$$;

-- A page of a list, from the JSON of rows read one further than page_limit: those that fit into 4 MiB of text, at
-- least one, as an array; and the id of the last of them when more exist. They are only measured one by one when all
-- together are too long.
CREATE OR REPLACE FUNCTION page_of(ids uuid[], items anyarray, page_limit integer) RETURNS TABLE (body text, next uuid)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT '[' || coalesce(array_to_string(items[:fit.rows], ','), '') || ']',
           CASE WHEN fit.rows < cardinality(ids) THEN ids[fit.rows] END
    FROM (SELECT CASE WHEN octet_length(array_to_string(items, ',')) <= 4194304
              THEN least(page_limit, cardinality(items))
              ELSE (SELECT max(n)::integer
                    FROM (SELECT n, sum(octet_length(item::text)) OVER (ORDER BY n) AS bytes
                          FROM unnest(items) WITH ORDINALITY AS read(item, n)) AS sized
                    WHERE n <= page_limit AND (n = 1 OR bytes <= 4194304)) END AS rows OFFSET 0) AS fit
$$;

CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Every piece of one or two characters, for searches in which trigrams find nothing to look up. Costs so much that a
-- plan evaluates it for few rows only.
CREATE OR REPLACE FUNCTION short_pieces(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 2000 AS $$
    SELECT array_agg(DISTINCT substr(content, i, n))
    FROM generate_series(1, length(content)) AS i, generate_series(1, 2) AS n
$$;

-- Whether a number of a JSON text has an exponent of 400 or more, of either sign. No double has; jsonb, which writes
-- all digits out, makes 128 KiB of 1e131071 and 16 KiB of 0e-16383. Asked of what stands outside of strings.
CREATE OR REPLACE FUNCTION has_long_numbers(json_text text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(json_text, '"(?:[^"\\]|\\.)*"', '', 'g') ~* 'e[+-]?0*(?:[4-9][0-9]{2}|[1-9][0-9]{3})'
$$;

CREATE OR REPLACE FUNCTION utc_day(moment timestamptz) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (moment AT TIME ZONE 'UTC')::date
$$;

CREATE OR REPLACE FUNCTION uuidv7_at(us bigint) RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT (lpad(to_hex(us / 1000), 12, '0') || '7' || lpad(to_hex(us % 1000 * 4096 / 1000), 3, '0')
            || substr(gen_random_uuid()::text, 20))::uuid
$$;

-- A sum as a bigint: the largest, when it is larger.
CREATE OR REPLACE FUNCTION saturated(total numeric) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT least(total, 9223372036854775807)::bigint
$$;

-- The network of an address, as counters take it: one host is an address of version 4, also in its form of version 6,
-- or 64 bits of version 6, which is what a client gets.
CREATE OR REPLACE FUNCTION network_of(address inet) RETURNS inet
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN family(address) = 4 THEN set_masklen(address, 32)
        WHEN set_masklen(address, 128) << '::ffff:0:0/96'
        THEN '0.0.0.0'::inet + (set_masklen(address, 128) - '::ffff:0:0'::inet)
        ELSE network(set_masklen(address, 64))::inet END
$$;
