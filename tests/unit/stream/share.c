/* Frames that share columns, memory with an owner, facts that last until a column changes, attributes that are
 * numbers. */
#include "formats/stream/stream.h"

#include "common/mem.h"
#include "tests/unit/unit.h"

#include <pthread.h>

enum { N = 1000 };

static double *numbers(struct nb_frame *frame, enum nb_field field)
{
	return nb_column_update(nb_frame_field(frame, field), &nb_space_host, NB_AS_F64);
}

static const double *look(struct nb_frame *frame, enum nb_field field)
{
	return nb_column_read(nb_frame_field(frame, field), &nb_space_host, NB_AS_F64);
}

static void make_frame(struct nb_frame *frame)
{
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = N;
	double *mass = nb_column_write(nb_frame_add_field(frame, NB_MASS, "<f4", 0), &nb_space_host, NB_AS_F64);
	for (size_t i = 0; i < N; i++)
		mass[i] = (double)i;
	double *pos = nb_column_write(nb_frame_add_field(frame, NB_POS, NULL, 0), &nb_space_host, NB_AS_F64);
	for (size_t i = 0; i < 3 * N; i++)
		pos[i] = 0.5 * (double)i;
	uint64_t *key = nb_column_write(nb_frame_add_field(frame, NB_KEY, NULL, 0), &nb_space_host, NB_WIRE);
	for (size_t i = 0; i < N; i++)
		key[i] = i;
	CHECK(nb_frame_round(frame) == NB_OK);
	CHECK(nb_frame_set_attribute(frame, "key_cube", "0,0,0,1") == NB_OK);
}

static void test_sharing(void)
{
	struct nb_frame a, b;
	make_frame(&a);
	nb_frame_init(&b);
	CHECK(nb_frame_share(&b, &a) == NB_OK);
	CHECK(b.rows[NB_PARTICLE] == N && b.ncolumn == 3 && b.nattribute == 1);
	CHECK(look(&a, NB_POS) == look(&b, NB_POS)); /* the same memory */

	numbers(&b, NB_POS)[5] = 77;
	CHECK(look(&b, NB_POS)[5] == 77 && look(&b, NB_POS)[6] == 3);
	CHECK(look(&a, NB_POS)[5] == 2.5);
	CHECK(look(&a, NB_MASS) != NULL && look(&a, NB_MASS)[9] == 9 && look(&b, NB_MASS)[9] == 9);

	/* who writes all of a column leaves the other's alone */
	double *mass = nb_column_write(nb_frame_field(&a, NB_MASS), &nb_space_host, NB_AS_F64);
	mass[9] = -1;
	CHECK(look(&b, NB_MASS)[9] == 9);

	/* the last one has it for itself */
	const void *keys = nb_column_read(nb_frame_field(&a, NB_KEY), &nb_space_host, NB_WIRE);
	nb_frame_clear(&a);
	CHECK(nb_column_update(nb_frame_field(&b, NB_KEY), &nb_space_host, NB_WIRE) == keys);
	CHECK(look(&b, NB_POS)[5] == 77);
	nb_frame_clear(&b);
}

struct rounds {
	struct nb_frame *frame;
	int wrong;
};

static void *change(void *context)
{
	struct rounds *rounds = context;
	for (int round = 0; round < 200; round++) {
		struct nb_frame copy;
		nb_frame_init(&copy);
		rounds->wrong += nb_frame_share(&copy, rounds->frame) != NB_OK;
		numbers(&copy, NB_POS)[0] = round;
		rounds->wrong += look(rounds->frame, NB_POS)[0] != 0;
		nb_frame_clear(&copy);
	}
	return NULL;
}

static void test_threads(void)
{
	struct nb_frame a, b;
	struct rounds here = {&a, 0}, there = {&b, 0};
	pthread_t thread;
	make_frame(&a);
	nb_frame_init(&b);
	CHECK(nb_frame_share(&b, &a) == NB_OK);
	CHECK(pthread_create(&thread, NULL, change, &there) == 0);
	change(&here);
	pthread_join(thread, NULL);
	CHECK(here.wrong == 0 && there.wrong == 0);
	nb_frame_clear(&a);
	CHECK(look(&b, NB_POS)[3] == 1.5);
	nb_frame_clear(&b);
}

static int released;
static void release(struct nb_owner *owner)
{
	(void)owner;
	released++;
}

static void test_owner(void)
{
	static double memory[3 * N];
	struct nb_owner owner = {.users = 1, .release = release};
	struct nb_frame a, b;
	make_frame(&a);
	nb_frame_init(&b);
	released = 0;
	memory[4] = 4;
	nb_column_borrow(nb_frame_field(&a, NB_POS), &owner, memory);
	CHECK(nb_frame_share(&b, &a) == NB_OK);
	CHECK(look(&b, NB_POS) == memory);
	nb_owner_release(&owner); /* its reader is closed */
	nb_frame_clear(&a);
	CHECK(released == 0 && look(&b, NB_POS)[4] == 4);
	nb_frame_clear(&b);
	CHECK(released == 1);
}

