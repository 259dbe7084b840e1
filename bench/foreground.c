/* An application beside a scan: GET and SET at a fixed rate, whether answers come or not (an open loop).
   A request's time runs from when it was due. Prints for each window: begin, requests, p50, p99, p99.9, max (us). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINKS 50
#define QUEUE 8192
/* Requests fall due some at a time: a timer for each would cost more than the request. */
#define TICK 0.0005
#define VALUE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* `rest` is what the next read still brings of a reply that is counted. */
struct link { int socket; double due[QUEUE]; unsigned head, tail; ssize_t rest; };

static struct link links[LINKS];
static double *times;
static size_t counted, room;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void keep(double seconds) {
    if (counted == room && !(times = realloc(times, (room = room * 2 + 4096) * sizeof *times))) exit(1);
    times[counted++] = seconds * 1e6;
}

static double at(double share) { return times[(size_t)(share * (double)(counted - 1))]; }

static void print_window(double begin) {
    if (!counted) return;
    qsort(times, counted, sizeof *times, ascending);
    printf("%.3f %zu %.1f %.1f %.1f %.1f\n", begin, counted, at(0.5), at(0.99), at(0.999), times[counted - 1]);
    fflush(stdout);
    counted = 0;
}

static void connect_all(const char *path, int watch) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    for (int i = 0; i < LINKS; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &links[i]};
        links[i].socket = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(links[i].socket, (struct sockaddr *)&to, sizeof to)) { perror("connect"); exit(1); }
        fcntl(links[i].socket, F_SETFL, O_NONBLOCK);
        epoll_ctl(watch, EPOLL_CTL_ADD, links[i].socket, &event);
    }
}

static void ask(struct link *link, unsigned long number, double due) {
    char text[256], key[32];
    int k = snprintf(key, sizeof key, "foreground:%lu", (number * 2654435761u) % 10000), n;
    if (number % 10)
        n = snprintf(text, sizeof text, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", k, key);
    else
        n = snprintf(text, sizeof text, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$64\r\n%s\r\n", k, key, VALUE);
    if (link->tail - link->head == QUEUE) { fputs("the server does not keep up\n", stderr); exit(1); }
    link->due[link->tail++ % QUEUE] = due;
    if (write(link->socket, text, (size_t)n) != n) { perror("write"); exit(1); }
}

static void take(struct link *link) {
    char text[16384];
    ssize_t got = read(link->socket, text, sizeof text);
    if (got == 0 || (got < 0 && errno != EAGAIN)) { perror("read"); exit(1); }
    double arrived = now();
    ssize_t i = link->rest;
    for (; i < got; keep(arrived - link->due[link->head++ % QUEUE])) {
        if (text[i] == '$' && i + 1 < got && text[i + 1] != '-') i += 5 + 64 + 2; /* $64, the value, and its end */
        else if (text[i] == '$' || text[i] == '+') i += 5; /* $-1 and +OK */
        else { fprintf(stderr, "unexpected reply: %.60s\n", text + i); exit(1); }
    }
    link->rest = i - got;
}

int main(int argc, char **argv) {
    if (argc != 5) { fputs("usage: foreground SOCKET RATE SECONDS WINDOW\n", stderr); return 2; }
    double rate = atof(argv[2]), seconds = atof(argv[3]), window = atof(argv[4]);
    struct epoll_event ready[LINKS];
    unsigned long number = 0;
    int watch = epoll_create1(0);
    connect_all(argv[1], watch);
    double begin = now(), window_begin = begin, due = begin;
    for (double t = begin; t - begin < seconds; t = now()) {
        for (; due <= t; due += TICK)
            for (unsigned long last = number + (unsigned long)(rate * TICK + 0.5); number < last; number++)
                ask(&links[number % LINKS], number, due);
        double left = due - now();
        struct timespec patience = {0, left > 0 ? (long)(left * 1e9) : 0};
        int count = epoll_pwait2(watch, ready, LINKS, &patience, NULL);
        for (int i = 0; i < count; i++) take(ready[i].data.ptr);
        if (t - window_begin >= window) {
            print_window(window_begin - begin);
            window_begin = t;
        }
    }
    print_window(window_begin - begin);
    return 0;
}
