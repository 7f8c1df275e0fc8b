/* Columns, and components of columns, by the names that expressions have for them. */
#include "common/parse.h"
#include "tools/filter/expression.h"

#include <stdio.h>
#include <string.h>

int nb_item_of(const char *dtype, enum nb_expr_item *item)
{
	static const struct {
		const char *dtype;
		enum nb_expr_item item;
	} known[] = {
		{"<f8", NB_ITEM_F64},
		{"<f4", NB_ITEM_F32},
		{"<u8", NB_ITEM_U64},
		{"<u4", NB_ITEM_U32},
		{"<u2", NB_ITEM_U16},
		{"|u1", NB_ITEM_U8},
		{"<i8", NB_ITEM_I64},
		{"<i4", NB_ITEM_I32},
		{"<i2", NB_ITEM_I16},
		{"|i1", NB_ITEM_I8},
	};
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (strcmp(dtype, known[k].dtype) == 0) {
			*item = known[k].item;
			return 1;
		}
	*item = NB_ITEM_TEXT;
	return dtype[1] == 'S';
}

int nb_component_find(const char *name, enum nb_field *field, uint32_t *component)
{
	const size_t length = strlen(name);
	for (int f = 0; f < NB_NFIELD; f++) {
		const char *word = nb_field_info[f].csv;
		for (uint32_t k = 0; *word; k++) {
			word += *word == '[';
			const size_t n = strcspn(word, " ]");
			if (n == length && strncmp(word, name, n) == 0) {
				*field = (enum nb_field)f;
				*component = k;
				return 1;
			}
			word += n;
			word += strspn(word, " ]");
		}
	}
	return 0;
}

/* NAME_2 of a column NAME with several components. */
static struct nb_column *numbered(const struct nb_frame *frame, const char *name, uint32_t *component)
{
	char head[NB_EXPR_NAME];
	uint64_t number;
	const char *line = strrchr(name, '_');
	if (!line || nb_parse_u64(line + 1, 0, UINT32_MAX, &number) != NB_PARSE_OK)
		return NULL;
	snprintf(head, sizeof head, "%.*s", (int)(line - name), name);
	struct nb_column *column = nb_frame_find(frame, head);
	*component = (uint32_t)number;
	return column && column->ncomp > 1 && number < column->ncomp ? column : NULL;
}

struct nb_column *nb_named_column(const struct nb_frame *frame, const char *name, uint32_t *first, uint32_t *count)
{
	struct nb_column *column = nb_frame_find(frame, name);
	enum nb_field field;
	*first = 0;
	*count = column ? column->ncomp : 1;
	if (column)
		return column;
	if (!nb_component_find(name, &field, first))
		return numbered(frame, name, first);
	column = nb_frame_field(frame, field);
	return column && *first < column->ncomp ? column : NULL;
}
