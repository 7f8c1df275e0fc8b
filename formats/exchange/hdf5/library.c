/* The program that reads with libhdf5: hdf5/hdf5.h says why.  It is no part of the library. */
#include "formats/exchange/hdf5/hdf5.h"

#define H5_USE_110_API /* of later versions, too: objects have addresses */
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SOCKET = 0,
	FILE_FD = NB_H5_FILE,
	DEPTH = 6,	 /* of groups */
	PATH = 1024,	 /* bytes of the path of an object */
	OBJECTS = 50000, /* taken into the list */
	NUMBERS = 4096,	 /* in an attribute */
	TEXT = 1 << 16,
	SECONDS = 10, /* to compute, for the list and for each request, ... */
	SPEED = 24    /* ... and one more for each 2^24 bytes of its chunks and rows */
};
#define MEMORY ((uint64_t)256 << 20) /* more than rows need */

/* Where a dataset has been found: rows are read from there, whatever leads there by name. */
struct place {
	haddr_t address;
	struct nb_h5_item item;
};

struct walk {
	FILE *list;
	unsigned depth, objects;
	struct place *place;
	size_t nplace;
	hid_t links;		  /* how they are followed */
	int leaves;		  /* the last one would have led to another file */
	int bad_name;		  /* one that no library writes */
	haddr_t above[DEPTH + 1]; /* the groups around the present one */
	char path[PATH];
	size_t length;
};

/* ---- limits ------------------------------------------------------------------------------------- */

/* No filter of a file is a plug-in, as a static program has none (--wrap in the Makefile). */
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return NULL;
}

static void limit(int what, uint64_t soft)
{
	struct rlimit l;
	if (getrlimit(what, &l) == 0) {
		l.rlim_cur = soft < l.rlim_max ? soft : l.rlim_max;
		setrlimit(what, &l);
	}
}

/* From here on so many seconds of computing, and bytes, more. */
static void limit_work(uint64_t seconds, uint64_t bytes)
{
	struct rusage used;
	static int statm = -1; /* there will be no other file */
	unsigned long long pages = 0;
	char text[80] = "";
	if (getrusage(RUSAGE_SELF, &used) == 0)
		limit(RLIMIT_CPU, (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec + seconds);
	if (statm < 0)
		statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (pread(statm, text, sizeof text - 1, 0) > 0 && sscanf(text, "%llu", &pages) == 1)
		limit(RLIMIT_AS, pages * (uint64_t)sysconf(_SC_PAGESIZE) + MEMORY + bytes);
}

/* ---- the end of who started this process ------------------------------------------------------------ */

/* Something has happened to the socket: is its other end closed? */
static void look(int signal)
{
	struct pollfd p = {SOCKET, POLLRDHUP, 0};
	(void)signal;
	if (poll(&p, 1, 0) > 0)
		_exit(1);
}

/* In the middle of any computation, too; a socket ends with the last process that holds it, not with a thread. */
static void end_with_parent(void)
{
	const struct sigaction at_once = {.sa_handler = look, .sa_flags = SA_RESTART};
	if (sigaction(SIGIO, &at_once, NULL) || fcntl(SOCKET, F_SETOWN, getpid()) ||
		fcntl(SOCKET, F_SETFL, fcntl(SOCKET, F_GETFL) | O_ASYNC))
		_exit(1);
	look(SIGIO);
}

/* ---- talking ------------------------------------------------------------------------------------ */

static void send_bytes(const void *data, size_t n)
{
	for (const char *at = data; n;) {
		const ssize_t part = write(SOCKET, at, n);
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			_exit(1);
		at += part;
		n -= (size_t)part;
	}
}

static void answer(int failed, const void *data, size_t bytes)
{
	const struct nb_h5_answer head = {(uint64_t)failed, bytes};
	send_bytes(&head, sizeof head);
	send_bytes(data, bytes);
}

/* The innermost reason is the first. */
static herr_t take_reason(unsigned k, const H5E_error2_t *error, void *text)
{
	if (k == 0)
		snprintf(text, 200, "%s", error->desc);
	return 0;
}

static void refuse(const char *what)
{
	char reason[200] = "", text[PATH + 300];
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, reason);
	const int n = snprintf(text, sizeof text, "%s%s%s", what, *reason ? ": " : "", reason);
	answer(1, text, (size_t)n);
}

/* ---- the list ----------------------------------------------------------------------------------- */

static void put(
	struct walk *walk, struct nb_h5_record *record, const char *name, const double *number, const char *text)
{
	static const char zero[8];
	char path[2 * PATH];
	snprintf(path, sizeof path, "%s%s%s", walk->path, name ? "@" : "", name ? name : "");
	record->path_bytes = strlen(path) + 1;
	record->text_bytes = text ? strlen(text) + 1 : 0;
	const size_t bytes = record->path_bytes + record->text_bytes;
	fwrite(record, sizeof *record, 1, walk->list);
	if (number)
		fwrite(number, sizeof *number, record->item.count, walk->list);
	fwrite(path, 1, record->path_bytes, walk->list);
	if (text)
		fwrite(text, 1, record->text_bytes, walk->list);
	fwrite(zero, 1, (8 - bytes % 8) % 8, walk->list);
}

