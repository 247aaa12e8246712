/* Clients that each do the same requests again and again over TLS, with one thread and epoll: whole runs of Hostler's
 * and of its peers. Called by whole_runs.py: clients PORT SECONDS END LIST
 *   END    the text that the answer of a client's last request must contain
 *   LIST   a file, one client a line, fields between tabs: TOKEN, THREADS (between commas; may be empty), then METHOD,
 *          PATH and BODY of each request; in path or body {run} stands for the run_id of the answer before, {thread}
 *          for the client's next thread, in turn
 * A client has a line for its last request, which is a stream, and one for those before. Each ends what it began when
 * the seconds are over. Prints one line of JSON: how many times all requests were done, the seconds, its own CPU. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { steps_max = 4, answer_max = 1 << 20, laps_max = 1 << 20 };

struct client;

struct line {
  SSL* tls;
  struct client* client;
  size_t kept;
  char* answer; /* head and body of the answer that is on its way */
};

struct request {
  char *method, *path, *body;
};

struct client {
  struct line lines[2];
  char* token;
  char** threads;
  long lap;
  struct request requests[steps_max];
  int count, step, thread_count;
  char run[64];
  long began_us, first_us;
};

static struct client* clients;
static int client_count, over, port, poller;
static const char* end_text;
static long laps, end_us, last_us, *whole, *firsts;
static SSL_CTX* context;

static long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void fail(const char* what, const char* more) {
  fprintf(stderr, "clients: %s %.400s\n", what, more);
  exit(1);
}

static void close_line(struct line* line) {
  if (line->tls == NULL) return;
  close(SSL_get_fd(line->tls));
  SSL_free(line->tls);
  line->tls = NULL;
}

static void open_line(struct line* line) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  if (file < 0 || connect(file, (struct sockaddr*)&address, sizeof address) != 0) fail("cannot connect", "");
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  line->tls = SSL_new(context);
  SSL_set_fd(line->tls, file);
  if (SSL_connect(line->tls) != 1) fail("no TLS", "");
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
  struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = line};
  epoll_ctl(poller, EPOLL_CTL_ADD, file, &wanted);
}

/* The text with the place in it filled. */
static void fill(char* out, size_t size, const struct client* client, const char* text) {
  const char *run = strstr(text, "{run}"), *thread = strstr(text, "{thread}");
  const char* place = run != NULL ? run : thread;
  const char* value = run != NULL ? client->run : "";
  if (run == NULL && thread != NULL) value = client->threads[client->lap % client->thread_count];
  int before = place == NULL ? (int)strlen(text) : (int)(place - text);
  const char* behind = place == NULL ? "" : strchr(place, '}') + 1;
  if (snprintf(out, size, "%.*s%s%s", before, text, value, behind) >= (int)size) fail("too long:", text);
}

