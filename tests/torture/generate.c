/* Hostile streams with right checksums, for every program and many options:
 *
 *   generate [--runs N] [--seed N] [--workers N] [--seconds S] [--name NAME] --findings DIR FILE...
 *
 * Each stream is one of FILE... in which some numbers, types, sizes, attributes, flags or rows are others: indices of
 * nodes and boxes, NaN and the ends of the range of numbers, counts that the data do not have.  Whatever a stream says,
 * a program refuses it or does its work, and from one that `nb-stats --check` accepts it makes such a one.  Stream k
 * depends on the seed + k only.  To be built with sanitizers. */
#include "tests/torture/run.h"

#include "tests/torture/commands.h"
#include "tests/torture/streamed.h"

#include <getopt.h>
#include <math.h>

enum { SEEDS = 64, BYTES_MOST = 900000, SLOW = 120 };

static struct bytes seed_file[SEEDS];
static size_t nseed;
static uint64_t first_seed = 1, state;
static const char *findings;

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void)
{
	return "exitcode=99:detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096";
}
const char *__ubsan_default_options(void)
{
	return "exitcode=99:print_stacktrace=1";
}
#endif

/* ---- chance --------------------------------------------------------------------------------------- */

static uint64_t random_bits(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static size_t below(size_t n)
{
	return n ? random_bits() % n : 0;
}

static int chance(int percent)
{
	return (int)below(100) < percent;
}

#define ONE_OF(list) ((list)[below(sizeof(list) / sizeof *(list))])

static double hostile_number(double was)
{
	static const double extreme[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 5e-324, 1e-308, 1.7976931348623157e308,
		-1.7e308, 1e300, 1e154, 1.4e154, 1e-154, 1e-160, 1, -1, 9007199254740993.0, 1e18, -1e18, 3.4e38, 1e39,
		1e-45, 1e-39},
			    factor[] = {-1, 2, 0.5, 1e3, 1e-3, 1e160, 1e-160, 1 + 1e-15};
	return chance(60) ? ONE_OF(extreme) : was * ONE_OF(factor);
}

static uint64_t hostile_count(uint64_t was, const struct pieces *f)
{
	const uint64_t some[] = {0, 1, 2, was + 1, was - 1, was ^ 1ull << below(64), f->rows[0], f->rows[1], f->rows[2],
		f->rows[1] - 1, f->rows[0] - 1, UINT64_MAX, 1ull << 63, 1ull << 31, 1ull << 32, (1ull << 32) - 1,
		1ull << 40, (1ull << 40) + 1, below(64), was * 2};
	return ONE_OF(some);
}

/* ---- what is changed ------------------------------------------------------------------------------ */

static size_t item_of(const char *type)
{
	const long size = strtol(type + (strlen(type) > 2 ? 2 : strlen(type)), NULL, 10);
	return size > 0 && size < 1 << 20 ? (size_t)size : 1;
}

static struct piece *some_column(struct pieces *f)
{
	struct piece *x = &f->column[below(f->ncolumn)];
	for (int tries = 0; tries < 8 && x->table == 0 && (f->rows[1] || f->rows[2]) && chance(50); tries++)
		x = &f->column[below(f->ncolumn)];
	return x;
}

static void change_number(struct pieces *f, const struct piece *x, size_t i, size_t item)
{
	unsigned char *p = x->data + i * item;
	double d;
	float s;
	if (x->type[1] == 'f' && item == 8) {
		memcpy(&d, p, 8);
		d = hostile_number(d);
		memcpy(p, &d, 8);
	} else if (x->type[1] == 'f' && item == 4) {
		memcpy(&s, p, 4);
		d = hostile_number(s);
		s = fabs(d) > 3.4e38 ? (float)copysign(INFINITY, d) : (float)d;
		memcpy(p, &s, 4);
	} else if (item <= 8) {
		uint64_t other = i ? number_at(p - item, (int)item) : 0;
		put_number(p, chance(15) ? other : hostile_count(number_at(p, (int)item), f), (int)item);
	}
}

static void change_numbers(struct pieces *f)
{
	struct piece *x = some_column(f);
	const size_t item = item_of(x->type), n = x->bytes / item;
	const size_t times[] = {1, 1, 1, 2, 5, n};
	for (size_t k = ONE_OF(times); n && k > 0; k--)
		change_number(f, x, below(n), item);
}

/* All numbers of a column at once: a scale, one value, another order of the rows. */
static void change_column(struct pieces *f)
{
	struct piece *x = some_column(f);
	const size_t row = x->components * item_of(x->type), n = row ? x->bytes / row : 0;
	static const double scale[] = {1e150, 1e-150, 1e155, 1e-155, 1e-300, 1e300, -1, 0};
	const double by = ONE_OF(scale);
	unsigned char other[64];
	if (chance(50) && x->type[1] == 'f' && item_of(x->type) == 8)
		for (size_t i = 0; i + 8 <= x->bytes; i += 8) {
			double d;
			memcpy(&d, x->data + i, 8);
			d *= by;
			memcpy(x->data + i, &d, 8);
		}
	else if (chance(50))
		for (size_t i = 1; i < n; i++)
			memcpy(x->data + i * row, x->data, row);
	else
		for (size_t i = 1; i < n && row <= sizeof other; i++) {
			unsigned char *a = x->data + i * row, *b = x->data + below(i + 1) * row;
			memcpy(other, a, row);
			memcpy(a, b, row);
			memcpy(b, other, row);
		}
}

/* A column gets so many bytes, its own again and again. */
static void resize(struct piece *x, size_t bytes)
{
	unsigned char *data = bytes < BYTES_MOST ? take(bytes) : NULL;
	if (!data)
		return;
	for (size_t i = 0; i < bytes && x->bytes; i++)
		data[i] = x->data[i % x->bytes];
	x->data = data;
	x->bytes = bytes;
}

static void change_type(struct pieces *f)
{
	static const char *const types[] = {"<f8", "<f4", "<f2", "<f16", "<u8", "<u4", "<u2", "|u1", "<i8", "<i4",
		"<i2", "|i1", "|S1", "|S7", "|V3", "<c8", "<c16", "|b1", "<u1", ">f8", "<f0", "<f99999", "", "<x4",
		"|O8", "<S4", "<f8x"};
	static const uint32_t components[] = {1, 2, 3, 6, 8, 26, 100, 65536, 65537, 0};
	struct piece *x = some_column(f);
	memset(x->type, 0, sizeof x->type);
	strcpy(x->type, ONE_OF(types));
	if (chance(30))
		x->components = ONE_OF(components);
	if (x->table < TABLES && f->rows[x->table] < 1 << 20)
		resize(x, f->rows[x->table] * x->components * item_of(x->type));
}

static void change_directory(struct pieces *f)
{
	static const char *const names[] = {"id", "mass", "pos", "vel", "acc", "pot", "jerk", "key", "radius",
		"species", "node_first", "node_count", "node_child", "node_nchild", "node_box", "node_com", "node_mass",
		"node_quad", "box_first", "box_neighbour", "nb_step_row", "label", "", "a b", "=cmd()", "\x1b[31m",
		"\xc2\x9b", "x,y"};
	struct piece *x = some_column(f);
	const size_t c = (size_t)(x - f->column);
	switch (below(6)) {
	case 0:
		if (f->ncolumn > 1) {
			memmove(x, x + 1, (f->ncolumn - c - 1) * sizeof *x);
			f->ncolumn--;
		}
		break;
	case 1:
		if (f->ncolumn < COLUMNS)
			f->column[f->ncolumn++] = *x;
		break;
	case 2:
		memset(x->name, 0, sizeof x->name);
		strcpy(x->name, ONE_OF(names));
		break;
	case 3: x->flags ^= 1u << (chance(80) ? 0 : below(32)); break;
	case 4: x->table = (uint32_t)below(4); break;
	default: memset(x->unit, 'a' + (int)below(26), below(25)); break;
	}
}

static void change_attribute(struct pieces *f)
{
	static const char *const keys[] = {"time", "time_rest", "step", "G", "dim", "softening", "key_cube", "tree",
		"leaf_size", "order", "level", "pending_kick", "universe_radius", "model", "history", "seed", "units",
		"missing_vel", "x"};
	static const char *const values[] = {"2", "3", "0", "-1", "1e300", "-1e300", "1e-300", "9007199254740993",
		"18446744073709551616", "99999999999", "-2147483649", "0,0,0,1", "-1e308,-1e308,-1e308,1e308",
		"0,0,0,1e-320", "nan,0,0,1", "nan", "inf", "disk", "merger", "solar", "boxes", "octree", "quadtree", "",
		"0x1p-1074", "1e-3", "\xff\x1b[2J", "\\n\\\\", "a=b"};
	const size_t room = f->nattributes + 6000;
	char *text = take(room), *to = text, key[32];
	if (!text)
		return;
	const int length = snprintf(key, sizeof key, "%s=", ONE_OF(keys));
	for (const char *at = f->attributes, *end = at + f->nattributes; at < end;) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const size_t size = line ? (size_t)(line - at) + 1 : (size_t)(end - at);
		if (size < (size_t)length || memcmp(at, key, (size_t)length) != 0 || chance(5)) {
			memcpy(to, at, size);
			to += size;
		}
		at += size;
	}
	to += snprintf(to, 200, "%s%s\n", key, ONE_OF(values));
	if (chance(5))
		to = memset(to, 'x', 5000), to += 5000;
	f->attributes = text;
	f->nattributes = (size_t)(to - text);
}

