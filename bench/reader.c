/* The least that a client can do: SCAN and pipelined MEMORY USAGE, two requests in flight, nothing kept.
   Prints keys, bytes and seconds. What it reaches is the limit of the server, to hold other clients against. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM (8u << 20)

struct page { char *text; size_t length, room; long keys; };

static int server;
static char *inbox;
static size_t begin, end;

static void stop(const char *why) { perror(why); exit(1); }

static void fill(void) {
    if (begin == end) begin = end = 0;
    if (end == ROOM) { memmove(inbox, inbox + begin, end - begin); end -= begin; begin = 0; }
    if (end == ROOM) { fputs("a reply is too long\n", stderr); exit(1); }
    ssize_t got = read(server, inbox + end, ROOM - end);
    if (got <= 0) stop("read");
    end += (size_t)got;
}

static char *line(void) {
    size_t seen = 0;
    for (;;) {
        char *nl = memchr(inbox + begin + seen, '\n', end - begin - seen);
        if (nl) { char *found = inbox + begin; nl[-1] = 0; begin = (size_t)(nl - inbox) + 1; return found; }
        seen = end - begin;
        fill();
    }
}

static char *bulk(long *length) {
    char *head = line();
    if (*head != '$') { fprintf(stderr, "unexpected reply: %s\n", head); exit(1); }
    *length = atol(head + 1);
    while (end - begin < (size_t)*length + 2) fill();
    char *found = inbox + begin;
    begin += (size_t)*length + 2;
    return found;
}

static void add(struct page *to, const char *text, size_t length) {
    if (to->length + length > to->room) {
        to->room = (to->length + length) * 2;
        if (!(to->text = realloc(to->text, to->room))) stop("realloc");
    }
    memcpy(to->text + to->length, text, length);
    to->length += length;
}

static void send_all(const struct page *page) {
    for (size_t done = 0; done < page->length;) {
        ssize_t sent = write(server, page->text + done, page->length - done);
        if (sent <= 0) stop("write");
        done += (size_t)sent;
    }
}

static void ask_page(struct page *out, const char *cursor, const char *count) {
    char head[160];
    int n = snprintf(head, sizeof head, "*4\r\n$4\r\nSCAN\r\n$%zu\r\n%s\r\n$5\r\nCOUNT\r\n$%zu\r\n%s\r\n",
                     strlen(cursor), cursor, strlen(count), count);
    add(out, head, (size_t)n);
}

/* Reads a reply to SCAN and puts the questions for its keys behind those in `out`. */
static void take_page(struct page *out, char *cursor, const char *samples) {
    char head[64], tail[64];
    long length;
    int t = snprintf(tail, sizeof tail, "\r\n$7\r\nSAMPLES\r\n$%zu\r\n%s\r\n", strlen(samples), samples);
    line();
    char *next = bulk(&length);
    memcpy(cursor, next, (size_t)length);
    cursor[length] = 0;
    out->keys = atol(line() + 1);
    for (long i = 0; i < out->keys; i++) {
        char *name = bulk(&length);
        int n = snprintf(head, sizeof head, "*5\r\n$6\r\nMEMORY\r\n$5\r\nUSAGE\r\n$%ld\r\n", length);
        add(out, head, (size_t)n);
        add(out, name, (size_t)length);
        add(out, tail, (size_t)t);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) { fputs("usage: reader HOST PORT COUNT SAMPLES\n", stderr); return 2; }
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[2]))};
    struct page out = {0}, questions = {0};
    struct timespec t0, t1;
    char cursor[32] = "0";
    long keys = 0, waiting = 0;
    long long bytes = 0;
    int one = 1;
    if (!(inbox = malloc(ROOM))) stop("malloc");
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&to, sizeof to)) stop("connect");
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    clock_gettime(CLOCK_MONOTONIC, &t0);
    ask_page(&out, cursor, argv[3]);
    send_all(&out);
    for (int last = 0; !last;) {
        questions.length = 0;
        take_page(&questions, cursor, argv[4]);
        last = !strcmp(cursor, "0");
        out.length = 0;
        if (!last) ask_page(&out, cursor, argv[3]);
        add(&out, questions.text ? questions.text : "", questions.length);
        send_all(&out);
        for (; waiting; waiting--, keys++) bytes += atoll(line() + 1);
        waiting = questions.keys;
    }
    for (; waiting; waiting--, keys++) bytes += atoll(line() + 1);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    printf("%ld %lld %.6f\n", keys, bytes, (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9);
    return 0;
}