static int is_ieee(hid_t type, size_t size)
{
	size_t sign, exponent, esize, mantissa, msize;
	if (H5Tget_fields(type, &sign, &exponent, &esize, &mantissa, &msize) < 0)
		return 0;
	const size_t want = size == 8 ? 11 : size == 4 ? 8 : 5;
	return (size == 2 || size == 4 || size == 8) && esize == want && mantissa == 0 &&
	       msize == 8 * size - 1 - want && exponent == msize && sign == 8 * size - 1;
}

static void describe_type(hid_t type, struct nb_h5_item *item)
{
	const H5T_class_t class = H5Tget_class(type);
	item->kind = '?';
	item->size = H5Tget_size(type);
	const int whole = H5Tget_precision(type) == 8 * item->size && H5Tget_offset(type) == 0;
	if (class == H5T_FLOAT && is_ieee(type, item->size))
		item->kind = 'f';
	if (class == H5T_INTEGER && whole && (item->size == 1 || item->size == 2 || item->size == 4 || item->size == 8))
		item->kind = H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
	if (class == H5T_STRING && !H5Tis_variable_str(type))
		item->kind = 'S';
	item->big = (class == H5T_FLOAT || class == H5T_INTEGER) && H5Tget_order(type) == H5T_ORDER_BE;
}

static int describe_space(hid_t space, struct nb_h5_item *item)
{
	hsize_t dim[H5S_MAX_RANK];
	const int rank = H5Sget_simple_extent_dims(space, dim, NULL);
	if (rank < 0 || rank > NB_H5_RANK || H5Sget_simple_extent_type(space) == H5S_NULL)
		return -1;
	item->rank = (unsigned)rank;
	for (int k = 0; k < rank; k++)
		item->dim[k] = dim[k];
	return 0;
}

static herr_t attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
	struct walk *walk = context;
	struct nb_h5_record record = {.item.is_attribute = 1};
	struct nb_h5_item *item = &record.item;
	double number[NUMBERS];
	char *text = NULL;
	(void)info;
	if (walk->objects++ >= OBJECTS)
		return -1;
	const hid_t id = H5Aopen(object, name, H5P_DEFAULT);
	if (id < 0) {
		item->kind = '?';
		if (strlen(name) < PATH)
			put(walk, &record, name, NULL, NULL);
		return 0;
	}
	const hid_t type = H5Aget_type(id), space = H5Aget_space(id);
	const hssize_t count = H5Sget_simple_extent_npoints(space);
	if (describe_space(space, item) == 0 && count >= 1 && count <= NUMBERS && strlen(name) < PATH) {
		describe_type(type, item);
		item->count = (uint64_t)count;
		if (item->kind != 'S' && item->kind != '?' && H5Aread(id, H5T_NATIVE_DOUBLE, number) >= 0)
			put(walk, &record, name, number, NULL);
		if (item->kind == 'S' && count == 1 && item->size < TEXT && (text = calloc(1, item->size + 1)) &&
			H5Aread(id, type, text) >= 0)
			put(walk, &record, name, NULL, text);
		if (count == 1 && H5Tis_variable_str(type) > 0 && H5Aread(id, type, &text) >= 0 && text) {
			item->kind = 'S';
			if (strlen(text) < TEXT)
				put(walk, &record, name, NULL, text);
		}
	}
	free(text);
	H5Sclose(space);
	H5Tclose(type);
	H5Aclose(id);
	return 0;
}

static void describe_layout(hid_t set, struct nb_h5_item *item)
{
	hsize_t chunk[H5S_MAX_RANK];
	const hid_t list = H5Dget_create_plist(set);
	const H5D_layout_t layout = H5Pget_layout(list);
	item->layout = NB_H5_BY_LIBRARY;
	item->chunk = 1;
	if (layout == H5D_CONTIGUOUS) {
		const haddr_t offset = H5Dget_offset(set);
		item->layout = H5Pget_external_count(list) > 0 ? NB_H5_EXTERNAL
			       : offset == HADDR_UNDEF	       ? NB_H5_NEVER_WRITTEN
							       : NB_H5_IN_PLACE;
		item->offset = offset;
	} else if (layout == H5D_CHUNKED) {
		const int rank = H5Pget_chunk(list, H5S_MAX_RANK, chunk);
		item->chunk = rank > 0 ? chunk[0] : 1;
		item->chunk_bytes = item->size;
		for (int k = 0; k < rank; k++)
			if (__builtin_mul_overflow(item->chunk_bytes, chunk[k], &item->chunk_bytes))
				item->chunk_bytes = UINT64_MAX;
		for (int k = 0; k < H5Pget_nfilters(list); k++) {
			unsigned flags, values;
			size_t none = 0;
			if (H5Zfilter_avail(H5Pget_filter2(list, (unsigned)k, &flags, &none, NULL, 0, NULL, &values)) <=
				0)
				item->layout = NB_H5_NO_FILTER;
		}
	} else if (layout != H5D_COMPACT) {
		item->layout = NB_H5_VIRTUAL;
	}
	H5Pclose(list);
}

