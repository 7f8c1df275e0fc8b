/* nb-convert --to: frames of a stream into a file of another format, with a warning of what is lost. */
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/nb-convert/convert.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- what is lost ------------------------------------------------------------------------------- */

static void warn_of_columns(const struct nb_export *out, const struct nb_frame *frame)
{
	const struct nb_format *format = out->format;
	char list[400];
	size_t used = 0;
	for (size_t c = 0; c < frame->ncolumn && used < sizeof list; c++) {
		struct nb_column *column = &frame->column[c];
		if (column->table == NB_PARTICLE && !format->holds(out, frame, column))
			used += (size_t)snprintf(
				list + used, sizeof list - used, "%s%s", used ? ", " : "", column->name);
	}
	if (used)
		nb_warn("%s cannot represent these columns, which are left out: %s", format->about, list);
}

/* Without its box a frame would come back as an open system, without the others in another universe. */
static void warn_of_space(const struct nb_format *format, const struct nb_frame *frame)
{
	static const struct {
		const char *key;
		double usual;
	} rest[] = {{"omega_r", 0}, {"w0", -1}, {"wa", 0}};
	const int universe = nb_is_cosmological(frame), own = universe && (format->traits & NB_OWN_UNIVERSE),
		  held = universe && (format->traits & (NB_HOLDS_UNIVERSE | NB_OWN_UNIVERSE));
	if (own)
		nb_warn("%s of an expanding universe has a box of edge 1, G = 1 and H0 = sqrt(8 pi / 3), and says "
			"nothing "
			"of omega0=%s (give '--omega0' when it is read back)",
			format->about, nb_frame_attribute(frame, "omega0"));
	if (nb_box_of(frame) > 0 && !held)
		nb_warn("%s cannot represent attribute box=%s, of a periodic box", format->about,
			nb_frame_attribute(frame, "box"));
	for (size_t k = 0; held && k < sizeof rest / sizeof *rest; k++)
		if (nb_require_attribute(frame, rest[k].key, rest[k].usual) != rest[k].usual)
			nb_warn("%s cannot represent attribute %s=%s, of the expansion", format->about, rest[k].key,
				nb_frame_attribute(frame, rest[k].key));
	/* without curvature it follows from the others; files have rounded numbers */
	const double flat = 1 - nb_require_attribute(frame, "omega0", 0) - nb_require_attribute(frame, "omega_r", 0);
	if (own && fabs(nb_require_attribute(frame, "omega_lambda", flat) - flat) > 1e-6)
		nb_warn("%s cannot represent attribute omega_lambda=%s, of the expansion", format->about,
			nb_frame_attribute(frame, "omega_lambda"));
}

/* Warns of every attribute that the format cannot represent. */
static void warn_of_losses(const struct nb_export *out, const struct nb_frame *frame)
{
	const struct nb_format *format = out->format;
	const unsigned traits = (format->traits & NB_TABLE) && !out->plain ? 0 : format->traits;
	const char *kick = nb_frame_attribute(frame, "pending_kick");
	const char *softening = nb_frame_attribute(frame, "softening");
	const double G = nb_require_attribute(frame, "G", 1), time = nb_require_attribute(frame, "time", 0);
	if ((traits & NB_LOSES_G) && G != format->G)
		nb_warn("%s cannot represent attribute G=%s%s", format->about, nb_frame_attribute(frame, "G"),
			format->open ? " (give '--G' when it is read back)" : "");
	if ((traits & NB_FIXED_G) && G != format->G && !((traits & NB_OWN_UNIVERSE) && nb_is_cosmological(frame)))
		nb_warn("attribute G is %.17g, but readers of %s assume %g", G, format->about, format->G);
	if ((traits & NB_LOSES_KICK) && kick)
		nb_warn("%s cannot represent attribute pending_kick=%s: the velocities lag behind the positions",
			format->about, kick);
	if ((traits & NB_LOSES_KICK) && !(traits & NB_HOLDS_SOFTENING) && softening &&
		nb_require_attribute(frame, "softening", 0) != 0) /* 0 is what a reader takes without it */
		nb_warn("%s cannot represent attribute softening=%s", format->about, softening);
	if (traits & NB_LOSES_KICK)
		warn_of_space(format, frame);
	if ((traits & (out->several ? NB_LOSES_TIME : NB_LOSES_TIME | NB_LOSES_TIME_OF_ONE)) && time != 0)
		nb_warn("%s cannot represent attribute time=%s", format->about, nb_frame_attribute(frame, "time"));
}