static void ask(struct client* client) {
  struct request* request = &client->requests[client->step];
  struct line* line = &client->lines[client->step == client->count - 1];
  char path[512], body[2048], text[4096];
  fill(path, sizeof path, client, request->path);
  fill(body, sizeof body, client, request->body);
  int length = snprintf(text, sizeof text,
                        "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                        request->method, path, client->token, strlen(body), body);
  if (line->tls == NULL) open_line(line);
  line->kept = 0;
  if (length >= (int)sizeof text || SSL_write(line->tls, text, length) != length) fail("cannot ask", path);
}

/* The value of a header, in a head that ends with an empty line; NULL without it. */
static const char* header(const char* head, const char* name) {
  size_t length = strlen(name);
  for (const char* at = strstr(head, "\r\n"); at != NULL && at[2] != '\r'; at = strstr(at + 2, "\r\n")) {
    if (strncasecmp(at + 2, name, length) != 0 || at[2 + length] != ':') continue;
    return at + 3 + length + (at[3 + length] == ' ');
  }
  return NULL;
}

/* Whether the answer is there wholly. */
static int is_whole(const struct line* line, const char* body) {
  const char* length = header(line->answer, "Content-Length");
  if (length != NULL) return line->kept - (size_t)(body - line->answer) >= (size_t)atol(length);
  return line->kept >= 7 && memcmp(line->answer + line->kept - 7, "\r\n0\r\n\r\n", 7) == 0;
}

static void begin_lap(struct client* client) {
  client->step = 0;
  ++client->lap;
  client->began_us = now_us();
  client->first_us = 0;
  ask(client);
}

static void take_answer(struct client* client, struct line* line, const char* body) {
  const char* fate = header(line->answer, "Connection");
  if (strncmp(line->answer + 8, " 20", 3) != 0) fail("was answered", line->answer);
  const char* run = strstr(body, "\"run_id\"");
  if (run != NULL) snprintf(client->run, sizeof client->run, "%.36s", run + 8 + strspn(run + 8, " :\""));
  int is_last = client->step == client->count - 1;
  if (is_last && strstr(body, end_text) == NULL) fail("a stream ended otherwise:", body);
  if (fate != NULL && strncasecmp(fate, "close", 5) == 0) close_line(line);
  if (!is_last) {
    ++client->step;
    ask(client);
    return;
  }
  last_us = now_us();
  if (laps < laps_max) {
    whole[laps] = last_us - client->began_us;
    firsts[laps] = client->first_us - client->began_us;
  }
  ++laps;
  if (last_us < end_us) {
    begin_lap(client);
  } else {
    ++over;
  }
}

static void read_line(struct line* line) {
  struct client* client = line->client;
  while (line->tls != NULL) {
    if (line->kept + 1 >= answer_max) fail("too long an answer", "");
    int count = SSL_read(line->tls, line->answer + line->kept, (int)(answer_max - 1 - line->kept));
    if (count <= 0) {
      int fault = SSL_get_error(line->tls, count);
      ERR_clear_error();
      if (fault == SSL_ERROR_WANT_READ) return;
      if (line->kept > 0) fail("a connection ended in an answer", "");
      close_line(line); /* an idle one, which nginx may close */
      return;
    }
    line->kept += (size_t)count;
    line->answer[line->kept] = '\0';
    const char* body = strstr(line->answer, "\r\n\r\n");
    if (body == NULL) continue;
    if (client->step == client->count - 1 && client->first_us == 0 && body[4] != '\0') client->first_us = now_us();
    if (is_whole(line, body + 4)) {
      line->kept = 0; /* the bytes stay until the next answer comes */
      take_answer(client, line, body + 4);
    }
  }
}

static void read_threads(struct client* client, char* listed) {
  client->threads = malloc(sizeof *client->threads * (strlen(listed) / 2 + 1));
  while (listed != NULL && *listed != '\0') client->threads[client->thread_count++] = strsep(&listed, ",");
}

static void read_list(const char* list) {
  static char text[1 << 18];
  FILE* file = fopen(list, "r");
  if (file == NULL) fail("no list", list);
  clients = calloc(4096, sizeof *clients);
  while (clients != NULL && client_count < 4096 && fgets(text, sizeof text, file) != NULL) {
    struct client* client = &clients[client_count++];
    char* rest = strdup(text);
    rest[strcspn(rest, "\n")] = '\0';
    client->token = strsep(&rest, "\t");
    read_threads(client, strsep(&rest, "\t"));
    for (; rest != NULL && client->count < steps_max; ++client->count) {
      struct request* request = &client->requests[client->count];
      request->method = strsep(&rest, "\t");
      request->path = strsep(&rest, "\t");
      request->body = strsep(&rest, "\t");
      if (request->body == NULL) fail("no body in", list);
    }
    for (int i = 0; i < 2; ++i) {
      client->lines[i].client = client;
      client->lines[i].answer = malloc(answer_max);
    }
  }
  fclose(file);
}

static int by_size(const void* a, const void* b) {
  return (*(const long*)a > *(const long*)b) - (*(const long*)a < *(const long*)b);
}

static void report(long begin_us) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  long cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L;
  cpu_us += usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  size_t count = (size_t)(laps < laps_max ? laps : laps_max);
  qsort(whole, count, sizeof *whole, by_size);
  qsort(firsts, count, sizeof *firsts, by_size);
  printf("{\"laps\": %ld, \"seconds\": %.6f, \"cpu_us\": %ld, \"whole_p50_us\": %ld, \"whole_p99_us\": %ld, "
         "\"first_p50_us\": %ld}\n",
         laps, (double)(last_us - begin_us) / 1e6, cpu_us, count > 0 ? whole[count / 2] : 0,
         count > 0 ? whole[count * 99 / 100] : 0, count > 0 ? firsts[count / 2] : 0);
}

int main(int count, char** texts) {
  if (count != 5) fail("wants PORT SECONDS END LIST", "");
  signal(SIGPIPE, SIG_IGN);
  port = atoi(texts[1]);
  end_text = texts[3];
  context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  whole = malloc(sizeof *whole * laps_max);
  firsts = malloc(sizeof *firsts * laps_max);
  poller = epoll_create1(EPOLL_CLOEXEC);
  read_list(texts[4]);
  for (int i = 0; i < client_count; ++i) {
    for (int of = 0; of < 2; ++of) open_line(&clients[i].lines[of]);
  }
  long begin_us = now_us();
  end_us = begin_us + (long)(atof(texts[2]) * 1e6);
  for (int i = 0; i < client_count; ++i) begin_lap(&clients[i]);
  while (over < client_count) {
    struct epoll_event events[256];
    int ready = epoll_wait(poller, events, 256, 60000);
    if (ready == 0) fail("no answer for a minute", "");
    for (int i = 0; i < ready; ++i) read_line(events[i].data.ptr);
  }
  report(begin_us);
  return 0;
}
