-- Which of the temporary table statements read or write tables without naming the organization, themselves or in a
-- function that they call. What hostler_api sends is held to the caller's organization by the policies of the tables,
-- but in definer functions; hostler_runner is held by none. Reads text: a comparison of org_id counts, an answer does
-- not.
WITH RECURSIVE our_functions AS (
    SELECT p.proname::text COLLATE "default" AS name, p.prosecdef AS is_definer, string_agg(p.prosrc, E'\n') AS body
    FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace GROUP BY p.proname, p.prosecdef),
bodies AS (
    SELECT name, is_definer, is_function, regexp_replace(body, '--[^\n]*', '', 'g') AS body FROM (
        SELECT name, is_definer, true AS is_function, body FROM our_functions
        UNION ALL
        SELECT name, false, false, body FROM statements) AS every),
calls AS MATERIALIZED (
    SELECT DISTINCT b.name AS caller, b.is_function AS by_function, f.name AS called
    FROM bodies b, regexp_matches(b.body, '\m(\w+)\s*\(', 'g') AS word
    JOIN our_functions f ON f.name = word[1]),
reached (statement, is_of_runner, name, is_function) AS (
    SELECT s.name, s.is_of_runner, s.name, false FROM statements s
    UNION
    SELECT r.statement, r.is_of_runner, c.called, true
    FROM reached r JOIN calls c ON c.caller = r.name AND c.by_function = r.is_function),
our_tables AS (
    SELECT c.relname::text COLLATE "default" AS name, EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped) AS has_org
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition),
loose AS MATERIALIZED (  -- bodies that name no organization, and what they touch
    SELECT DISTINCT b.name, b.is_function, b.is_definer, t.has_org
    FROM bodies b,
        regexp_matches(b.body, '\m(?:FROM|JOIN|UPDATE|INTO|USING)\s+(?:ONLY\s+)?(\w+)', 'g') AS word
    JOIN our_tables t ON t.name = word[1]
    WHERE b.body !~ '\morg_id\s*(=|IN\M|IS NOT DISTINCT)|=\s*(ANY\s*\(\s*)?(\w+\.)?(\w+_)?org_id\M'
      AND b.body !~ '\m(current_org|scope_org)\(|\((\w+\.)?org_id,[^)]*\)\s*(=|IN\M)|\morg\s*=|=\s*org\M'
      AND b.body !~ 'INSERT INTO \w+(?: AS \w+)? \([^)]*\morg_id\M')
SELECT DISTINCT r.statement AS name FROM reached r JOIN loose l ON l.name = r.name AND l.is_function = r.is_function
WHERE r.is_of_runner OR l.is_definer OR NOT l.has_org ORDER BY 1;
