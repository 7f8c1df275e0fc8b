/* What everything uses: elements, numbers, quantiles, colours. */

const $ = id => document.getElementById(id);
const clamp = (x, lo, hi) => Math.min(Math.max(x, lo), hi);

function make(name, properties, ...children) {
	const element = Object.assign(document.createElement(name), properties);
	element.append(...children);
	return element;
}

const icons = {
	play: 'M4 2.5 12.5 7.5 4 12.5Z', pause: 'M4.5 2.5V12.5M10.5 2.5V12.5', back: 'M11 2.5 4.5 7.5 11 12.5M3 2.5V12.5',
	forth: 'M4 2.5 10.5 7.5 4 12.5M12 2.5V12.5', menu: 'M2 4H13M2 7.5H13M2 11H13', close: 'M3 3 12 12M12 3 3 12',
	copy: 'M5 5H12.5V13H5ZM10 5V2H2.5V10H5', whole: 'M2 5V2H5M10 2H13V5M13 10V13H10M5 13H2V10'};

function set_icon(button, name) {
	const space = 'http://www.w3.org/2000/svg', svg = document.createElementNS(space, 'svg');
	const path = document.createElementNS(space, 'path');
	svg.setAttribute('viewBox', '0 0 15 15');
	svg.setAttribute('aria-hidden', 'true');
	path.setAttribute('d', icons[name]);
	svg.append(path);
	button.replaceChildren(svg);
	button.setAttribute('aria-label', button.title);
}

/* ---- numbers ---- */

/* A number and a power of ten as in print: 2×10⁶, 10⁻⁵. */
function with_power(number, power) {
	const raised = [...String(power)].map(c => '⁰¹²³⁴⁵⁶⁷⁸⁹'[c] || '⁻').join('');
	return `${number === 1 ? '' : number === -1 ? '-' : number + '×'}10${raised}`;
}

/* Short, for people: 0.0123, 12.3, 1.23×10⁻⁷. */
function short(x, digits = 3) {
	if (!isFinite(x))
		return String(x);
	const size = Math.abs(x);
	if (size !== 0 && (size < 1e-3 || size >= 1e5))
		return with_power(...x.toExponential(digits - 1).split('e').map(Number));
	return String(Number(x.toPrecision(digits)));
}

/* For a command line: enough digits for a picture. */
const exact = x => String(Number(x.toPrecision(7)));

/* All times that are as large have the same width. */
function time_text(t) {
	const size = Math.abs(t);
	if (size !== 0 && (size < 0.001 || size >= 1e6))
		return t.toExponential(4);
	return t.toFixed(size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0);
}

/* The time of a frame, or its redshift in an expanding universe; unit: that of times. */
const moment_text = (frame, unit) => typeof frame.redshift === 'number' ? `z = ${time_text(frame.redshift)}` : `t = ${time_text(frame.time)} ${unit || ''}`.trim();

const grouped = n => n.toLocaleString('en-US').replace(/,/g, '\u202f');

/* As people write it: 2 Mpc, not 2e6 pc, and 2×10⁶ where there is no such unit. */
function length_text(length, unit) {
	const ladder = ['pc', 'kpc', 'Mpc', 'Gpc'], first = ladder.indexOf(unit);
	const power = Math.floor(Math.log10(length) + 1e-9), steps = first < 0 ? 0 : clamp(Math.floor(power / 3), -first, 3 - first);
	return `${short(Number((length / 1000 ** steps).toPrecision(1)))} ${first < 0 ? unit : ladder[first + steps]}`;
}

/* 1, 2 or 5 times a power of ten, at most x > 0. */
function round_length(x) {
	const ten = 10 ** Math.floor(Math.log10(x)), digit = x / ten;
	return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * ten;
}

/* Of an array in ascending order; between two of its numbers linear. */
function quantile(sorted, q) {
	const at = q * (sorted.length - 1), i = Math.floor(at);
	return i + 1 < sorted.length ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

/* ---- colours ---- */

/* "#rrggbb" as three numbers from 0 to 255. */
const rgb_of = text => [1, 3, 5].map(k => parseInt(text.slice(k, k + 2), 16));

/* The strongest part at 1; no colour becomes white. */
function brighten(hue) {
	const most = Math.max(...hue);
	return hue.map(x => most > 0 ? x / most : 1);
}

/* 256 colours from stops at equal steps, their strongest part at 255: the hues of a number. */
function hue_table(stops) {
	const table = new Uint8Array(256 * 3), colour = stops.map(rgb_of), last = colour.length - 1;
	for (let k = 0; k < 256; k++) {
		const at = k / 255 * last, i = Math.min(Math.floor(at), last - 1);
		const hue = colour[i].map((x, c) => x + (at - i) * (colour[i + 1][c] - x));
		brighten(hue).forEach((x, c) => { table[3 * k + c] = Math.round(255 * x); });
	}
	return table;
}

/* Pairs of hexadecimal digits. */
const bytes_of = text => Uint8Array.from(text.match(/../g), pair => parseInt(pair, 16));

const css = rgb => `rgb(${rgb.map(x => Math.round(x)).join(',')})`;

const stretches = ['asinh', 'log', 'linear'];

/* The density that is shown with brightness v, and its inverse without limits. */
const density_at = (stretch, lo, hi, v) => stretch === 'linear' ? lo + v * (hi - lo)
	: stretch === 'log' ? lo * (hi / lo) ** v : lo * Math.sinh(v * Math.asinh(hi / lo));
