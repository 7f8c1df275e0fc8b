/* Lists of devices: what they name, and what is no list. */
#include "kernels/backend/backend.h"

#include "tests/unit/unit.h"

static struct nb_device_list read_list(const char *name)
{
	struct nb_device_list list = {-1, {0}};
	char why[NB_BACKEND_WHY];
	CHECK(nb_device_list_read(name, &list, why, sizeof why) == NB_OK);
	return list;
}

static int refuses(const char *name, const char *text)
{
	struct nb_device_list list;
	char why[NB_BACKEND_WHY] = "";
	return nb_device_list_read(name, &list, why, sizeof why) == NB_EINVAL && strstr(why, text) != NULL;
}

static void names(void)
{
	struct nb_device_list list = read_list("cuda");
	CHECK(list.n == 1 && list.id[0] == 0);
	list = read_list("cuda:7");
	CHECK(list.n == 1 && list.id[0] == 7);
	list = read_list("cuda:3,0,12,3");
	CHECK(list.n == 4 && list.id[0] == 3 && list.id[1] == 0 && list.id[2] == 12 && list.id[3] == 3);
	list = read_list("cuda:6,2-4,0-0");
	CHECK(list.n == 5 && list.id[0] == 6 && list.id[1] == 2 && list.id[2] == 3 && list.id[3] == 4 &&
		list.id[4] == 0);
	CHECK(read_list("cuda:0-15").n == NB_DEVICES_MOST && read_list("cuda:2147483647-2147483647").n == 1);
	CHECK(read_list("cuda:all").n == 0);
	CHECK(read_list("cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15").n == NB_DEVICES_MOST);
}

static void no_names(void)
{
	static const char *const wrong[] = {"cuda:", "cuda:x", "cuda:0,", "cuda:,0", "cuda:0,,1", "cuda:-1", "cuda:+1",
		"cuda: 1", "cuda:1 ", "cuda:0x1", "cuda:2147483648", "cuda:00000000000000001", "cuda:0;1", "cuda:0,all",
		"cuda:3-0", "cuda:0-", "cuda:0-1-2", "cuda:0--1", "cuda:all-3"};
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
		CHECK(refuses(wrong[k], "is not the number of a device"));
	CHECK(refuses("cuda:0,,1", "'' is") && refuses("cuda:0,1x,2", "'1x' is"));
	CHECK(refuses("cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", "more than 16"));
	CHECK(refuses("cuda:0-16", "more than 16") && refuses("cuda:0,0-15", "more than 16") &&
		refuses("cuda:0-2147483647", "more than 16"));
	CHECK(refuses("", "want auto") && refuses("cud", "want auto") && refuses("cudas", "want auto") &&
		refuses("CUDA:0", "want auto"));
}

static void equal(void)
{
	static const char *const name[] = {"cuda:0", "cuda:1", "cuda:0,1", "cuda:1,0", "cuda:0,0", "cuda:all"};
	const int n = sizeof name / sizeof *name;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			const struct nb_device_list a = read_list(name[i]), b = read_list(name[j]);
			CHECK(nb_device_list_equal(&a, &b) == (i == j));
		}
	const struct nb_device_list a = read_list("cuda"), b = read_list("cuda:0");
	CHECK(nb_device_list_equal(&a, &b));
}

int main(void)
{
	const struct nb_backend *cpu;
	char why[NB_BACKEND_WHY], line[NB_BACKEND_REPORT];
	names();
	no_names();
	equal();
	CHECK(nb_backend_choose("cpu", &cpu, why) == NB_OK);
	CHECK(nb_backend_report(cpu, 0, line) == NB_EINVAL);
	return unit_end();
}
