/* Follows many event streams over TLS, with one thread and epoll: the client of both Hostler's and nchan's fan-out.
 * Called by streams.py and tests/scale: follow [ADDRESS:]PORT FIRST END LIST [one-by-one]
 *   ADDRESS  of IPv4, else loopback
 *   FIRST  the text of the line with which the seconds begin
 *   END    the text that ends a stream, in one of its lines
 *   LIST   a file, one stream a line, fields between tabs: PATH, TOKEN; with KEY and BODY a POST under that
 *          Idempotency-Key
 *   one-by-one: each is opened when the one before has its answer's head
 * Says "open" when every stream has its answer's head. Goes on until all have ended, or standard input closes; then
 * prints one line of JSON. Words that are times (16 digits, microseconds) are measured against this clock. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { line_max = 4096, lags_max = 8 << 20 };

struct stream {
  SSL* tls;
  int in_body, is_good, is_over;
  long deliveries;
  size_t kept;
  char line[line_max];
};

static struct stream* streams;
static int stream_count, with_head, over;
static const char *first_text, *end_text;
static long deliveries, first_us, last_us, opened_us, lag_count;
static int* lags;
static SSL_CTX* context;
static struct sockaddr_in server;

static long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void fail(const char* what) {
  fprintf(stderr, "follow: %s\n", what);
  exit(1);
}

static void read_server(const char* text) {
  char address[64] = "127.0.0.1";
  const char* colon = strchr(text, ':');
  if (colon != NULL) snprintf(address, sizeof address, "%.*s", (int)(colon - text), text);
  server.sin_family = AF_INET;
  server.sin_port = htons((unsigned short)atoi(colon == NULL ? text : colon + 1));
  if (inet_pton(AF_INET, address, &server.sin_addr) != 1) fail("no such address");
}

static SSL* connect_tls(void) {
  int line = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  if (line < 0 || connect(line, (struct sockaddr*)&server, sizeof server) != 0) fail("cannot connect");
  setsockopt(line, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  SSL* tls = SSL_new(context);
  SSL_set_fd(tls, line);
  if (SSL_connect(tls) != 1) fail("no TLS");
  return tls;
}

static void open_stream(struct stream* stream, char* fields) {
  char head[2048];
  const char *path = strsep(&fields, "\t"), *token = strsep(&fields, "\t"), *key = strsep(&fields, "\t");
  const char* body = key == NULL ? "" : fields;
  if (token == NULL || body == NULL) fail("a line of the list lacks fields");
  stream->tls = connect_tls();
  /* HTTP/1.0: the body comes as it is, without the lengths of chunks in it. */
  int length = snprintf(head, sizeof head,
                        "%s %s HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n",
                        key == NULL ? "GET" : "POST", path, token);
  if (key != NULL) {
    length += snprintf(head + length, sizeof head - (size_t)length,
                       "Idempotency-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n", key,
                       strlen(body));
  }
  length += snprintf(head + length, sizeof head - (size_t)length, "\r\n%s", body);
  if (length >= (int)sizeof head) fail("too long a request");
  if (SSL_write(stream->tls, head, length) != length) fail("cannot ask");
  int line = SSL_get_fd(stream->tls);
  fcntl(line, F_SETFL, fcntl(line, F_GETFL) | O_NONBLOCK);
}

/* Every time in the line that is younger than the moment when all streams were open. */
static void take_lags(const char* text, long now) {
  for (const char* at = text; *at != '\0';) {
    size_t digits = strspn(at, "0123456789");
    if (digits == 16) {
      long stamp = strtol(at, NULL, 10);
      if (opened_us != 0 && stamp > opened_us && stamp <= now && lag_count < lags_max) lags[lag_count++] = (int)(now - stamp);
    }
    at += digits + strcspn(at + digits, "0123456789");
  }
}

static void finish(struct stream* stream) {
  if (stream->is_over) return;
  stream->is_over = 1;
  ++over;
  close(SSL_get_fd(stream->tls));
  SSL_free(stream->tls);
}

static void take_line(struct stream* stream, long now) {
  stream->line[stream->kept] = '\0';
  if (!stream->in_body) {
    if (strncmp(stream->line, "HTTP/1.", 7) == 0) stream->is_good = strstr(stream->line, " 200") != NULL;
    if (stream->kept <= 1) {
      if (!stream->is_good) fail("a stream was refused");
      stream->in_body = 1;
      ++with_head;
    }
    return;
  }
  if (strncmp(stream->line, "data: ", 6) != 0) return;
  if (first_us == 0 && strstr(stream->line, first_text) != NULL) first_us = now;
  last_us = now;
  ++deliveries;
  ++stream->deliveries;
  take_lags(stream->line, now);
  if (strstr(stream->line, end_text) != NULL) finish(stream);
}