/* ---- export ------------------------------------------------------------------------------------- */

/* Whether a file could not be opened, rather than written; of several files the name is that of none. */
static int is_of_name(int error)
{
	return error == EISDIR || error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP ||
	       error == ENAMETOOLONG || error == EROFS;
}

/* frame: the one that was written, NULL after the last. */
static void require_exported(const struct convert *opt, int status, const struct nb_frame *frame)
{
	if (status == -1 && opt->path && nb_whole_why(errno))
		nb_die(NB_EXIT_FAILED, "'%s' %s", opt->path, nb_whole_why(errno));
	if (status == -1 && opt->path)
		nb_die(NB_EXIT_FAILED,
			"%s'%s':", opt->files <= 1 && is_of_name(errno) ? "" : "write error: ", opt->path);
	if (status == -1)
		nb_die(NB_EXIT_FAILED, "write error:");
	if (status && !frame)
		nb_die(NB_EXIT_FAILED, "%s", status == NB_EINVAL ? opt->out.error : nb_status_text(status));
	if (status == NB_EINVAL)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 ": %s", frame->number, opt->out.error);
	if (status == NB_ENOMEM)
		nb_out_of_memory(frame);
	nb_require_ok(status, frame);
}

static void export(struct convert *opt, const struct nb_frame *frame)
{
	const struct nb_format *format = opt->out.format;
	nb_require_field(frame, NB_POS);
	if (format->traits & NB_ONLY_VALID)
		nb_require_valid(frame);
	for (int f = 0; f < NB_NFIELD; f++)
		if (format->needs & NB_NEED(f))
			nb_require_field(frame, (enum nb_field)f);
	require_exported(opt, nb_export_frame(&opt->out, frame), frame);
	if ((format->traits & NB_LOSES_EMPTY) && opt->plain && opt->out.several && frame->rows[NB_PARTICLE] == 0)
		nb_warn("%s cannot represent frame %" PRIu64 ", which has no bodies", format->about, frame->number);
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies", frame->number, frame->rows[NB_PARTICLE]);
	if (*opt->out.warning)
		nb_warn("%s", opt->out.warning);
	*opt->out.warning = '\0';
	if (opt->out.nframe == 1) {
		warn_of_columns(&opt->out, frame);
		warn_of_losses(&opt->out, frame);
	}
}

static void export_held(struct convert *opt)
{
	export(opt, opt->held);
	nb_frame_clear(opt->held);
	opt->held = NULL;
}

void nb_convert_expect(struct convert *opt)
{
	if (opt->last && opt->held)
		nb_frame_clear(opt->held);
	if (opt->nframe != 1)
		return;
	if (opt->one && !opt->chosen_text)
		nb_die(NB_EXIT_FAILED,
			"the stream has several frames, but %s holds only one (choose it with '--frames K' or "
			"'--frames "
			"last')",
			opt->out.format->about);
	if (opt->one)
		return;
	opt->out.several = 1;
	export_held(opt);
}

/* The first frame is held back: what comes before it in the file depends on whether there are more. */
void nb_convert_take(struct convert *opt, struct nb_frame *frame)
{
	const uint64_t k = opt->nframe++;
	if (opt->last || k == (opt->one && !opt->imports ? opt->chosen : 0)) {
		opt->frame = *frame;
		opt->held = &opt->frame;
		nb_frame_init(frame);
	} else if (!opt->one) {
		export(opt, frame);
	}
}

void nb_convert_end(struct convert *opt)
{
	const struct nb_format *format = opt->out.format;
	if (opt->chosen_text && !opt->last && !opt->held && !opt->imports)
		nb_die(NB_EXIT_FAILED, "the stream has no frame %" PRIu64 " (it has %" PRIu64 ")", opt->chosen,
			opt->nframe);
	if (opt->nframe == 0 && (opt->one || opt->plain || !format->none))
		nb_die(NB_EXIT_FAILED, "the stream has no frames, and %s needs one%s", format->about,
			format->traits & NB_TABLE ? " for its header" : "");
	if (opt->held)
		export_held(opt);
	else if (opt->nframe == 0)
		require_exported(opt, format->none(&opt->out), NULL);
	require_exported(opt, nb_export_close(&opt->out), NULL);
}