/* Something that is there, but not to be had. */
static void put_closed(struct walk *walk, enum nb_h5_layout why)
{
	struct nb_h5_record record = {.item = {.kind = '?', .layout = why}};
	put(walk, &record, NULL, NULL, NULL);
}

static int dataset(hid_t set, haddr_t address, struct walk *walk)
{
	struct nb_h5_record record = {.item.k = walk->nplace};
	const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
	if (type < 0 || space < 0) {
		put_closed(walk, NB_H5_UNKNOWN);
		return 0;
	}
	describe_type(type, &record.item);
	if (describe_space(space, &record.item))
		record.item.kind = '?';
	else
		describe_layout(set, &record.item);
	put(walk, &record, NULL, NULL, NULL);
	H5Sclose(space);
	H5Tclose(type);
	struct place *more = realloc(walk->place, (walk->nplace + 1) * sizeof *more);
	if (!more)
		return -1;
	walk->place = more;
	more[walk->nplace++] = (struct place){address, record.item};
	return 0;
}

/* Where a link leads: an open object, or -1 after it has been listed as closed. */
static hid_t follow(hid_t group, const char *name, const H5L_info_t *info, struct walk *walk, haddr_t *address)
{
	H5O_info_t found;
	hid_t id = -1;
	walk->leaves = 0;
	if (strchr(name, '@')) { /* which is what attributes have in the list */
		for (char *at; (at = strchr(walk->path, '@')) != NULL;)
			*at = '?';
		put_closed(walk, NB_H5_BAD_NAME);
		return -1;
	}
	if (info->type == H5L_TYPE_HARD)
		id = H5Oopen_by_addr(group, *address = info->u.address);
	else if (info->type == H5L_TYPE_SOFT)
		id = H5Oopen(group, name, walk->links);
	if (id >= 0 && info->type == H5L_TYPE_SOFT && H5Oget_info2(id, &found, H5O_INFO_BASIC) >= 0)
		*address = found.addr;
	if (id < 0)
		put_closed(walk, info->type == H5L_TYPE_HARD			? NB_H5_UNKNOWN
				 : info->type == H5L_TYPE_SOFT && !walk->leaves ? NB_H5_NOWHERE
										: NB_H5_ELSEWHERE);
	return id;
}

static int is_above(const struct walk *walk, haddr_t address)
{
	unsigned k = 0;
	while (k < walk->depth && walk->above[k] != address)
		k++;
	return k < walk->depth;
}

static herr_t object(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
	struct walk *walk = context;
	haddr_t address = HADDR_UNDEF;
	const size_t length = walk->length, more = strlen(name) + (length != 0);
	if (length + more >= PATH)
		return 0;
	snprintf(walk->path + length, PATH - length, "%s%s", length ? "/" : "", name);
	walk->length += more;
	walk->bad_name = !*name || strchr(name, '/');
	if (walk->objects++ >= OBJECTS || walk->bad_name)
		return -1;
	const hid_t id = follow(group, name, info, walk, &address);
	const H5I_type_t type = id < 0 ? H5I_BADID : H5Iget_type(id);
	herr_t status = 0;
	if (type == H5I_DATASET || type == H5I_GROUP) {
		/* one that is unknown hides all: nothing is known of the object then, such as its unit */
		const int open = H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, NULL, attribute, walk) >= 0;
		if (!open)
			put_closed(walk, NB_H5_UNKNOWN);
		if (type == H5I_DATASET && open)
			status = dataset(id, address, walk);
		if (type == H5I_GROUP && walk->depth < DEPTH && !is_above(walk, address)) {
			walk->above[walk->depth++] = address;
			status = H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, NULL, object, walk);
			walk->depth--;
		}
	}
	if (walk->objects > OBJECTS)
		status = -1;
	if (id >= 0)
		H5Oclose(id);
	if (status >= 0)
		walk->path[walk->length = length] = '\0';
	return status;
}

