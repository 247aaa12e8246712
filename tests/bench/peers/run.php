<?php
// GET of one run with php-fpm: opcache, a persistent connection, statements prepared once a process.
// Called by php-fpm for peers.py; STATEMENTS and DATABASE come from its pool's environment.

$db = pg_pconnect(getenv('DATABASE'));
if (!@pg_execute($db, 'begin', [])) {
    $statements = json_decode(file_get_contents(getenv('STATEMENTS')), true);
    pg_prepare($db, 'begin', 'BEGIN');
    pg_prepare($db, 'commit', 'COMMIT');
    pg_prepare($db, 'authenticate', $statements['authenticate_by_token']);
    pg_prepare($db, 'run_show', $statements['run_show']);
    pg_execute($db, 'begin', []);
}
$token = substr($_SERVER['HTTP_AUTHORIZATION'], 7);
$context = json_encode(['trace_id' => bin2hex(random_bytes(16)), 'client_ip' => '127.0.0.1', 'user_agent' => '']);
$run = basename($_SERVER['REQUEST_URI']);
$hash = '\x' . hash('sha256', $token);
$who = pg_execute($db, 'authenticate', [$hash, null, 'data.runs.read', 'f', 'f', $context]);
$found = pg_execute($db, 'run_show', [$run]);
if (!$who || !$found) {
    pg_query($db, 'ROLLBACK');
    http_response_code(500);
    exit;
}
pg_execute($db, 'commit', []);
$row = pg_fetch_assoc($found);
foreach (array_keys($row) as $column => $name) {
    $text = $row[$name];
    $row[$name] = $text === null ? null : match (pg_field_type($found, $column)) {
        'int8' => (int)$text,
        'float8' => (float)$text,
        'bool' => $text === 't',
        'json' => json_decode($text, false),
        'timestamptz' => (new DateTimeImmutable($text))->setTimezone(new DateTimeZone('UTC'))->format('Y-m-d\TH:i:s.v\Z'),
        default => $text,
    };
}
header('Content-Type: application/json');
echo json_encode($row);
