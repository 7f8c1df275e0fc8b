/* status.h - what a library function returns: 0, or why it could not. */
#ifndef NB_STATUS_H
#define NB_STATUS_H

#if defined(__GNUC__)
#define NB_MUST_CHECK __attribute__((warn_unused_result))
#else
#define NB_MUST_CHECK
#endif

/* Around declarations of a header that C++, and so CUDA, reads too: functions have the names that C gives them. */
#ifdef __cplusplus
#define NB_C_BEGIN extern "C" {
#define NB_C_END }
#else
#define NB_C_BEGIN
#define NB_C_END
#endif

NB_C_BEGIN

enum nb_status {
	NB_OK = 0,
	NB_ENOMEM,	/* memory exhausted, on the host or on the device */
	NB_ENODEV,	/* no usable device */
	NB_EDEVICE,	/* the device failed; nb_backend_error() says how */
	NB_EINVAL,	/* an argument out of its documented range */
	NB_ENONFINITE,	/* a position, velocity or mass is NaN or infinite */
	NB_ELIMIT,	/* a documented size limit exceeded */
	NB_EFAR,	/* bodies so far off that distances between others are out of range beside them */
	NB_EORDER,	/* bodies are not sorted */
	NB_EUNSUPPORTED /* a combination this backend does not offer */
};

/* A lower-case phrase without full stop, e.g. "out of memory". Never NULL. */
const char *nb_status_text(int status);

NB_C_END
#endif