/* Another file is not opened, wherever a link leads. */
static herr_t refuse_file(const char *file, const char *group, const char *other, const char *name, unsigned *flags,
	hid_t access, void *walk)
{
	(void)file, (void)group, (void)other, (void)name, (void)flags, (void)access;
	((struct walk *)walk)->leaves = 1;
	return -1;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void send_rows(hid_t file, const struct walk *walk, const struct nb_h5_request *request)
{
	const struct place *place = request->k < walk->nplace ? &walk->place[request->k] : NULL;
	const struct nb_h5_item item = place ? place->item : (struct nb_h5_item){0};
	hsize_t first[NB_H5_RANK] = {request->first}, count[NB_H5_RANK] = {request->count};
	size_t bytes = item.size * request->count;
	for (unsigned k = 1; k < item.rank; k++)
		bytes *= count[k] = item.dim[k];
	limit_work(SECONDS + ((item.chunk_bytes + bytes) >> SPEED), 3 * item.chunk_bytes + 2 * bytes);
	void *data = malloc(bytes + 1);
	const hid_t set = place ? H5Oopen_by_addr(file, place->address) : -1;
	const hid_t from = H5Dget_space(set), to = H5Screate_simple((int)item.rank, count, NULL),
		    type = H5Dget_type(set);
	if (data && set >= 0 && H5Sselect_hyperslab(from, H5S_SELECT_SET, first, NULL, count, NULL) >= 0 &&
		H5Dread(set, type, to, from, H5P_DEFAULT, data) >= 0)
		answer(0, data, bytes);
	else
		refuse("cannot be read");
	H5Tclose(type);
	H5Sclose(to);
	H5Sclose(from);
	H5Oclose(set);
	free(data);
}

static int next_request(struct nb_h5_request *request)
{
	for (size_t at = 0; at < sizeof *request;) {
		const ssize_t n = read(SOCKET, (char *)request + at, sizeof *request - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		at += (size_t)n;
	}
	return 1;
}

/* ---- the file, mapped: it may have no name, and is not locked ------------------------------------- */

static void *mapped;

static void *take_image(size_t size, H5FD_file_image_op_t op, void *context)
{
	(void)size, (void)op, (void)context;
	return mapped;
}

static void *copy_image(void *to, const void *from, size_t size, H5FD_file_image_op_t op, void *context)
{
	(void)from, (void)size, (void)op, (void)context;
	return to;
}

static void *grow_image(void *data, size_t size, H5FD_file_image_op_t op, void *context)
{
	(void)data, (void)size, (void)op, (void)context;
	return NULL;
}

static herr_t free_image(void *data, H5FD_file_image_op_t op, void *context)
{
	(void)data, (void)op, (void)context;
	return 0;
}

static hid_t open_mapped(uint64_t size)
{
	H5FD_file_image_callbacks_t calls = {take_image, copy_image, grow_image, free_image, NULL, NULL, NULL};
	const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, FILE_FD, 0);
	if (mapped == MAP_FAILED || H5Pset_fapl_core(access, 1 << 16, 0) < 0 ||
		H5Pset_file_image_callbacks(access, &calls) < 0 || H5Pset_file_image(access, mapped, size) < 0)
		return -1;
	/* the library refuses an image whose name is that of a file: no file can have this one */
	return H5Fopen("/dev/null/snapshot", H5F_ACC_RDONLY, access);
}

static void serve(void)
{
	struct walk walk = {0};
	struct stat s;
	char *list = NULL;
	size_t size = 0;
	close_range(FILE_FD + 1, ~0u, 0);
	if (fstat(FILE_FD, &s) || !S_ISREG(s.st_mode))
		return;
	end_with_parent();
	limit(RLIMIT_CORE, 0);
	limit_work(SECONDS, (uint64_t)s.st_size);
	limit(RLIMIT_NOFILE, FILE_FD + 1); /* no other */
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	H5PLset_loading_state(0);
	const hid_t file = open_mapped((uint64_t)s.st_size);
	if (file < 0) {
		refuse("this is no whole HDF5 file");
		_exit(0);
	}
	walk.list = open_memstream(&list, &size);
	walk.links = H5Pcreate(H5P_LINK_ACCESS);
	H5Pset_elink_cb(walk.links, refuse_file, &walk);
	if (walk.list && H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, attribute, &walk) < 0)
		put_closed(&walk, NB_H5_UNKNOWN);
	herr_t status = walk.list ? H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, object, &walk) : -1;
	if (status < 0 || ferror(walk.list) || fclose(walk.list) || !list) {
		char what[PATH + 40];
		snprintf(what, sizeof what, "%s at '/%.900s'",
			walk.bad_name		  ? "a name that no library writes,"
			: walk.objects >= OBJECTS ? "more objects than a snapshot has,"
						  : "damaged",
			walk.path);
		refuse(what);
		_exit(0);
	}
	answer(0, list, size);
	for (struct nb_h5_request request; next_request(&request);)
		send_rows(file, &walk, &request);
	_exit(0);
}

int main(void)
{
	serve();
	return 1;
}