static void change_rows(struct pieces *f)
{
	const int t = (int)below(TABLES);
	const uint64_t was = f->rows[t], some[] = {0, 1, 2, 3, 7, was ? was - 1 : 0, was + 1, 2 * was, 100};
	f->rows[t] = ONE_OF(some);
	for (size_t c = 0; c < f->ncolumn; c++)
		if ((int)f->column[c].table == t && f->rows[t] < 100000)
			resize(&f->column[c], f->rows[t] * f->column[c].components * item_of(f->column[c].type));
}

/* Sizes of the finished frame that the data do not have. */
static void lie(unsigned char *p, const struct pieces *f)
{
	static const int at[] = {32, 40, 48, 56, 64, 68, 72, 24, 8, 10, 12, 16, 80, 120},
			 entry[] = {40, 44, 48, 52, 80, 88, 96};
	if (chance(60) || f->ncolumn == 0) {
		const int where = ONE_OF(at), bytes = where == 8 || where == 10					 ? 2
						      : where == 12 || where == 16 || where == 64 || where == 68 ? 4
														 : 8;
		put_number(p + where, hostile_count(number_at(p + where, bytes), f), bytes);
	} else {
		unsigned char *e = p + HEAD + padded(f->nattributes) + ENTRY * below(f->ncolumn);
		const int where = ONE_OF(entry), bytes = where >= 80 ? 8 : 4;
		put_number(e + where, hostile_count(number_at(e + where, bytes), f), bytes);
	}
}

