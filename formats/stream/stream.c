/* What reader and writer of the particle stream share. */
#include "formats/stream/stream_internal.h"

#include <fcntl.h>
#include <stdarg.h>

enum nb_answer nb_stream_fail(char *error, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(error, NB_ERROR_SIZE, format, ap);
	va_end(ap);
	return NB_ERROR;
}

void nb_stream_widen_pipe(int fd)
{
#ifdef F_SETPIPE_SZ
	enum { PIPE_SIZE = 512 << 10 }; /* half of a core's L2 */
	int size = fcntl(fd, F_GETPIPE_SZ);
	if (size > 0 && size < PIPE_SIZE)
		(void)fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
#else
	(void)fd;
#endif
}
