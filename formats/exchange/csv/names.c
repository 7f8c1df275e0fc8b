/* Names and cells of csv text. */
#include "common/decimal.h"
#include "formats/exchange/csv/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int nb_csv_component(int field, uint32_t k, char name[NB_NAME_SIZE + 1], int *flat)
{
	const char *word = nb_field_info[field].csv;
	for (; k > 0 && *word; k--) {
		word += strcspn(word, " ");
		word += *word == ' ';
	}
	*flat = *word == '[';
	word += *flat;
	const size_t length = strcspn(word, " ]");
	snprintf(name, NB_NAME_SIZE + 1, "%.*s", (int)length, word);
	return length > 0;
}

void nb_csv_name(const struct nb_column *column, uint32_t k, char name[NB_CSV_NAME + 1], int *flat)
{
	char word[NB_NAME_SIZE + 1];
	*flat = 0;
	if (column->field < NB_NFIELD && column->ncomp == nb_field_info[column->field].ncomp &&
		nb_csv_component((int)column->field, k, word, flat))
		snprintf(name, NB_CSV_NAME + 1, "%s", word);
	else if (column->ncomp == 1)
		snprintf(name, NB_CSV_NAME + 1, "%s", column->name);
	else
		snprintf(name, NB_CSV_NAME + 1, "%s_%" PRIu32, column->name, k);
}

int nb_csv_known(const char *name, char known[NB_NAME_SIZE + 1])
{
	int flat;
	for (int f = 0; f < NB_NFIELD; f++)
		for (uint32_t k = 0; nb_csv_component(f, k, known, &flat); k++)
			if (strcasecmp(name, known) == 0)
				return 1;
	strcpy(known, strcasecmp(name, "frame") == 0 ? "frame" : "time");
	return strcasecmp(name, known) == 0;
}

/* Only what cannot mean anything else: t, r, px or phi can. */
static const char *const spellings[][2] = {
	{"id", "ids"},
	{"id", "particleid"},
	{"id", "particleids"},
	{"mass", "m"},
	{"mass", "masses"},
	{"x", "posx"},
	{"y", "posy"},
	{"z", "posz"},
	{"x", "pos_x"},
	{"y", "pos_y"},
	{"z", "pos_z"},
	{"vx", "velx"},
	{"vy", "vely"},
	{"vz", "velz"},
	{"vx", "vel_x"},
	{"vy", "vel_y"},
	{"vz", "vel_z"},
	{"vx", "v_x"},
	{"vy", "v_y"},
	{"vz", "v_z"},
	{"ax", "acc_x"},
	{"ay", "acc_y"},
	{"az", "acc_z"},
	{"ax", "a_x"},
	{"ay", "a_y"},
	{"az", "a_z"},
	{"pot", "potential"},
};

int nb_csv_meant(const char *name, char known[NB_NAME_SIZE + 1], char unit[NB_UNIT_SIZE + 1])
{
	char bare[NB_CSV_NAME + 1];
	const size_t length = strlen(name), bracket = strcspn(name, "[(");
	size_t end = bracket;
	*unit = '\0';
	if (bracket < length && name[length - 1] != (name[bracket] == '[' ? ']' : ')'))
		return 0;
	while (end > 0 && (name[end - 1] == ' ' || name[end - 1] == '_'))
		end--;
	if (end == 0 || end > NB_CSV_NAME)
		return 0;
	snprintf(bare, sizeof bare, "%.*s", (int)end, name);
	int is_meant = nb_csv_known(bare, known);
	for (size_t k = 0; !is_meant && k < sizeof spellings / sizeof *spellings; k++) {
		is_meant = strcasecmp(bare, spellings[k][1]) == 0;
		if (is_meant)
			strcpy(known, spellings[k][0]);
	}
	if (!is_meant || bracket == length)
		return is_meant;
	if (length - bracket - 2 > NB_UNIT_SIZE)
		return NB_ELIMIT;
	snprintf(unit, NB_UNIT_SIZE + 1, "%.*s", (int)(length - bracket - 2), name + bracket + 1);
	return 1;
}

/* ---- cells -------------------------------------------------------------------------------------- */

char nb_csv_separator(const char *line)
{
	static const char separators[] = ",\t;";
	size_t best = sizeof separators - 1;
	int quoted = 0;
	for (; *line && best; line++) {
		quoted ^= *line == '"';
		const char *at = quoted ? NULL : strchr(separators, *line);
		if (at && (size_t)(at - separators) < best)
			best = (size_t)(at - separators);
	}
	return separators[best] ? separators[best] : ' ';
}

char *nb_csv_skip(char separator, const char *text)
{
	while (*text == ' ' || (*text >= '\t' && *text <= '\r' && *text != separator))
		text++;
	return (char *)text;
}

static int is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Behind the white space after a cell: where the next one begins. */
static char *next_word(char *p)
{
	p = nb_text_skip(p);
	return *p ? p : NULL;
}

static char *take_quoted(char separator, char *p, char **text, int *bad)
{
	char *to = ++p;
	*text = p;
	for (; *p && (*p != '"' || p[1] == '"'); p++) {
		p += *p == '"';
		*to++ = *p;
	}
	*bad = *p != '"';
	p += *p == '"';
	const char after = *p;
	*to = '\0';
	if (separator == ' ') {
		*bad |= after && !is_blank(after);
		return *bad ? NULL : next_word(p);
	}
	p = nb_csv_skip(separator, p);
	*bad |= *p != separator && *p != '\0';
	return *p == separator ? p + 1 : NULL;
}

char *nb_csv_cell(char separator, char *p, char **text, int *quoted, int *bad)
{
	p = nb_csv_skip(separator, p);
	*quoted = *p == '"';
	*bad = 0;
	if (*quoted)
		return take_quoted(separator, p, text, bad);
	*text = p;
	if (separator == ' ') {
		while (*p && !is_blank(*p))
			p++;
		char *next = *p ? p + 1 : p;
		*p = '\0';
		return next_word(next);
	}
	char *found = strchr(p, separator), *end = found ? found : p + strlen(p);
	while (end > p && is_blank(end[-1]))
		end--;
	*end = '\0';
	return found ? found + 1 : NULL;
}

int nb_csv_number(const char *text, double *x)
{
	const char *end = nb_decimal_read(text, x);
	if (end)
		return *end ? -1 : 0;
	const char *word = text + (*text == '-' || *text == '+');
	if (!*text || strcasecmp(word, "nan") == 0 || strcasecmp(word, "na") == 0)
		*x = *text == '-' ? -NAN : NAN;
	else if (strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0)
		*x = *text == '-' ? -INFINITY : INFINITY;
	else
		return -1;
	return 0;
}
