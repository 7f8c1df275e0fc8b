/* faults.h - the calls that can be made to fail, and the errors, by their names. */
#ifndef NB_TEST_FAULTS_H
#define NB_TEST_FAULTS_H

#include <errno.h>
#include <string.h>

enum call_kind {
#define CALL(type, name, parameters, arguments, failure, errors) CALL_##name,
#define CALL_VARIADIC(name, errors) CALL_##name,
#include "tests/torture/calls.def"
#undef CALL
#undef CALL_VARIADIC
	CALL_KINDS
};

static const struct {
	const char *name, *errors;
} calls[] = {
#define CALL(type, name, parameters, arguments, failure, errors) {#name, errors},
#define CALL_VARIADIC(name, errors) {#name, errors},
#include "tests/torture/calls.def"
#undef CALL
#undef CALL_VARIADIC
};

/* -1: no such call */
static inline int call_of(const char *name)
{
	for (int k = 0; k < CALL_KINDS; k++)
		if (strcmp(calls[k].name, name) == 0)
			return k;
	return -1;
}

/* EIO for a name that is not here */
static inline int error_of(const char *name)
{
#define ERROR(e)      \
	{             \
#e, e \
	}
	static const struct {
		const char *name;
		int number;
	} errors[] = {ERROR(EACCES), ERROR(EADDRINUSE), ERROR(EAGAIN), ERROR(ECHILD), ERROR(ECONNABORTED),
		ERROR(ECONNREFUSED), ERROR(EINTR), ERROR(EINVAL), ERROR(EMFILE), ERROR(ENAMETOOLONG), ERROR(ENFILE),
		ERROR(ENODEV), ERROR(ENOENT), ERROR(ENOMEM), ERROR(ENOSPC), ERROR(ENOSYS), ERROR(EPERM), ERROR(ESPIPE),
		ERROR(ESRCH), ERROR(ETIMEDOUT)};
#undef ERROR
	for (size_t k = 0; k < sizeof errors / sizeof *errors; k++)
		if (strcmp(errors[k].name, name) == 0)
			return errors[k].number;
	return EIO;
}

#endif
