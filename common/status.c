#include "common/status.h"

const char *nb_status_text(int status)
{
	switch (status) {
	case NB_OK: return "success";
	case NB_ENOMEM: return "out of memory";
	case NB_ENODEV: return "no usable device";
	case NB_EDEVICE: return "the device failed";
	case NB_EINVAL: return "invalid argument";
	case NB_ENONFINITE: return "value is not finite";
	case NB_ELIMIT: return "size limit exceeded";
	case NB_EFAR: return "bodies lie so far off that distances between the others are lost beside theirs";
	case NB_EORDER: return "bodies are not in Z-order";
	case NB_EUNSUPPORTED: return "not offered by this backend";
	}
	return "unknown status";
}
