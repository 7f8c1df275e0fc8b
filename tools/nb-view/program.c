/* The server and the page, as data; lists.h says whether there is a server. */
#include "common/held.h"
#include "tools/nb-view/view.h"

NB_HELD_PROGRAM(nb_view_page, NB_VIEW_PAGE);

#ifdef NB_MICROHTTPD

NB_HELD_PROGRAM(nb_view_server, NB_VIEW_SERVER);

#else

const unsigned char nb_view_server[] = {0};
const uint64_t nb_view_server_size = 0;

#endif
