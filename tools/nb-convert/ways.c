/* nb-convert: which format is read and which is written, and the options that go with them. */
#include "common/nearest.h"
#include "tools/filter/files.h"
#include "tools/nb-convert/convert.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How many formats stand before those that are written. */
static size_t only_read(void)
{
	size_t k = 0;
	while (!nb_format_number(k)->frame)
		k++;
	return k;
}

/* "princeton|csv|npy" of those that are written, or those that are read, which stand before the others */
static void list_formats(char *to, size_t size, int read)
{
	const struct nb_format *format;
	const size_t first = read ? 0 : only_read();
	size_t used = 0;
	for (size_t k = first; (format = nb_format_number(k)) != NULL && used < size && (!read || format->open); k++)
		used += (size_t)snprintf(to + used, size - used, "%s%s", k > first ? "|" : "", format->name);
}

void nb_convert_list_from(char *to, size_t size)
{
	const size_t used = (size_t)snprintf(to, size, "auto|");
	list_formats(to + used, size - used, 1);
}

void nb_convert_list_to(char *to, size_t size)
{
	list_formats(to, size, 0);
}

/* Options of an import alone. */
static const char *part_option(const struct convert *opt)
{
	return opt->fields			      ? "fields"
	       : opt->keep_derived		      ? "keep-derived"
	       : opt->subset.one_file		      ? "one-file"
	       : opt->omega0 > 0		      ? "omega0"
	       : opt->precision != NB_CONVERT_AS_READ ? "precision"
	       : opt->rows			      ? "rows"
	       : opt->species			      ? "species"
	       : opt->sphere			      ? "sphere"
						      : NULL;
}

static int has_trait(const struct nb_format *format, unsigned trait)
{
	return format && (format->traits & trait) != 0;
}

/* Options that only one way, or a table, has. */
static void check_options(struct nb_run *run, const struct convert *opt)
{
	const int from_table = has_trait(opt->reads, NB_TABLE), to_table = has_trait(opt->writes, NB_TABLE);
	if (!opt->imports && part_option(opt))
		nb_die(NB_EXIT_USAGE, "option '--%s' needs '--from'", part_option(opt));
	if (opt->files && !has_trait(opt->writes, NB_MANY_FILES))
		nb_die(NB_EXIT_USAGE, "option '--files' needs '--to gadget'");
	if (opt->files > 1 && !opt->path)
		nb_die(NB_EXIT_USAGE, "option '--files' needs '-o FILE'");
	if (!opt->imports && (nb_given(run, &opt->G) || run->common.no_history))
		nb_die(NB_EXIT_USAGE, "option '%s' needs '--from'", nb_given(run, &opt->G) ? "--G" : "--no-history");
	if (opt->safe && !from_table && !to_table)
		nb_die(NB_EXIT_USAGE, "option '--safe-cells' needs '--from csv' or '--to csv'");
	if (opt->separator && !from_table && !to_table)
		nb_die(NB_EXIT_USAGE, "option '--separator' needs '--from csv' or '--to csv'");
	if (opt->columns && !from_table)
		nb_die(NB_EXIT_USAGE, "option '--columns' needs '--from csv'");
	if (opt->plain && !to_table)
		nb_die(NB_EXIT_USAGE, "option '--no-comments' needs '--to csv'");
}

static const struct nb_format *named(const char *option, const char *word, int read)
{
	char list[NB_OPTION_TEXT];
	const struct nb_format *format = nb_format_named(word, read);
	(read ? nb_convert_list_from : nb_convert_list_to)(list, sizeof list);
	if (!format)
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (%swant %s)", option, word,
			nb_nearest_in(word, strlen(word), list, "|").hint, list);
	return format;
}

/* A file without --from: whether it is imported, as its contents say, or is a stream.  Where the output is not named,
 * only a stream is taken: a command that means the operand as its output would otherwise read an old one. */
static int is_foreign(const struct nb_run *run, const struct convert *opt, const char *file)
{
	const int stream = nb_file_may_be_stream(file);
	if (!opt->writes && run->is_program && nb_file_is_stream(file))
		nb_die(NB_EXIT_USAGE, "'%s' is a particle stream already (want '--to FORMAT', or '-o FILE.csv')", file);
	if (opt->writes && !run->common.output && !stream)
		nb_die(NB_EXIT_USAGE,
			"'%s' is no particle stream, and FILE is the input (want '--to %s -o %s' to write it, "
			"or '--from auto' to read it)",
			file, opt->to, file);
	return !opt->writes || (!stream && nb_format_of_file(file));
}

void nb_convert_choose_ways(struct nb_run *run, struct convert *opt)
{
	const char *file = run->noperand && strcmp(run->operand[0], "-") != 0 ? run->operand[0] : NULL;
	opt->reads = opt->from && strcmp(opt->from, "auto") != 0 ? named("from", opt->from, 1) : NULL;
	if (opt->to)
		opt->writes = named("to", opt->to, 0);
	else if (nb_output_is_file(run))
		opt->writes = nb_format_of_suffix(run->common.output);
	if (!opt->from && !opt->writes && !file && isatty(run->files.in))
		nb_die(NB_EXIT_USAGE, "give '--from FORMAT', '--to FORMAT' or a FILE (see '%s --help')", nb_program());
	opt->imports = opt->from || (!file && !opt->writes) || (file && is_foreign(run, opt, file));
	if (opt->imports)
		opt->source = file;
	else if (run->noperand)
		run->from = (struct nb_operands){.n = 1, .path = run->operand};
	if (opt->writes && nb_output_is_file(run)) {
		opt->path = run->common.output;
		run->common.output = NULL;
	}
	check_options(run, opt);
	if (opt->writes && !(opt->writes->traits & NB_TEXT)) {
		char why[128];
		snprintf(why, sizeof why, "%s is binary (give '-o FILE')", opt->writes->about);
		nb_output_refuse_terminal(opt->path, why);
	}
}
