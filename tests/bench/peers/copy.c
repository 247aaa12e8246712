/* The limit of durable events: the same rows by binary COPY, a hundred a transaction, one connection. For events.py:
 * copy DATABASE SECONDS; prints the rows a second. */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char rows[16384];
static size_t size;

static void put(const void* bytes, size_t count) {
  memcpy(rows + size, bytes, count);
  size += count;
}

static void put_field(const char* text) {
  uint32_t length = htonl((uint32_t)strlen(text));
  put(&length, sizeof length);
  put(text, strlen(text));
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check(PGconn* line, int is_good) {
  if (is_good) return;
  fprintf(stderr, "copy: %s", PQerrorMessage(line));
  exit(1);
}

int main(int count, char** texts) {
  if (count != 3) return 2;
  PGconn* line = PQconnectdb(texts[1]);
  check(line, PQstatus(line) == CONNECTION_OK);
  put("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
  for (int i = 0; i < 100; ++i) {
    uint16_t fields = htons(2);
    put(&fields, sizeof fields);
    put_field("message.delta");
    put_field("{\"content\":\"streaming \"}");
  }
  put("\377\377", 2);
  double begin = now_s(), end = begin + atof(texts[2]);
  long made = 0;
  while (now_s() < end) {
    PGresult* result = PQexec(line, "COPY bench_events (type, data) FROM STDIN WITH (FORMAT binary)");
    check(line, PQresultStatus(result) == PGRES_COPY_IN);
    PQclear(result);
    check(line, PQputCopyData(line, rows, (int)size) == 1 && PQputCopyEnd(line, NULL) == 1);
    result = PQgetResult(line);
    check(line, PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
    PQclear(PQgetResult(line));
    made += 100;
  }
  printf("%.1f\n", (double)made / (now_s() - begin));
  return 0;
}
