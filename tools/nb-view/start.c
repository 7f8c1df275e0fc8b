/* How the server of the page and the thread are started, and what is printed of them. */
#include "common/child.h"
#include "common/held.h"
#include "common/system.h"
#include "common/timer.h"
#include "tools/filter/require.h"
#include "tools/nb-view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_token(char token[TALK_TOKEN + 1])
{
	unsigned char random[TALK_TOKEN / 2];
	if (getentropy(random, sizeof random))
		nb_die(NB_EXIT_FAILED, "no random numbers for the address of the page:");
	for (size_t k = 0; k < sizeof random; k++)
		snprintf(token + 2 * k, 3, "%02x", random[k]);
}

/* It has said nothing, or why it cannot serve. */
static _Noreturn void no_server(struct host *host, const struct talk_head *head)
{
	char why[400] = "";
	int status = 0;
	if (head && head->kind == TALK_FAILED && head->bytes < sizeof why &&
		nb_talk_receive(host->socket, why, head->bytes) == 0)
		nb_die(NB_EXIT_FAILED, "cannot serve the page: %s", why);
	while (waitpid(host->process, &status, 0) < 0 && errno == EINTR)
		;
	host->process = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		nb_die(NB_EXIT_FAILED, "cannot serve the page without libmicrohttpd.so.12 (Debian: libmicrohttpd12)");
	nb_die(NB_EXIT_FAILED, "cannot serve the page: its server has ended (%s %d)",
		WIFSIGNALED(status) ? "signal" : "exit status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* The port at which it listens. */
static uint32_t start_server(struct host *host, const struct nb_run *run, const struct view *view, const char *token)
{
	struct talk_setup setup = {.port = view->port};
	struct talk_head head;
	size_t bytes;
	snprintf(setup.token, sizeof setup.token, "%s", token);
	snprintf(setup.address, sizeof setup.address, "%s", view->address ? view->address : "");
	const int error = nb_held_start(
		"nb-view-server", nb_view_server, nb_view_server_size, -1, &host->socket, &host->process);
	if (error)
		nb_die(NB_EXIT_FAILED, "cannot start the server of the page: %s%s", strerror(error),
			error == ENOENT ? " (is /proc there?)" : "");
	char *hello = nb_view_hello(run, view, &bytes);
	const struct talk_part part[] = {{&setup, sizeof setup}, {nb_view_page, nb_view_page_size}, {hello, bytes}};
	for (uint32_t k = 0; k < 3; k++)
		if (nb_talk_send(host->socket, TALK_SETUP + k, 0, &part[k], 1))
			no_server(host, NULL);
	free(hello);
	if (nb_talk_receive(host->socket, &head, sizeof head))
		no_server(host, NULL);
	if (head.kind != TALK_PORT)
		no_server(host, &head);
	return head.client;
}

/* Where the page is, as its user types it. */
static void print_url(const struct nb_run *run, const struct view *view, const char *url)
{
	char *argv[] = {"sh", "-c", "exec ${BROWSER:-xdg-open} \"$0\"", (char *)(uintptr_t)url, NULL};
	const struct nb_child browser = {"/bin/sh", argv, run->environment, {-1, -1, -1}, 3, .has_no_others = 1,
		.leads_group = 1, .directory = run->files.directory};
	pid_t process;
	if (nb_verbosity() >= 0)
		dprintf(nb_voice_file(), "%s: %s\n", nb_program(), url);
	const int error = view->open ? nb_child_start(&browser, &process) : 0;
	if (error)
		nb_warn("cannot start a browser: %s", strerror(error));
}

static void set_url(char url[400], const struct view *view, uint32_t port, const char *token)
{
	char own[256] = "127.0.0.1";
	const char *address = view->address ? view->address : own;
	if (view->address && (strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0)) {
		(void)gethostname(own, sizeof own - 1);
		address = own;
	}
	const char *six = strchr(address, ':');
	snprintf(url, 400, "http://%s%s%s:%" PRIu32 "/%s/", six ? "[" : "", address, six ? "]" : "", port, token);
}

struct host *nb_view_start(struct nb_run *run, const struct view *view)
{
	char token[TALK_TOKEN + 1], url[400];
	struct host *host = nb_require_memory(NULL, calloc(1, sizeof *host));
	host->voice = run->voice;
	host->voice.place = NULL;
	host->voice.died = NULL;
	host->voice.file = fcntl(nb_voice_file(), F_DUPFD_CLOEXEC, 3); /* that of a stage ends before */
	host->begun = nb_now();
	host->threads = run->common.threads;
	host->socket = -1;
	host->wake[0] = host->wake[1] = -1;
	nb_frame_init(&host->waiting);
	nb_frame_init(&host->frame);
	pthread_mutex_init(&host->lock, NULL);
	pthread_cond_init(&host->changed, NULL);
	nb_view_start_stats(host);
	make_token(token);
	set_url(url, view, start_server(host, run, view, token), token);
	if (nb_system_event(host->wake) || nb_view_start_thread(host))
		nb_die(NB_EXIT_FAILED, "no thread for the viewer:");
	print_url(run, view, url);
	return host;
}
