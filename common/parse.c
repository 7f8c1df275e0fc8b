#include "common/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum nb_parse nb_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	if (*text < '0' || *text > '9') {
		int64_t negative;
		return *text == '-' && nb_parse_i64(text, INT64_MIN, -1, &negative) == NB_PARSE_OK ? NB_PARSE_TOO_SMALL
												   : NB_PARSE_INVALID;
	}
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (*end)
		return NB_PARSE_INVALID;
	if (errno == ERANGE || value > max)
		return NB_PARSE_TOO_LARGE;
	if (value < min)
		return NB_PARSE_TOO_SMALL;
	*out = value;
	return NB_PARSE_OK;
}

enum nb_parse nb_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out)
{
	const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
	if (*digits < '0' || *digits > '9')
		return NB_PARSE_INVALID;
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (*end)
		return NB_PARSE_INVALID;
	if (errno == ERANGE)
		return value < 0 ? NB_PARSE_TOO_SMALL : NB_PARSE_TOO_LARGE;
	if (value < min)
		return NB_PARSE_TOO_SMALL;
	if (value > max)
		return NB_PARSE_TOO_LARGE;
	*out = value;
	return NB_PARSE_OK;
}

enum nb_parse nb_parse_f64(const char *text, double *out)
{
	/* refuse what strtod takes and people do not mean: leading space, "nan", "inf" */
	const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
	if ((*digits < '0' || *digits > '9') && *digits != '.')
		return NB_PARSE_INVALID;
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || *end)
		return NB_PARSE_INVALID;
	if (!isfinite(value))
		return value < 0 ? NB_PARSE_TOO_SMALL : NB_PARSE_TOO_LARGE;
	*out = value;
	return NB_PARSE_OK;
}

enum nb_parse nb_parse_f64_list(const char *text, size_t max, double *out, size_t *count)
{
	char item[64];
	*count = 0;
	for (;;) {
		size_t length = strcspn(text, ",");
		if (length == 0 || length >= sizeof item)
			return NB_PARSE_INVALID;
		if (*count == max)
			return NB_PARSE_TOO_LARGE;
		memcpy(item, text, length);
		item[length] = '\0';
		enum nb_parse why = nb_parse_f64(item, &out[*count]);
		if (why != NB_PARSE_OK)
			return why;
		++*count;
		if (text[length] == '\0')
			return NB_PARSE_OK;
		text += length + 1;
	}
}

const char *nb_format_f64(double x, char *buffer)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buffer, NB_F64_TEXT, "%.*g", digits, x);
		if (strtod(buffer, NULL) == x)
			break;
	}
	return buffer;
}