static void test_facts(void)
{
	struct nb_frame a, b;
	make_frame(&a);
	CHECK(!nb_frame_knows(&a, NB_KEYS_CURRENT));
	nb_frame_note(&a, NB_KEYS_CURRENT);
	CHECK(nb_frame_knows(&a, NB_KEYS_CURRENT) && !nb_frame_knows(&a, NB_TREE_SOUND));
	nb_frame_init(&b);
	CHECK(nb_frame_share(&b, &a) == NB_OK);
	CHECK(nb_frame_knows(&b, NB_KEYS_CURRENT));
	(void)numbers(&a, NB_MASS); /* not what it is about */
	CHECK(nb_frame_knows(&a, NB_KEYS_CURRENT));
	(void)numbers(&a, NB_POS);
	CHECK(!nb_frame_knows(&a, NB_KEYS_CURRENT) && nb_frame_knows(&b, NB_KEYS_CURRENT));
	CHECK(nb_frame_set_attribute(&b, "key_cube", "0,0,0,2") == NB_OK);
	CHECK(!nb_frame_knows(&b, NB_KEYS_CURRENT));
	CHECK(nb_frame_set_attribute(&b, "key_cube", "0,0,0,1") == NB_OK);
	CHECK(nb_frame_knows(&b, NB_KEYS_CURRENT));
	nb_frame_drop_field(&b, NB_KEY);
	CHECK(!nb_frame_knows(&b, NB_KEYS_CURRENT));

	/* the tree is about the masses, too */
	nb_frame_note(&a, NB_TREE_SOUND);
	CHECK(nb_frame_knows(&a, NB_TREE_SOUND));
	(void)numbers(&a, NB_MASS);
	CHECK(!nb_frame_knows(&a, NB_TREE_SOUND));
	nb_frame_clear(&a);
	nb_frame_clear(&b);
}

static void test_looked_at(void)
{
	struct nb_frame a;
	make_frame(&a);
	struct nb_column *pos = nb_frame_field(&a, NB_POS);
	CHECK(nb_column_first_bad(pos, NB_BAD_NONFINITE) == N);
	CHECK(pos->never == NB_BAD_NONFINITE);
	CHECK(nb_column_first_bad(pos, NB_BAD_NONFINITE | NB_BAD_NEGATIVE) == N);
	numbers(&a, NB_POS)[7] = NAN;
	CHECK(nb_column_first_bad(pos, NB_BAD_NONFINITE) == 2);
	nb_frame_clear(&a);
}

static void test_number_attributes(void)
{
	struct nb_frame a, b;
	double value;
	nb_frame_init(&a);
	nb_frame_init(&b);
	CHECK(nb_frame_set_attribute_f64(&a, "time", 0.1) == NB_OK);
	CHECK(nb_frame_set_attribute(&a, "dim", "3") == NB_OK);
	CHECK(nb_frame_share(&b, &a) == NB_OK);
	CHECK(strcmp(nb_frame_attribute(&a, "time"), "0.1") == 0);
	CHECK(nb_frame_set_attribute_f64(&a, "time", 1.0 / 3) == NB_OK);
	CHECK(nb_frame_attribute_f64(&a, "time", 0, &value) == NB_OK && value == 1.0 / 3);
	CHECK(strtod(nb_frame_attribute(&a, "time"), NULL) == 1.0 / 3);
	CHECK(strcmp(nb_frame_attribute(&b, "time"), "0.1") == 0);
	CHECK(nb_frame_attribute_f64(&a, "dim", 0, &value) == NB_OK && value == 3);
	CHECK(nb_frame_set_attribute(&a, "dim", "two") == NB_OK);
	CHECK(nb_frame_attribute_f64(&a, "dim", 0, &value) == NB_EINVAL);
	CHECK(nb_frame_set_attribute_f64(&a, "dim", INFINITY) == NB_OK);
	CHECK(nb_frame_attribute_f64(&a, "dim", 0, &value) == NB_EINVAL); /* as its text */

	CHECK(strcmp(a.attribute[0].key, "time") == 0);
	CHECK(nb_frame_set_last_attribute_f64(&a, "time", 5) == NB_OK);
	CHECK(a.nattribute == 2 && strcmp(a.attribute[1].key, "time") == 0);
	CHECK(strcmp(nb_frame_attribute_text(&a, 1), "5") == 0);
	CHECK(nb_frame_set_last_attribute_f64(&a, "step", 1) == NB_OK);
	CHECK(a.nattribute == 3 && strcmp(a.attribute[2].key, "step") == 0);

	/* a stream may repeat what should be there once: an old value must not come first */
	CHECK(nb_frame_add_attribute(&a, "time", "6") == NB_OK && nb_frame_add_attribute(&a, "time", "7") == NB_OK);
	CHECK(nb_frame_set_last_attribute_f64(&a, "time", 8) == NB_OK);
	CHECK(a.nattribute == 3 && strcmp(a.attribute[2].key, "time") == 0);
	CHECK(nb_frame_attribute_f64(&a, "time", 0, &value) == NB_OK && value == 8);
	nb_frame_clear(&a);
	nb_frame_clear(&b);
}

int main(void)
{
	test_sharing();
	test_threads();
	test_owner();
	test_facts();
	test_looked_at();
	test_number_attributes();
	return unit_end();
}
