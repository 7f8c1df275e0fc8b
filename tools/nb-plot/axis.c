/* Axes: what they show, where, and with which ticks. */
#include "tools/nb-plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double nb_axis_place(const struct axis *axis, double x)
{
	const double at = axis->log ? (x > 0 ? log10(x) : NAN) : x;
	return axis->start + (at - axis->low) / (axis->high - axis->low) * (axis->stop - axis->start);
}

void nb_plot_superscript(char *to, size_t size, const char *text)
{
	static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
	size_t used = 0;
	for (int up = 0; *text && used + 4 < size; text++) {
		const int digit = *text >= '0' && *text <= '9';
		if (*text == '^' && (text[1] == '-' || (text[1] >= '0' && text[1] <= '9')))
			up = 1;
		else if (up && digit)
			used += (size_t)snprintf(to + used, size - used, "%s", raised[*text - '0']);
		else if (*text == '-')
			used += (size_t)snprintf(to + used, size - used, "%s", up ? "⁻" : "−");
		else
			to[used++] = *text;
		up = up && (digit || *text == '^' || *text == '-');
	}
	to[used] = '\0';
}

static void add_tick(struct axis *axis, double at, int minor, const char *label)
{
	if (axis->ntick == (int)(sizeof axis->tick / sizeof *axis->tick))
		return;
	struct tick *tick = &axis->tick[axis->ntick++];
	*tick = (struct tick){.at = at, .minor = minor};
	nb_plot_superscript(tick->label, sizeof tick->label, label);
}

/* 1, 2 or 5 times a power of ten, not below x. */
static double step_above(double x, int *digit, int *power)
{
	static const int digits[] = {1, 2, 5, 10};
	*power = (int)floor(log10(x));
	int k = 0;
	while (k < 3 && digits[k] * pow(10, *power) < x * (1 - 1e-9))
		k++;
	*power += k == 3;
	*digit = k == 3 ? 1 : digits[k];
	return *digit * pow(10, *power);
}

static void linear_ticks(struct axis *axis, int most)
{
	int digit, power;
	const double step = step_above((axis->high / most - axis->low / most), &digit, &power);
	const double largest = fmax(fabs(axis->low), fabs(axis->high));
	const int top = largest > 0 ? (int)floor(log10(largest)) : 0;
	axis->power = top >= 5 || top <= -4 ? top : 0;
	const int decimals = axis->power - power > 0 ? axis->power - power : 0;
	for (double k = ceil(axis->low / step - 1e-6); k * step <= axis->high + 1e-6 * step && isfinite(k); k++) {
		char label[24];
		const double shown = k * digit * pow(10, power - axis->power);
		snprintf(label, sizeof label, "%.*f", decimals < 17 ? decimals : 17, k == 0 ? 0.0 : shown);
		add_tick(axis, k * step, 0, label);
		if (axis->ntick > most + 2)
			break;
	}
}

static void log_label(char label[24], int digit, int power, int plain)
{
	if (plain || power == 0 || power == 1)
		snprintf(label, 24, "%.*f", power < 0 ? -power : 0, digit * pow(10, power));
	else if (digit == 1)
		snprintf(label, 24, "10^%d", power);
	else
		snprintf(label, 24, "%d·10^%d", digit, power);
}

static void log_ticks(struct axis *axis, int most)
{
	const int first = (int)floor(axis->low), last = (int)ceil(axis->high);
	const double decades = axis->high - axis->low;
	int digit = 1, power = 0;
	if (decades > most)
		step_above(decades / most, &digit, &power);
	const int step = digit * (int)lround(pow(10, power));
	/* what stands between powers is named where there is room, or where there would be too little */
	const int all = 14 * decades <= most || decades < 0.7, some = 3 * decades <= most + 1 || decades < 2;
	for (int p = first; p <= last; p++)
		for (int d = 1; d < 10; d++) {
			char label[24] = "";
			const double at = p + log10(d);
			const int named = p % step == 0 && (d == 1 || all || (some && (d == 2 || d == 5)));
			if (at < axis->low - 1e-9 || at > axis->high + 1e-9 || (d > 1 && step > 1) ||
				(d == 1 && p % step && step > 10))
				continue;
			if (named)
				log_label(label, d, p, axis->low > -2.5 && axis->high < 3.5);
			add_tick(axis, pow(10, at), !named, label);
		}
}

void nb_axis_ticks(struct axis *axis, int most)
{
	axis->ntick = axis->power = 0;
	axis->most = most;
	if (axis->log)
		log_ticks(axis, most < 2 ? 2 : most);
	else
		linear_ticks(axis, most < 2 ? 2 : most);
}
