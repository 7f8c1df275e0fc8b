/* Bodies spread over the devices of a team, each with a thread of this process: the bytes of one device.  Where there
 * are fewer than seven, some do the work of several.  Exit 77 where there is none. spread_cuda [N]    for slow
 * checkers: n at most N */
#define NB_UNIT_TEAM
#include "tests/unit/domain/domain_cuda.cu"