static void change(struct pieces *f)
{
	static const int times[] = {0, 1, 1, 1, 2, 3, 6};
	for (int k = ONE_OF(times); k > 0 && f->ncolumn; k--)
		switch (below(16)) {
		case 0: change_type(f); break;
		case 1: change_directory(f); break;
		case 2:
		case 3: change_attribute(f); break;
		case 4: change_rows(f); break;
		case 5:
		case 6: change_column(f); break;
		default: change_numbers(f); break;
		}
}

/* ---- a stream ------------------------------------------------------------------------------------- */

/* The stream of the state of chance; 1 if it is too large. */
static int make_stream(struct bytes *stream)
{
	static const size_t counts[] = {1, 1, 1, 2, 3};
	unsigned char *to = take(4 * BYTES_MOST);
	struct pieces f;
	uint64_t number = 0;
	stream->at = (char *)to;
	stream->n = 0;
	for (size_t k = ONE_OF(counts), s = below(nseed); k > 0 && to; k--) {
		unsigned char *copy = take(seed_file[s].n), *p;
		size_t size, offset = 0, whole = 0;
		if (!copy)
			return 1;
		memcpy(copy, seed_file[s].at, seed_file[s].n);
		do /* one of its frames */
			offset += whole;
		while ((whole = take_apart(&f, copy + offset, seed_file[s].n - offset)) && chance(40) &&
			take_apart(&f, copy + offset + whole, seed_file[s].n - offset - whole));
		if (!take_apart(&f, copy + offset, seed_file[s].n - offset))
			return 1;
		change(&f);
		p = put_together(&f, chance(98) ? number : below(9), &size);
		if (!p || stream->n + size + 2 * HEAD > BYTES_MOST)
			return 1;
		const size_t head = HEAD + padded(f.nattributes) + ENTRY * f.ncolumn;
		if (chance(6))
			lie(p, &f);
		seal(p, head);
		memcpy(to + stream->n, p, size);
		stream->n += size;
		number++;
		if (k > 1 && chance(20)) { /* cat a b */
			put_end(to + stream->n, number);
			stream->n += HEAD;
			number = 0;
		}
		if (chance(40))
			s = below(nseed);
	}
	put_end(to + stream->n, chance(98) ? number : below(9));
	stream->n += HEAD;
	return 0;
}

