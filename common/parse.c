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

/* Digits with a point somewhere: the number without the point, and how many of its digits are behind it.  Zeros at the
 * end of a fraction do not count. */
static enum nb_parse take_digits(const char **text, uint64_t *number, int *behind)
{
	const char *c = *text, *point = NULL, *last = NULL; /* the last digit that counts */
	if (*c < '0' || *c > '9')
		return NB_PARSE_INVALID;
	for (; (*c >= '0' && *c <= '9') || (*c == '.' && !point); c++) {
		if (*c == '.')
			point = c;
		else if (!point || *c != '0')
			last = c;
	}
	*number = 0;
	*behind = point && last > point ? (int)(last - point) : 0;
	for (const char *d = *text; d <= last; d++) {
		const uint64_t digit = (uint64_t)(*d - '0');
		if (d == point)
			continue;
		if (*number > (UINT64_MAX - digit) / 10)
			return NB_PARSE_TOO_LARGE;
		*number = 10 * *number + digit;
	}
	*text = c;
	return NB_PARSE_OK;
}

/* e6, e+6, e-3; none is 0.  Beyond 99 no count is in range anyway. */
static enum nb_parse take_exponent(const char **text, int *exponent)
{
	const char *c = *text;
	*exponent = 0;
	if (*c != 'e' && *c != 'E')
		return NB_PARSE_OK;
	const int negative = *++c == '-';
	c += *c == '-' || *c == '+';
	if (*c < '0' || *c > '9')
		return NB_PARSE_INVALID;
	for (; *c >= '0' && *c <= '9'; c++)
		*exponent = *exponent < 99 ? 10 * *exponent + (*c - '0') : 99;
	if (negative)
		*exponent = -*exponent;
	*text = c;
	return NB_PARSE_OK;
}

/* What is left must be a suffix: its power of 10, and its power of 2. */
static enum nb_parse take_suffix(const char *text, int *decimal, int *binary)
{
	static const char letter[] = "kMGT";
	*decimal = *binary = 0;
	if (*text == '\0')
		return NB_PARSE_OK;
	const char *at = *text == 'K' ? letter : strchr(letter, *text);
	if (!at || (text[1] && strcmp(text + 1, "i") != 0))
		return NB_PARSE_INVALID;
	const int step = (int)(at - letter) + 1;
	*decimal = text[1] ? 0 : 3 * step;
	*binary = text[1] ? 10 * step : 0;
	return NB_PARSE_OK;
}

enum nb_parse nb_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value;
	int behind, exponent, decimal, binary;
	if (*text == '-') {
		uint64_t positive;
		const enum nb_parse why = nb_parse_count(text + 1, 0, UINT64_MAX, &positive);
		return why == NB_PARSE_OK && positive > 0 ? NB_PARSE_TOO_SMALL : NB_PARSE_INVALID;
	}
	enum nb_parse why = take_digits(&text, &value, &behind);
	if (why == NB_PARSE_OK)
		why = take_exponent(&text, &exponent);
	if (why == NB_PARSE_OK)
		why = take_suffix(text, &decimal, &binary);
	if (why != NB_PARSE_OK)
		return why;
	if (binary && value > UINT64_MAX >> binary)
		return NB_PARSE_TOO_LARGE;
	value <<= binary;
	for (int power = exponent + decimal - behind; value && power; power += power < 0 ? 1 : -1) {
		if (power < 0 && value % 10)
			return NB_PARSE_INVALID;
		if (power > 0 && value > UINT64_MAX / 10)
			return NB_PARSE_TOO_LARGE;
		value = power < 0 ? value / 10 : value * 10;
	}
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

/* ---- ranges ------------------------------------------------------------------------------------- */

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

const char *nb_range_gap(const char *at, const char *end)
{
	for (const char *c = at; c < end; c++)
		if (*c == ':' || (*c == '-' && c > at && (is_digit(c[-1]) || c[-1] == '.')))
			return c;
	return end;
}

/* Of what is left out, nothing. */
static enum nb_parse take_end(const char *at, const char *end, double *out)
{
	char word[64];
	if (at == end)
		return NB_PARSE_OK;
	if ((size_t)(end - at) >= sizeof word)
		return NB_PARSE_INVALID;
	memcpy(word, at, (size_t)(end - at));
	word[end - at] = '\0';
	return nb_parse_f64(word, out);
}

enum nb_parse nb_parse_range(const char *at, const char *end, double range[2])
{
	const char *comma = memchr(at, ',', (size_t)(end - at)), *gap = comma ? comma : nb_range_gap(at, end);
	if (gap == end)
		return NB_PARSE_INVALID;
	const enum nb_parse why = take_end(at, gap, &range[0]);
	return why ? why : take_end(gap + 1, end, &range[1]);
}

enum nb_parse nb_parse_species(const char *text, unsigned char out[256], size_t *count)
{
	unsigned char seen[256] = {0};
	*count = 0;
	for (;;) {
		const char *end = text + strcspn(text, ","), *gap = nb_range_gap(text, end);
		double range[2] = {-1, -1};
		enum nb_parse why = gap < end ? nb_parse_range(text, end, range) : take_end(text, end, &range[0]);
		if (gap == end)
			range[1] = range[0];
		for (int k = 0; k < 2 && !why; k++)
			if (!(range[k] >= 0 && range[k] < 256 && range[k] == floor(range[k])) || range[0] > range[1])
				why = NB_PARSE_INVALID;
		for (int s = (int)range[0]; !why && s <= (int)range[1]; s++) {
			why = seen[s] ? NB_PARSE_INVALID : NB_PARSE_OK;
			seen[s] = 1;
			if (!why)
				out[(*count)++] = (unsigned char)s;
		}
		if (why || !*end)
			return why;
		text = end + 1;
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
