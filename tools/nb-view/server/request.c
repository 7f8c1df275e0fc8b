/* Requests: who may ask, and for what. */
#include "tools/nb-view/server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- who may ask -------------------------------------------------------------------------------- */

/* Takes the same time wherever they differ. */
static int is_token(const char *token, const char *url)
{
	unsigned differs = 0;
	if (strnlen(url, TALK_TOKEN + 2) != TALK_TOKEN + 2)
		return 0;
	for (size_t k = 0; k < TALK_TOKEN; k++)
		differs |= (unsigned char)token[k] ^ (unsigned char)url[k + 1];
	return !differs & (url[0] == '/') & (url[TALK_TOKEN + 1] == '/');
}

/* The name in "name:port" is this one. */
static int is_host(const char *host, const char *name)
{
	const size_t n = strlen(name);
	if (n == 0 || strncasecmp(host, name, n) != 0)
		return 0;
	if (!host[n])
		return 1;
	return host[n] == ':' && host[n + 1] && strspn(host + n + 1, "0123456789") == strlen(host + n + 1);
}

/* Whether it is a number, which no name server can have made of a name. */
static int is_number(const char *host)
{
	const size_t n = *host == '[' ? strspn(host, "[]0123456789abcdefABCDEF:.") : strspn(host, "0123456789.:");
	return n > 0 && !host[n];
}

/* A page of a stranger reaches this port under the name of its own host, wherever that leads. */
static int may_be_host(const struct server *s, const char *host)
{
	static const char *const any[] = {"0.0.0.0", "::"};
	char own[256] = "", bracketed[TALK_TEXT + 8];
	const char *address = s->setup.address;
	if (!host)
		return 0;
	if (is_host(host, "localhost") || is_host(host, "127.0.0.1") || is_host(host, "[::1]"))
		return 1;
	snprintf(bracketed, sizeof bracketed, "[%s]", address);
	if (is_host(host, address) || is_host(host, bracketed))
		return 1;
	if (strcmp(address, any[0]) != 0 && strcmp(address, any[1]) != 0)
		return 0;
	return is_number(host) || (gethostname(own, sizeof own - 1) == 0 && is_host(host, own));
}

/* A request that a page has made is one of this page. */
static int may_be_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";
	return !origin ||
	       (strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcasecmp(origin + sizeof scheme - 1, host) == 0);
}

static int may_ask(const struct server *s, struct MHD_Connection *connection, const char *url)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
	return may_be_host(s, host) && may_be_origin(origin, host) && is_token(s->setup.token, url);
}

/* ---- answers ------------------------------------------------------------------------------------ */

static enum MHD_Result send_answer(struct MHD_Connection *connection, unsigned status, const char *type,
	const void *data, size_t bytes, enum MHD_ResponseMemoryMode mode)
{
	static const struct {
		const char *name, *value;
	} header[] = {
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Content-Security-Policy",
			"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src "
			"'self'; "
			"img-src 'self' blob: data:; media-src blob:; base-uri 'none'; form-action 'none'; "
			"frame-ancestors 'none'"},
	};
	struct MHD_Response *response = MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, mode);
	if (!response)
		return MHD_NO;
	for (size_t k = 0; k < sizeof header / sizeof *header; k++)
		MHD_add_response_header(response, header[k].name, header[k].value);
	if (type)
		MHD_add_response_header(response, "Content-Type", type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, POST");
	if (status >= 400) /* what else comes on this connection is not heard */
		MHD_add_response_header(response, "Connection", "close");
	const enum MHD_Result queued = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status)
{
	char text[40];
	const int n = snprintf(text, sizeof text, "%u %s\n", status,
		status == MHD_HTTP_FORBIDDEN   ? "Forbidden"
		: status == MHD_HTTP_NOT_FOUND ? "Not Found"
					       : "Refused");
	return send_answer(connection, status, "text/plain", text, (size_t)n, MHD_RESPMEM_MUST_COPY);
}

/* A whole number in decimal digits. */
static int take_number(struct MHD_Connection *connection, const char *name, uint64_t most, uint64_t *to)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
	if (!text || !*text || strlen(text) > 19 || strspn(text, "0123456789") != strlen(text))
		return 0;
	*to = strtoull(text, NULL, 10);
	return *to <= most;
}

/* ---- requests ----------------------------------------------------------------------------------- */

