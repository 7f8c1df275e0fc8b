/* Without a card: densities are summed by the processor, with one small kernel, and fewer bodies. */

const plain = {most: 1 << 17, kernel: [0.228, 0.544, 0.228]};

/* A canvas that has given away its context for the card cannot draw otherwise. */
function open_plain() {
	sky.gl = null;
	const old = $('sky'), made = old.cloneNode();
	old.replaceWith(made);
	plain.context = made.getContext('2d');
}

/* Planes of weight and of what the colour shows; and the densities at the bodies. */
function sum_plain(frame, lens) {
	const {origin, across, down} = matrix_of(lens, frame.scale), {width, height} = lens, by = colour_mode(frame);
	const planes = [0, 1, 2, 3].slice(0, [1, 2, 4][by]).map(() => new Float32Array(width * height));
	const count = Math.min(frame.got, plain.most), more = frame.n / count, {top} = masses_of(frame), at = new Int32Array(count).fill(-1);
	const colours = [...Array(256).keys()].map(k => kind_rgb(k).map(x => x / 255));
	for (let i = 0; i < count; i++) {
		const kind = frame.kind ? frame.kind[i] : 0;
		const x = frame.pos[3 * i] / 65535, y = frame.pos[3 * i + 1] / 65535, z = frame.pos[3 * i + 2] / 65535;
		const u = Math.floor(origin[0] + across[0] * x + across[1] * y + across[2] * z);
		const v = Math.floor(origin[1] + down[0] * x + down[1] * y + down[2] * z);
		if (ui.hidden.has(kind) || is_away(frame, i) || !(u > 0 && v > 0 && u < width - 1 && v < height - 1))
			continue;
		const weight = (frame.weight ? (frame.weight[i] / 65535) ** 2 / top : 1) * more;
		const part = by === 1 ? [1, frame.value[i] / 65535] : by === 2 ? [1, ...colours[kind]] : [1];
		at[i] = v * width + u;
		for (let p = 0; p < part.length; p++)
			for (let k = 0; k < 9; k++) {
				const row = Math.floor(k / 3), column = k % 3;
				const share = plain.kernel[row] * plain.kernel[column];
				planes[p][at[i] + (row - 1) * width + column - 1] += weight * part[p] * share;
			}
	}
	return {planes, at, by};
}

/* As the last program of the card. */
function colour_plain(planes, by, p, v, table) {
	const dark = ui.print ? 255 : 0;
	if (by === 0) {
		const k = 3 * Math.round(255 * (ui.print ? 1 - v : v)), fade = ui.print ? clamp(v / 0.3, 0, 1) : 1;
		return [0, 1, 2].map(c => 255 * (1 - fade) + fade * table[k + c]);
	}
	if (!(planes[0][p] > 0))
		return [dark, dark, dark];
	const k = 3 * Math.round(255 * clamp(planes[1][p] / planes[0][p], 0, 1));
	const hue = by === 1 ? [0, 1, 2].map(c => table[k + c] / 255) : brighten([1, 2, 3].map(c => planes[c][p]));
	if (ui.print)
		return hue.map(h => 255 * (1 - v * (1 - 0.72 * h * h)));
	return hue.map(h => 255 * Math.min(v / 0.7, 1) * (h + Math.max(v - 0.7, 0) / 0.6 * (1 - h)));
}

function draw_plain(now) {
	if (!sky.changed && !sky.toned)
		return false;
	if (now - sky.moved < REST / 2 && now - plain.drawn < 200)
		return true;
	const frame = frames.shown, lens = lens_of(sky.width, sky.height), {planes, at, by} = sum_plain(frame, lens);
	const density = planes[0], area = lens.scale ** 2;
	const found = Float32Array.from(at.filter(p => p >= 0), p => density[p]).sort();
	const [lo, hi] = choose_range(found, null).map(x => x * area);
	expose_anew();
	set_exposure(lo, hi);
	const shown = range_shown().map(x => x / area), image = plain.context.createImageData(sky.width, sky.height);
	const table = by === 1 ? hues.value : map_table(), kind = {asinh: 0, log: 1, linear: 2}[ui.stretch];
	const scale = [1 / Math.asinh(shown[1] / shown[0]), 1 / Math.log(shown[1] / shown[0]), 1 / (shown[1] - shown[0])][kind];
	for (let p = 0; p < density.length; p++) {
		const s = density[p];
		const v = kind === 0 ? Math.asinh(s / shown[0]) : kind === 1 ? Math.log(Math.max(s / shown[0], 1)) : s - shown[0];
		image.data.set([...colour_plain(planes, by, p, clamp(v * scale, 0, 1), table), 255], 4 * p);
	}
	plain.context.putImageData(image, 0, 0);
	plain.drawn = performance.now();
	note_seen();
	sky.changed = false;
	sky.whole = true;
	return false;
}
