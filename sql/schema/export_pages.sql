-- Content of an export, page by page (exports.sql): each line is an object with "record". A person's has their profile,
-- and for each organization of theirs their threads, with messages, runs and events. An organization's has its
-- settings, members, usage, audit log and runs, and text of the owner's own threads only. Neither has secrets.

-- The next rows of a list of an organization, behind the row that the export stands at.
CREATE OR REPLACE FUNCTION export_list(x exports, at_most integer) RETURNS TABLE (id uuid, line jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
BEGIN
    CASE x.part
        WHEN 'members' THEN RETURN QUERY
            SELECT m.id, member_json(m, u)::jsonb FROM org_members m JOIN users u ON u.id = m.user_id
            WHERE m.org_id = x.org_id AND m.id > x.row_at ORDER BY m.org_id, m.id LIMIT at_most;
        WHEN 'api_keys' THEN RETURN QUERY
            SELECT k.id, to_jsonb(k) - 'hash' FROM api_keys k WHERE k.org_id = x.org_id AND k.id > x.row_at
            ORDER BY k.id LIMIT at_most;
        WHEN 'invitations' THEN RETURN QUERY
            SELECT i.id, to_jsonb(i) - 'token_hash' FROM org_invitations i WHERE i.org_id = x.org_id AND i.id > x.row_at
            ORDER BY i.org_id, i.id LIMIT at_most;
        WHEN 'ip_rules' THEN RETURN QUERY
            SELECT r.id, to_jsonb(r) FROM ip_rules r WHERE r.org_id = x.org_id AND r.id > x.row_at
            ORDER BY r.org_id, r.id LIMIT at_most;
        WHEN 'personas' THEN RETURN QUERY
            SELECT p.id, to_jsonb(p) - 'earlier' FROM personas p
            WHERE p.org_id = x.org_id AND p.id > x.row_at AND p.deleted_at IS NULL
            ORDER BY p.org_id, p.id LIMIT at_most;
        WHEN 'llm_providers' THEN RETURN QUERY
            SELECT p.id, to_jsonb(p) - 'secret_id' FROM llm_providers p
            WHERE p.org_id = x.org_id AND p.id > x.row_at AND p.deleted_at IS NULL
            ORDER BY p.org_id, p.id LIMIT at_most;
        WHEN 'llm_models' THEN RETURN QUERY
            SELECT m.id, to_jsonb(m) FROM llm_models m
            WHERE m.org_id = x.org_id AND m.id > x.row_at AND m.deleted_at IS NULL
            ORDER BY m.org_id, m.id LIMIT at_most;
        WHEN 'tools' THEN RETURN QUERY
            SELECT t.id, to_jsonb(t) - 'secret_id' FROM tools t
            WHERE t.org_id = x.org_id AND t.id > x.row_at AND t.deleted_at IS NULL
            ORDER BY t.org_id, t.id LIMIT at_most;
        WHEN 'mcp_servers' THEN RETURN QUERY
            SELECT s.id, jsonb_build_object('id', s.id, 'key', s.key, 'url', s.url, 'trust', s.trust,
                'allowed_tools', s.allowed_tools, 'is_active', s.is_active, 'authorization', s.authorization_kind)
            FROM mcp_servers s WHERE s.org_id = x.org_id AND s.id > x.row_at AND s.deleted_at IS NULL
            ORDER BY s.org_id, s.id LIMIT at_most;
        WHEN 'webhooks' THEN RETURN QUERY
            SELECT w.id, webhook_json(w)::jsonb FROM webhook_endpoints w
            WHERE w.org_id = x.org_id AND w.id > x.row_at AND w.deleted_at IS NULL
            ORDER BY w.org_id, w.id LIMIT at_most;
        WHEN 'audit' THEN RETURN QUERY
            SELECT a.id, audit_json(a)::jsonb FROM audit_logs a WHERE a.org_id = x.org_id AND a.id > x.row_at
            ORDER BY a.org_id, a.id LIMIT at_most;
        WHEN 'org_runs' THEN RETURN QUERY
            SELECT r.id, export_run_facts(r) FROM runs r WHERE r.org_id = x.org_id AND r.id > x.row_at
            ORDER BY r.org_id, r.id LIMIT at_most;
    END CASE;
END
$$;

-- A run without what was said in it.
CREATE OR REPLACE FUNCTION export_run_facts(r runs) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('run_id', r.id, 'org_id', r.org_id, 'thread_id', r.thread_id,
        'created_by_user_id', r.created_by_user_id, 'status', r.status, 'model', r.model, 'persona_id', r.persona_id,
        'end_user', r.end_user, 'metadata', r.metadata, 'total_input_tokens', r.total_input_tokens,
        'total_output_tokens', r.total_output_tokens, 'total_cost_usd', run_cost_usd(r), 'credits_used', r.credits_used,
        'created_at', rfc3339(r.created_at), 'ended_at', rfc3339(r.ended_at))
$$;

-- The parts of an export that are lists, in their order.
CREATE OR REPLACE FUNCTION export_parts() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY['members', 'api_keys', 'invitations', 'ip_rules', 'personas', 'llm_providers', 'llm_models', 'tools',
                 'mcp_servers', 'webhooks', 'audit', 'org_runs']
$$;

CREATE OR REPLACE FUNCTION export_line(kind text, line jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (jsonb_build_object('record', kind) || line)::text || E'\n'
$$;

-- The next organization of a person's export: one that is not closed, whose IP rules admit who asked, that requires no
-- identity provider, and that asks for no second factor that they lack. Looks at 100.
CREATE OR REPLACE FUNCTION export_next_org(x exports, OUT org uuid, OUT looked_at uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    o record;
BEGIN
    FOR o IN SELECT g.id, g.closed_at, g.ip_rule_count, g.require_factor, g.required_provider_id
             FROM org_members m JOIN orgs g ON g.id = m.org_id
             WHERE m.user_id = x.user_id AND m.org_id > x.org_at ORDER BY m.org_id LIMIT 100 LOOP
        looked_at := o.id;
        IF o.closed_at IS NULL AND o.required_provider_id IS NULL
           AND (o.ip_rule_count = 0 OR ip_admits(o.id, x.client_ip))
           AND (NOT o.require_factor OR (SELECT u.has_factor FROM users u WHERE u.id = x.user_id)) THEN
            org := o.id;
            RETURN;
        END IF;
    END LOOP;
END
$$;

-- Goes on with the threads of the export's user in the organization that it stands at: a thread, some of its messages,
-- a run, some of its events. Answers the text, and where it goes on in x.
CREATE OR REPLACE FUNCTION export_conversation(INOUT x exports, at_most integer, OUT text_out text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    nobody CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    bytes_max CONSTANT integer := 262144;
    t threads;
    m messages;
    r runs;
    e run_events;
BEGIN
    text_out := '';
    CASE x.part
        WHEN 'threads' THEN
            SELECT * INTO t FROM threads q WHERE q.org_id = x.org_at AND q.created_by_user_id = x.user_id
                AND q.id > x.thread_at AND q.deleted_at IS NULL ORDER BY q.org_id, q.created_by_user_id, q.id LIMIT 1;
            x.row_at := nobody;
            IF t.id IS NULL THEN
                x.part := 'hidden_runs';
                RETURN;
            END IF;
            x.thread_at := t.id;
            x.part := 'messages';
            text_out := export_line('thread', to_jsonb(t) - ARRAY['search', 'is_hidden', 'deleted_at']);
        WHEN 'messages' THEN
            FOR m IN SELECT * FROM messages q WHERE q.thread_id = x.thread_at AND q.id > x.row_at
                         AND q.hidden_by_run_id IS NULL ORDER BY q.thread_id, q.id LIMIT at_most LOOP
                text_out := text_out || export_line('message', message_json(m)::jsonb);
                x.row_at := m.id;
                EXIT WHEN octet_length(text_out) > bytes_max;
            END LOOP;
            IF text_out = '' THEN
                x.part := 'runs';
                x.row_at := nobody;
            END IF;
        WHEN 'runs', 'hidden_runs' THEN
            IF x.part = 'runs' THEN
                SELECT * INTO r FROM runs q WHERE q.thread_id = x.thread_at AND q.id > x.row_at AND q.deleted_at IS NULL
                ORDER BY q.thread_id, q.id LIMIT 1;
            ELSE
                -- Threads that nobody sees, whose run was given its history.
                FOR r IN SELECT q.* FROM runs q WHERE q.org_id = x.org_at AND q.created_by_user_id = x.user_id
                             AND q.id > x.row_at ORDER BY q.org_id, q.created_by_user_id, q.id LIMIT at_most LOOP
                    x.row_at := r.id;
                    IF r.deleted_at IS NULL AND EXISTS (SELECT FROM threads h WHERE h.id = r.thread_id AND h.is_hidden)
                    THEN
                        x.part := 'hidden_events';
                        EXIT;
                    END IF;
                END LOOP;
                IF r.id IS NOT NULL AND x.part = 'hidden_runs' THEN
                    RETURN;
                END IF;
            END IF;
            IF r.id IS NULL THEN
                x.part := CASE x.part WHEN 'runs' THEN 'threads' ELSE 'orgs' END;
                RETURN;
            END IF;
            x.row_at := r.id;
            x.part := CASE x.part WHEN 'runs' THEN 'events' ELSE x.part END;
            x.number_at := 0;
            text_out := export_line('run', export_run_facts(r) || jsonb_build_object('output', r.output))
                || coalesce((SELECT export_line('given_messages', jsonb_build_object('run_id', r.id,
                                 'messages', h.messages)) FROM run_histories h WHERE h.run_id = r.id), '');
        WHEN 'events', 'hidden_events' THEN
            FOR e IN SELECT * FROM run_events q WHERE q.run_id = x.row_at AND q.seq > x.number_at
                     ORDER BY q.run_id, q.seq LIMIT at_most LOOP
                text_out := text_out || export_line('event', jsonb_build_object('run_id', e.run_id, 'seq', e.seq,
                    'type', e.type, 'data', e.data, 'created_at', rfc3339(e.created_at)));
                x.number_at := e.seq;
                EXIT WHEN octet_length(text_out) > bytes_max;
            END LOOP;
            IF text_out = '' THEN
                x.part := CASE x.part WHEN 'events' THEN 'runs' ELSE 'hidden_runs' END;
            END IF;
    END CASE;
END
$$;

-- One look further: the text of the next rows, and where the export stands behind them.
CREATE OR REPLACE FUNCTION export_step(INOUT x exports, at_most integer, OUT text_out text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    nobody CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    parts CONSTANT text[] := export_parts();
    next_org record;
    next_one record;
    listed record;
    last_day date;
BEGIN
    text_out := '';
    IF x.part = 'begin' AND x.is_of_org THEN
        x.part := parts[1];
        text_out := (SELECT export_line('organization', to_jsonb(o) - ARRAY['closed_at', 'erase_at', 'erased_at'])
                     FROM orgs o WHERE o.id = x.org_id);
    ELSIF x.part = 'begin' THEN
        x.part := 'orgs';
        text_out := (SELECT export_line('user', to_jsonb(u) - ARRAY['password_hash', 'search_text'])
                     FROM users u WHERE u.id = x.user_id)
            || (SELECT coalesce(string_agg(export_line('factor', factor_json(f)::jsonb), '' ORDER BY f.id), '')
                FROM factors f WHERE f.user_id = x.user_id AND f.confirmed_at IS NOT NULL)
            || (SELECT coalesce(string_agg(export_line('identity', identity_json(i, p)::jsonb
                    || jsonb_build_object('sub', i.sub)), '' ORDER BY i.id), '')
                FROM identities i JOIN identity_providers p ON p.id = i.provider_id
                WHERE i.user_id = x.user_id AND identity_holds(i.id));
    ELSIF x.part = ANY (parts) THEN
        FOR listed IN SELECT l.id, l.line FROM export_list(x, at_most) AS l LOOP
            text_out := text_out || export_line(CASE x.part WHEN 'org_runs' THEN 'run' ELSE rtrim(x.part, 's') END,
                                                listed.line);
            x.row_at := listed.id;
        END LOOP;
        IF text_out = '' THEN
            x.part := coalesce(parts[array_position(parts, x.part) + 1], 'usage');
            x.row_at := nobody;
        END IF;
    ELSIF x.part = 'usage' THEN
        -- A day at once; number_at: days since 1970.
        last_day := (SELECT min(u.day) FROM usage_of_org u
                     WHERE u.org_id = x.org_id AND u.day > '1970-01-01'::date + x.number_at::integer);
        IF last_day IS NULL THEN
            x.part := 'threads';
            x.org_at := x.org_id;
            RETURN;
        END IF;
        x.number_at := last_day - '1970-01-01'::date;
        text_out := (SELECT string_agg(export_line('usage', to_jsonb(u)), '') FROM usage_of_org u
                     WHERE u.org_id = x.org_id AND u.day = last_day);
    ELSIF x.part = 'orgs' THEN
        SELECT n.org, n.looked_at INTO next_org FROM export_next_org(x) AS n;
        IF x.is_of_org OR next_org.looked_at IS NULL THEN
            x.part := 'end';
            RETURN;
        END IF;
        x.org_at := next_org.looked_at;
        IF next_org.org IS NOT NULL THEN
            x.part := 'threads';
            x.thread_at := nobody;
            text_out := (SELECT export_line('membership', org_json(o, m.role)::jsonb)
                         FROM orgs o JOIN org_members m ON m.org_id = o.id AND m.user_id = x.user_id
                         WHERE o.id = next_org.org);
        END IF;
    ELSE
        SELECT c.x, c.text_out INTO next_one FROM export_conversation(x, at_most) AS c;
        x := next_one.x;
        text_out := next_one.text_out;
    END IF;
END
$$;

-- Maintenance: a piece of the export that waits longest: rows of about 256 KiB. People take turns: after a piece, all
-- exports of its user go to the end of the queue, this one last. The piece and the place where it ends commit together,
-- so that any daemon can continue. It ends with the right to it, and when it is longer than what is kept.
CREATE OR REPLACE FUNCTION exports_page(at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    bytes_max CONSTANT bigint := 4294967296;
    piece_bytes_max CONSTANT integer := 262144;
    x exports;
    next_one record;
    piece text := '';
    looks integer := 0;
    moment timestamptz;
BEGIN
    SELECT * INTO x FROM exports q WHERE q.state = 'running' AND q.due_at <= statement_timestamp()
    ORDER BY q.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF x.id IS NULL THEN
        RETURN false;
    ELSIF NOT export_is_right(x) THEN
        UPDATE exports q SET state = 'failed', expires_at = clock_timestamp(), client_ip = NULL WHERE q.id = x.id;
        RETURN true;
    ELSIF x.part = 'begin' AND x.is_of_org THEN
        PERFORM org_export_mails(x);
    END IF;
    WHILE looks < at_most AND x.part <> 'end' AND octet_length(piece) < piece_bytes_max LOOP
        SELECT s.x, s.text_out INTO next_one FROM export_step(x, at_most) AS s;
        x := next_one.x;
        piece := piece || coalesce(next_one.text_out, '');
        looks := looks + 1;
    END LOOP;
    IF x.part = 'end' THEN
        piece := piece || export_line('end', '{}');
    END IF;
    IF piece <> '' THEN
        x.pieces := x.pieces + 1;
        x.bytes := x.bytes + octet_length(piece);
        INSERT INTO export_pieces (export_id, nth, content) VALUES (x.id, x.pieces, piece);
    END IF;
    IF x.bytes > bytes_max THEN
        x.state := 'failed';
        x.error := 'It is longer than 4 GiB: read threads one by one with GET /v1/threads/{thread_id}/messages.';
    ELSIF x.part = 'end' THEN
        x.state := 'ready';
    END IF;
    moment := clock_timestamp();
    UPDATE exports q SET part = x.part, org_at = x.org_at, thread_at = x.thread_at, row_at = x.row_at,
        number_at = x.number_at, pieces = x.pieces, bytes = x.bytes, state = x.state, error = x.error,
        due_at = moment, client_ip = CASE WHEN x.state = 'running' THEN x.client_ip END,
        expires_at = CASE WHEN x.state <> 'running' THEN moment + interval '24 hours' END
    WHERE q.id = x.id;
    UPDATE exports q SET due_at = moment - interval '1 millisecond' + r.nth * interval '1 microsecond'
    FROM (SELECT o.id, row_number() OVER (ORDER BY o.due_at, o.id) AS nth FROM exports o
          WHERE o.user_id = x.user_id AND o.state = 'running' AND o.id <> x.id) AS r
    WHERE q.id = r.id;
    RETURN true;
END
$$;

-- Notifies the owners of an organization that somebody exports.
CREATE OR REPLACE FUNCTION org_export_mails(x exports) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO erasures (kind, org_id, user_id) VALUES ('export_mails', x.org_id, x.user_id)
$$;
REVOKE EXECUTE ON FUNCTION export_list, export_run_facts, export_parts, export_line, export_next_org,
    export_conversation, export_step, org_export_mails FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION exports_page FROM hostler_api;