/* What a page wants; with its stream, or of one that it has. */
static enum MHD_Result take_want(
	struct server *s, struct MHD_Connection *connection, const char *path, const struct request *request)
{
	struct talk_want want;
	uint64_t number;
	if (!take_number(connection, "client", UINT32_MAX, &number) ||
		nb_want_read(&want, request->body, request->used))
		return refuse(connection, MHD_HTTP_BAD_REQUEST);
	struct client *c = nb_client_of(s, (uint32_t)number);
	if (!c)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE);
	nb_client_wants(s, c, &want);
	if (strcmp(path, "want") == 0)
		return send_answer(connection, MHD_HTTP_NO_CONTENT, NULL, "", 0, MHD_RESPMEM_PERSISTENT);
	nb_server_note(s, connection, 1, 1);
	return nb_client_stream(s, c, connection);
}

/* Asks the host, and waits for its answer: the connection sleeps meanwhile. */
static enum MHD_Result give_body(struct server *s, struct MHD_Connection *connection, struct request *request)
{
	struct talk_ask ask;
	if (request->answer) {
		char *answer = request->answer;
		request->answer = NULL;
		return send_answer(
			connection, MHD_HTTP_OK, "application/json", answer, request->bytes, MHD_RESPMEM_MUST_FREE);
	}
	if (request->asked)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE);
	if (!take_number(connection, "frame", UINT64_MAX, &ask.frame) ||
		!take_number(connection, "index", UINT64_MAX, &ask.index))
		return refuse(connection, MHD_HTTP_BAD_REQUEST);
	if (s->ended > 1)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE);
	request->asked = 1;
	request->connection = connection;
	request->number = ++s->nrequest;
	request->since = s->now;
	request->next = s->waiting;
	s->waiting = request;
	nb_server_tell(s, TALK_ASK, request->number, &ask, sizeof ask);
	MHD_suspend_connection(connection);
	return MHD_YES;
}

static void stop_waiting(struct server *s, const struct request *request)
{
	for (struct request **at = &s->waiting; *at; at = &(*at)->next)
		if (*at == request) {
			*at = request->next;
			return;
		}
}

void nb_server_body(struct server *s, uint32_t number, unsigned char *answer, size_t bytes)
{
	for (struct request *r = s->waiting; r; r = r->next)
		if (r->number == number) {
			r->answer = (char *)answer;
			r->bytes = bytes;
			stop_waiting(s, r);
			MHD_resume_connection(r->connection);
			return;
		}
	free(answer);
}

void nb_server_expire(struct server *s)
{
	for (struct request *r = s->waiting, *after; r; r = after) {
		after = r->next;
		if (s->now - r->since > SLOW || s->ended > 1) {
			stop_waiting(s, r);
			MHD_resume_connection(r->connection);
		}
	}
}

static enum MHD_Result get(
	struct server *s, struct MHD_Connection *connection, const char *path, struct request *request)
{
	if (!*path)
		return send_answer(connection, MHD_HTTP_OK, "text/html; charset=utf-8", s->page, s->page_bytes,
			MHD_RESPMEM_PERSISTENT);
	if (strcmp(path, "body") == 0)
		return give_body(s, connection, request);
	return refuse(connection, MHD_HTTP_NOT_FOUND);
}

/* The first call for a request comes with its head, others with what follows, and the last one after that. */
enum MHD_Result nb_server_answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *data, size_t *bytes, void **state)
{
	struct server *s = context;
	struct request *request = *state;
	const int posts = strcmp(method, "POST") == 0;
	const char *path = url + TALK_TOKEN + 2;
	(void)version;
	if (!request) {
		if (!posts && strcmp(method, "GET") != 0)
			return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
		if (!may_ask(s, connection, url))
			return refuse(connection, MHD_HTTP_FORBIDDEN);
		if (posts && strcmp(path, "want") != 0 && strcmp(path, "stream") != 0)
			return refuse(connection, MHD_HTTP_NOT_FOUND);
		nb_server_note(s, connection, 1, 0);
		*state = request = calloc(1, sizeof *request);
		return request ? MHD_YES : MHD_NO;
	}
	if (*bytes) {
		if (!posts || *bytes > sizeof request->body - request->used)
			return MHD_NO; /* more than any page says */
		memcpy(request->body + request->used, data, *bytes);
		request->used += *bytes;
		*bytes = 0;
		return MHD_YES;
	}
	return posts ? take_want(s, connection, path, request) : get(s, connection, path, request);
}

void nb_server_completed(
	void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why)
{
	struct server *s = context;
	struct request *request = *state;
	(void)why;
	if (!request)
		return;
	nb_server_note(s, connection, 0, 0);
	stop_waiting(s, request);
	free(request->answer);
	free(request);
	*state = NULL;
}
