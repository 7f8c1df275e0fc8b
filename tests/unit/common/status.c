/* Each status has a text of its own. */
#include "common/status.h"
#include "tests/unit/unit.h"

int main(void)
{
	static const int status[] = {NB_OK, NB_ENOMEM, NB_ENODEV, NB_EDEVICE, NB_EINVAL, NB_ENONFINITE, NB_ELIMIT,
		NB_EORDER, NB_EUNSUPPORTED, -1000};
	enum { N = sizeof status / sizeof *status };
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			CHECK((strcmp(nb_status_text(status[i]), nb_status_text(status[j])) == 0) == (i == j));
	CHECK(strcmp(nb_status_text(NB_OK), "success") == 0);
	CHECK(strcmp(nb_status_text(-1000), "unknown status") == 0);
	return unit_end();
}
