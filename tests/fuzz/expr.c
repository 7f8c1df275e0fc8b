/* Text of an assignment, over a frame of a few bodies with numbers of all kinds: it is refused with a reason, or has
 * the same values in one block and row by row, and nb-calc does what it says or ends with one. */
#include "tests/fuzz/fuzz.h"
#include "tools/filter/expression.h"

#include <math.h>

enum { ROWS = 5 };

static void *added(struct nb_frame *frame, const char *name, const char *dtype, uint32_t ncomp, const char *unit)
{
	struct nb_column *column = nb_frame_add(frame, name, NB_PARTICLE, dtype, ncomp, unit, 0);
	void *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	REQUIRE(data);
	return data;
}

static void make_frame(struct nb_frame *frame)
{
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = ROWS;
	uint64_t *id = added(frame, "id", "<u8", 1, "");
	double *mass = added(frame, "mass", "<f8", 1, "mass"), *pos = added(frame, "pos", "<f8", 3, "length");
	float *vel = added(frame, "vel", "<f4", 3, "velocity");
	double *q = added(frame, "q", "<f8", 1, "");
	int8_t *k = added(frame, "k", "|i1", 2, "");
	char *name = added(frame, "name", "|S4", 1, "");
	memcpy(name, "Sun\0MoonMar\0\0\0\0\0Star", 4 * ROWS);
	for (int i = 0; i < ROWS; i++) {
		id[i] = i % 2 ? (uint64_t)i : UINT64_MAX - (uint64_t)i;
		mass[i] = i / 4.0;
		q[i] = i == 1 ? NAN : i == 2 ? INFINITY : i == 3 ? -1e308 : 1e-308;
		for (int c = 0; c < 3; c++) {
			pos[3 * i + c] = (i - 2) * (c + 1);
			vel[3 * i + c] = (float)(c - i) / 3;
		}
		k[2 * i] = (int8_t)(i - 3);
		k[2 * i + 1] = INT8_MIN;
	}
	REQUIRE(nb_frame_set_attribute(frame, "model", "king") == NB_OK);
	REQUIRE(nb_frame_set_attribute(frame, "softening", "0.1") == NB_OK);
}

/* In one block, and row by row. */
static void compare_values(const struct nb_expr *expr)
{
	for (uint32_t c = 0; c < nb_expr_ncomp(expr); c++)
		for (int item = NB_ITEM_F64; item <= NB_ITEM_I8; item += NB_ITEM_I8) {
			double all[ROWS], one;
			struct nb_expr_error error;
			memset(all, 0, sizeof all);
			const int status = nb_expr_values(expr, 0, ROWS, c, (enum nb_expr_item)item, all, 8, &error);
			REQUIRE(!status || (*error.text && (error.row == SIZE_MAX || error.row < ROWS)));
			for (size_t i = 0; i < ROWS && !status; i++) {
				one = 0;
				REQUIRE(!nb_expr_values(expr, i, 1, c, (enum nb_expr_item)item, &one, 8, &error));
				REQUIRE(memcmp(&one, &all[i], 8) == 0);
			}
		}
}

static void look(struct nb_expr *expr, struct nb_frame *frame)
{
	struct nb_scope scope = {.frame = frame};
	struct nb_expr_error error;
	uint8_t mask[ROWS];
	size_t length;
	for (uint32_t ncomp = 0; ncomp < 4; ncomp++) {
		if (nb_expr_bind(expr, ROWS, ncomp, nb_scope_find, &scope, &error)) {
			REQUIRE(*error.text);
			continue;
		}
		REQUIRE(nb_expr_ncomp(expr) == ncomp || (ncomp == 0 && nb_expr_ncomp(expr) <= NB_EXPR_COMPONENTS));
		REQUIRE(strlen(nb_expr_unit(expr)) < NB_EXPR_UNIT);
		if (nb_expr_kind(expr) == NB_EXPR_TEXT)
			for (size_t i = 0; i < ROWS; i++)
				REQUIRE(nb_expr_text(expr, i, &length) || length == 0);
		else
			compare_values(expr);
		if (nb_expr_kind(expr) == NB_EXPR_CONDITION && !nb_expr_mask(expr, 0, ROWS, mask, &error))
			for (size_t i = 0; i < ROWS; i++)
				REQUIRE(mask[i] <= 1);
		(void)nb_expr_reads_finite(expr, ROWS - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int null = fuzz_silence();
	struct nb_frame frame;
	struct nb_expr *expr;
	struct nb_expr_target target;
	struct nb_expr_error error;
	char *text = malloc(size + 1);
	REQUIRE(text);
	memcpy(text, data, size);
	text[size] = '\0';
	make_frame(&frame);
	for (int whole = 0; whole < 2; whole++) {
		const int status = whole ? nb_expr_parse_assignment(&expr, text, &target, &error)
					 : nb_expr_parse(&expr, text, &error);
		REQUIRE(status == NB_OK || (status == NB_EINVAL && *error.text));
		if (status)
			continue;
		look(expr, &frame);
		nb_expr_free(expr);
	}
	char *argv[] = {"nb-calc", "--", text, NULL};
	struct nb_run *run = nb_run_new(nb_tool_find("nb-calc"));
	REQUIRE(run);
	run->voice.file = null;
	int ended = nb_run_prepare(run, 3, argv);
	if (!ended)
		ended = nb_run_frame(run, &frame);
	REQUIRE(ended == NB_EXIT_OK || ended == NB_EXIT_FAILED || ended == NB_EXIT_USAGE);
	if (ended == NB_EXIT_OK)
		fuzz_look(&frame);
	nb_run_free(run);
	nb_frame_clear(&frame);
	free(text);
	return 0;
}
