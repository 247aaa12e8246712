/* The smallest libfcgi program: the limit of nginx, FastCGI and a pool of blocking workers, without a database.
 * Started by peers.py with an inherited listening socket as file descriptor 0; argv[1]: how many processes. */
#include <fcgiapp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char body[] =
    "{\"id\":\"00000000-0000-7000-8000-000000000000\",\"status\":\"completed\",\"note\":\"as long as a run is\","
    "\"model\":\"fake-model\",\"total_input_tokens\":12,\"total_output_tokens\":1,\"created_at\":"
    "\"2026-01-01T00:00:00.000000Z\",\"started_at\":\"2026-01-01T00:00:00.000000Z\","
    "\"ended_at\":\"2026-01-01T00:00:00.000000Z\"}";

static void serve(void) {
  FCGX_Request request;
  FCGX_Init();
  FCGX_InitRequest(&request, 0, 0);
  while (FCGX_Accept_r(&request) == 0) {
    FCGX_PutS("Content-Type: application/json\r\n\r\n", request.out);
    FCGX_PutStr(body, (int)sizeof body - 1, request.out);
    FCGX_Finish_r(&request);
  }
}

int main(int count, char** texts) {
  int processes = count > 1 ? atoi(texts[1]) : 4;
  for (int i = 0; i < processes; ++i) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      serve();
      return 0;
    }
  }
  while (wait(NULL) > 0) continue;
  return 0;
}