/* ---- runs ----------------------------------------------------------------------------------------- */

static int input(const struct bytes *stream, int through_pipe)
{
	int end[2];
	if (!through_pipe) {
		const int fd = memory_file();
		if (pwrite(fd, stream->at, stream->n, 0) != (ssize_t)stream->n)
			give_up("no file in memory");
		return fd;
	}
	if (pipe2(end, O_CLOEXEC) || fcntl(end[1], F_SETPIPE_SZ, 1 << 20) < 0 ||
		write(end[1], stream->at, stream->n) != (ssize_t)stream->n)
		give_up("no pipe");
	close(end[1]);
	return end[0];
}

static enum verdict run_on(const struct line *line, const struct bytes *stream, int through_pipe, struct outcome *o)
{
	const int in = input(stream, through_pipe);
	struct how how = {NULL, NULL, in, SLOW};
	*o = run_line(line, &how);
	close(in);
	return judge(line, o, &o->out);
}

/* The file for a finding. */
static void keep(char *path, size_t size, uint64_t seed, const struct bytes *stream)
{
	snprintf(path, size, "%s/generated-%llu.nb", findings, (unsigned long long)seed);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, stream->at, stream->n) != (ssize_t)stream->n)
		give_up("cannot write '%s'", path);
	close(fd);
}

static void generate(struct tally *t, size_t k)
{
	struct bytes stream;
	struct line line, check;
	struct outcome o, checked;
	char path[4096];
	state = (first_seed + k) * 0xd1342543de82ef95u;
	arena_used = 0;
	if (make_stream(&stream))
		return;
	parse_line(&check, "nb-stats -q --check");
	const int sound = run_on(&check, &stream, 0, &o) == RIGHT;
	clear_outcome(&o);
	for (int runs = 0; runs < 4; runs++) {
		const char *command = ONE_OF(stream_commands);
		if (strchr(command, '\'') && !chance(10)) /* it starts programs, which takes long */
			continue;
		const int through_pipe = chance(40);
		parse_line(&line, command);
		enum verdict v = run_on(&line, &stream, through_pipe, &o);
		if (v == LATE) /* refused, but whatever was written is not known beforehand */
			v = ends_with_marker(o.out) ? MARKER : REFUSED;
		const int ends = v == RIGHT && sound && ends_with_marker(o.out);
		if (ends && run_on(&check, &o.out, 0, &checked) != RIGHT)
			v = SILENT;
		if (count_run(t, v, &o)) {
			keep(path, sizeof path, first_seed + k, &stream);
			tell(v, v == SILENT && ends ? &checked : &o, through_pipe ? "cat %s | %s" : "<%s %s", path,
				command);
		}
		if (ends)
			clear_outcome(&checked);
		clear_outcome(&o);
	}
}

int main(int argc, char **argv)
{
	static const struct option table[] = {{"runs", 1, NULL, 'r'}, {"seed", 1, NULL, 'e'}, {"workers", 1, NULL, 'w'},
		{"seconds", 1, NULL, 's'}, {"findings", 1, NULL, 'f'}, {"name", 1, NULL, 'n'}, {0}};
	const char *name = "generated";
	size_t runs = 0;
	int workers = 4;
	double seconds = 0;
	for (int o; (o = getopt_long(argc, argv, "", table, NULL)) != -1;)
		switch (o) {
		case 'r': runs = strtoul(optarg, NULL, 10); break;
		case 'e': first_seed = strtoull(optarg, NULL, 10); break;
		case 'w': workers = atoi(optarg); break;
		case 's': seconds = atof(optarg); break;
		case 'f': findings = optarg; break;
		case 'n': name = optarg; break;
		default: return 2;
		}
	for (int i = optind; i < argc && nseed < SEEDS; i++) {
		struct pieces f;
		const struct bytes b = bytes_of_file(argv[i]);
		if (take_apart(&f, (unsigned char *)b.at, b.n))
			seed_file[nseed++] = b;
	}
	if (workers < 1 || !findings || nseed == 0 || (runs == 0 && seconds <= 0))
		give_up("usage: generate --runs N|--seconds S --findings DIR FILE...");
	setenv("OMP_NUM_THREADS", "1", 0);
	printf("torture %s: %zu files, seeds from %llu on\n", name, nseed, (unsigned long long)first_seed);
	struct tally *t = new_tally(seconds);
	run_all(t, workers, runs ? runs : SIZE_MAX, 1, generate);
	return end_tally(t, name);
}
