#include "kernels/backend/backend.h"
#include "kernels/domain/domain.h"
#include "kernels/ranks/ranks.h"

int nb_backend_serve(void)
{
	nb_backend_offer();
	for (;;) {
		int status = NB_EINVAL;
		switch (nb_ranks_wait()) {
		case NB_RANKS_END: return NB_OK;
		case NB_RANKS_DIRECT: status = nb_gravity_direct_serve(); break;
		case NB_RANKS_TREE: status = nb_gravity_tree_serve(); break;
		case NB_RANKS_DOMAIN: status = nb_domain_serve(); break;
		}
		if (status)
			return status;
	}
}
