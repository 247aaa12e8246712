-- The shape of the schema, a line a thing, in the order of names. Read by tests/sql/schema_test.cpp.
-- The lines are the same for every version of Postgres. Version 18 keeps each NOT NULL of a column as a constraint,
-- which a column's own line tells already, and has an uuidv7() of its own, so that ours is shown with its schema.
WITH mine AS (
    SELECT c.oid, c.relname, c.relkind, c.relacl, c.relowner, c.relrowsecurity, c.relforcerowsecurity, c.reloptions
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
          AND NOT EXISTS (SELECT FROM pg_depend d
                          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')),
lines (name, part, detail, line) AS (
    SELECT relname::text, 0, '',
           CASE relkind WHEN 'v' THEN 'view ' WHEN 'S' THEN 'sequence ' ELSE 'table ' END || relname
           || coalesce(' partitioned by ' || pg_get_partkeydef(oid), '')
           || CASE WHEN relrowsecurity THEN ' row-security' ELSE '' END
           || CASE WHEN relforcerowsecurity THEN ' forced' ELSE '' END
           || coalesce(' with ' || array_to_string(reloptions, ', '), '')
    FROM mine WHERE relkind IN ('r', 'p', 'v', 'S')
    UNION ALL
    SELECT t.typname, 0, '',
           format('domain %s as %s %s', t.typname, format_type(t.typbasetype, t.typtypmod), pg_get_constraintdef(k.oid))
    FROM pg_type t JOIN pg_constraint k ON k.contypid = t.oid AND k.contype <> 'n'
    WHERE t.typnamespace = 'public'::regnamespace
    UNION ALL
    SELECT m.relname, 1, a.attname,
           format('%s.%s %s%s%s', m.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                  CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
                  coalesce(CASE WHEN a.attgenerated <> '' THEN ' generated ' ELSE ' default ' END
                           || regexp_replace(pg_get_expr(d.adbin, d.adrelid), '^public[.]uuidv7[(]', 'uuidv7('),
                           ''))
    FROM pg_attribute a JOIN mine m ON m.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped AND m.relkind IN ('r', 'p', 'v')
    UNION ALL
    SELECT m.relname, 2, pg_get_constraintdef(k.oid), m.relname || ' ' || pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN mine m ON m.oid = k.conrelid WHERE k.contype <> 'n'
    UNION ALL
    SELECT m.relname, 3, pg_get_indexdef(i.indexrelid), pg_get_indexdef(i.indexrelid)
    FROM pg_index i JOIN mine m ON m.oid = i.indrelid
    UNION ALL
    SELECT m.relname, 4, p.polname,
           format('policy %s on %s using %s check %s', p.polname, m.relname, pg_get_expr(p.polqual, p.polrelid),
                  pg_get_expr(p.polwithcheck, p.polrelid))
    FROM pg_policy p JOIN mine m ON m.oid = p.polrelid
    UNION ALL
    SELECT m.relname, 5, t.tgname, pg_get_triggerdef(t.oid)
    FROM pg_trigger t JOIN mine m ON m.oid = t.tgrelid WHERE NOT t.tgisinternal
    UNION ALL
    SELECT m.relname, 6, g.grantee::regrole::text || g.privilege_type,
           format('grant %s on %s to %s', g.privilege_type, m.relname, g.grantee::regrole)
    FROM mine m, aclexplode(m.relacl) g WHERE g.grantee <> m.relowner
    UNION ALL
    SELECT m.relname, 7, a.attname || g.privilege_type,
           format('grant %s (%s) on %s to %s', g.privilege_type, a.attname, m.relname, g.grantee::regrole)
    FROM pg_attribute a JOIN mine m ON m.oid = a.attrelid, aclexplode(a.attacl) g
    UNION ALL
    SELECT '~' || p.proname, 8, pg_get_function_identity_arguments(p.oid),
           format('function %s(%s) returns %s %s%s %s%s%s%s to %s, body %s', p.proname,
                  pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname,
                  CASE WHEN p.prosecdef THEN ' definer' ELSE '' END, p.provolatile, p.proparallel,
                  CASE WHEN p.proisstrict THEN ' strict' ELSE '' END,
                  coalesce(' set ' || array_to_string(p.proconfig, ', '), ''),
                  coalesce((SELECT string_agg(CASE g.grantee WHEN 0 THEN 'public' ELSE g.grantee::regrole::text END,
                                              ',' ORDER BY g.grantee::regrole::text)
                            FROM aclexplode(p.proacl) g WHERE g.grantee <> p.proowner), 'its owner'),
                  md5(p.prosrc))
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = 'public'::regnamespace
          AND NOT EXISTS (SELECT FROM pg_depend d
                          WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'))
SELECT line FROM lines ORDER BY name COLLATE "C", part, detail COLLATE "C", line COLLATE "C";
