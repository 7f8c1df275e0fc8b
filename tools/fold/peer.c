#include "tools/fold/peer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int nb_fold_is_off(void)
{
	const char *value = getenv("NB_FOLD");
	return value && strcmp(value, "off") == 0;
}

pid_t nb_peer_of(int link)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(link, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != geteuid() || peer.gid != getegid())
		return -1;
	return peer.pid > 0 ? peer.pid : -1;
}