static void take_bytes(struct stream* stream, const char* bytes, size_t count, long now) {
  while (count > 0 && !stream->is_over) {
    const char* end = memchr(bytes, '\n', count);
    size_t piece = end == NULL ? count : (size_t)(end - bytes);
    size_t room = line_max - 1 - stream->kept;
    size_t taken = piece < room ? piece : room;
    memcpy(stream->line + stream->kept, bytes, taken);
    stream->kept += taken;
    if (end == NULL) return;
    take_line(stream, now);
    stream->kept = 0;
    bytes += piece + 1;
    count -= piece + 1;
  }
}

static void read_stream(struct stream* stream) {
  char bytes[16384];
  while (!stream->is_over) {
    int count = SSL_read(stream->tls, bytes, sizeof bytes);
    if (count <= 0) {
      ERR_clear_error();
      if (SSL_get_error(stream->tls, count) != SSL_ERROR_WANT_READ) finish(stream);
      return;
    }
    take_bytes(stream, bytes, (size_t)count, now_us());
  }
}

static int by_size(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static void report(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  long cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  long least = stream_count > 0 ? streams[0].deliveries : 0, most = least;
  for (int i = 0; i < stream_count; ++i) {
    if (streams[i].deliveries < least) least = streams[i].deliveries;
    if (streams[i].deliveries > most) most = streams[i].deliveries;
  }
  qsort(lags, (size_t)lag_count, sizeof *lags, by_size);
  printf("{\"streams\": %d, \"is_live\": %s, \"ended\": %d, \"deliveries\": %ld, \"least\": %ld, \"most\": %ld, "
         "\"seconds\": %.6f, \"cpu_us\": %ld, \"lags\": %ld, \"lag_p50_us\": %d, \"lag_p99_us\": %d}\n",
         stream_count, first_us >= opened_us ? "true" : "false", over, deliveries, least, most,
         (double)(last_us - first_us) / 1e6, cpu_us, lag_count,
         lag_count > 0 ? lags[lag_count / 2] : 0, lag_count > 0 ? lags[lag_count * 99 / 100] : 0);
}

static void follow(int poller) {
  struct epoll_event events[512];
  int told = 0;
  while (over < stream_count) {
    int count = epoll_wait(poller, events, 512, 1000);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.ptr == NULL) return;  /* standard input closed */
      struct stream* stream = events[i].data.ptr;
      if (!stream->is_over) read_stream(stream);
    }
    if (!told && with_head == stream_count) {
      told = 1;
      opened_us = now_us();
      puts("open");
      fflush(stdout);
    }
  }
}

static void await_head(struct stream* stream) {
  struct pollfd wanted = {.fd = SSL_get_fd(stream->tls), .events = POLLIN};
  while (!stream->in_body && !stream->is_over) {
    if (poll(&wanted, 1, 60000) != 1) fail("a stream was not answered for a minute");
    read_stream(stream);
  }
}

static void open_all(const char* list, int one_by_one) {
  static char line[4096];
  FILE* file = fopen(list, "r");
  if (file == NULL) fail("no list");
  while (fgets(line, sizeof line, file) != NULL) ++stream_count;
  streams = calloc((size_t)stream_count, sizeof *streams);
  lags = malloc(sizeof *lags * (size_t)lags_max);
  if (streams == NULL || lags == NULL) fail("no memory");
  rewind(file);
  for (int i = 0; i < stream_count && fgets(line, sizeof line, file) != NULL; ++i) {
    line[strcspn(line, "\n")] = '\0';
    open_stream(&streams[i], line);
    if (one_by_one) await_head(&streams[i]);
  }
  fclose(file);
}

int main(int count, char** texts) {
  if (count < 5) fail("wants PORT FIRST END LIST");
  signal(SIGPIPE, SIG_IGN);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  first_text = texts[2];
  end_text = texts[3];
  read_server(texts[1]);
  context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  open_all(texts[4], count > 5);
  int poller = epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < stream_count; ++i) {
    struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = &streams[i]};
    epoll_ctl(poller, EPOLL_CTL_ADD, SSL_get_fd(streams[i].tls), &wanted);
  }
  struct epoll_event input = {.events = EPOLLIN | EPOLLHUP, .data.ptr = NULL};
  epoll_ctl(poller, EPOLL_CTL_ADD, 0, &input);
  for (int i = 0; i < stream_count; ++i) {
    if (SSL_pending(streams[i].tls) > 0) read_stream(&streams[i]);
  }
  follow(poller);
  report();
  return 0;
}
