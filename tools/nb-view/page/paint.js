/* From bodies to densities: counts, radii, levels.  A picture is made in steps, so that the page stays awake;
 * while the camera moves it shows fewer bodies. */

const MANY = 256;	/* bodies of a species that are smoothed over their own neighbours */
const POINT_LIGHT = 0.4; /* of bodies that are points in a cloud: what of their light is in the points */
const FIRST_LOOK = {haste: 1 << 16, rest: 1 << 19}; /* bodies that are counted for the radii */

/* nb_exposure_neighbours; in a periodic box, a third of that for many. */
const neighbours_for = (n, box) => n < 10000 ? Math.max(0.64 * Math.sqrt(n), 8) : Math.min(192 * (n / 10000) ** 0.2, 512) / (box ? 3 : 1);

/* Species that are shown, with their numbers of bodies. */
const seen_species = frame => (frame.species || []).filter(s => !ui.hidden.has(s.id));

function seen_bodies(frame) {
	const hidden = (frame.species || []).filter(s => ui.hidden.has(s.id));
	return frame.n - hidden.reduce((sum, s) => sum + s.n, 0);
}

/* Few bodies are discs; more are points in a faint cloud, many only that. */
function shape_of(frame) {
	const n = seen_bodies(frame);
	return n <= 100 ? 'discs' : n < 10000 ? 'points' : 'density';
}

/* What the masses of the bodies that are shown are like: nb_exposure_masses and has_mass_function.  top: the heaviest, of
 * all in the frame; the others are in units of it. */
function masses_of(frame) {
	const key = frame.got + ':' + [...ui.hidden], few = 65536;
	if (frame.masses && frame.masses.key === key)
		return frame.masses;
	frame.masses = {key, top: 1, heavy: 1e30, cap: 1e30, spread: false};
	if (!frame.weight)
		return frame.masses;
	const shown = i => !frame.kind || !ui.hidden.has(frame.kind[i]), sorted = [];
	let top = 0;
	for (let i = 0; i < frame.got; i++)
		if (frame.weight[i] > top && shown(i))
			top = frame.weight[i];
	if (!top)
		return frame.masses;
	for (let i = 0; i < frame.got && i < few; i++)
		if (shown(i))
			sorted.push((frame.weight[i] / top) ** 2);
	sorted.sort((a, b) => a - b);
	const heavy = quantile(sorted, 0.99), middle = quantile(sorted, 0.5), high = quantile(sorted, 0.9);
	frame.masses.top = (top / 65535) ** 2;
	if (heavy > 0)
		frame.masses.heavy = heavy;
	if (heavy > 0 && heavy < 0.999)
		frame.masses.cap = heavy;
	frame.masses.spread = frame.n > 100 && !frame.kind && middle > 0 && high > 2 * middle && heavy > 2 * high;
	return frame.masses;
}

/* Species that are drawn at a time, each with a channel of its own for the counts: those of many bodies, four by four, and
 * then all others, which count all bodies.  rest: the channel of those, -1: there are none. */
function groups_of(frame) {
	const seen = seen_species(frame), many = frame.kind ? seen.filter(s => s.n >= MANY) : [], groups = [];
	many.sort((a, b) => b.n - a.n);
	if (seen.length < 2 || !many.length)
		return [{list: [], channels: 1, rest: 0, alone: true}];
	const few = many.length < seen.length;
	if (many.length + few <= 4)
		return [{list: many, channels: 4, rest: few ? many.length : -1, alone: true}];
	for (let k = 0; k < many.length; k += 4)
		groups.push({list: many.slice(k, k + 4), channels: 4, rest: -1});
	if (few)
		groups.push({list: [], channels: 4, rest: 0, but: many});
	return groups;
}

/* The kinds of a group, to be counted or to be drawn: a channel for each, 255 for none. */
function set_group(group, counts) {
	set_kinds(k => {
		const channel = group.list.findIndex(s => s.id === k);
		const left_out = !counts && group.but && group.but.some(s => s.id === k);
		return channel >= 0 ? channel : group.rest < 0 && !group.alone || left_out ? 255 : Math.max(group.rest, 0);
	});
}

/* The steps to a picture of the first count bodies; fine: with all that a picture at rest has. */
function* paint(frame, width, height, count, fine) {
	const groups = groups_of(frame), masses = masses_of(frame), shape = shape_of(frame), by = colour_mode(frame);
	const t = targets_of(width, height, groups[0].channels, by > 0), lens = lens_of(width, height);
	const {origin, across, down} = matrix_of(lens, frame.scale), step = Math.hypot(...across) / 65535;
	const common = {origin, across, down, size: [width, height], jitter: step > 0.3 ? 1 / 65535 : 0, by, kinds: 0,
		lift: 1 / masses.top};
	const job = {frame, t, lens, groups, masses, shape, by, common, count, fine, whole: fine && count === frame.sent};
	const show_all = () => set_group({list: [], rest: 0}, true);
	show_all();
	sky.job = job;
	if (shape === 'discs') {
		paint_discs(job);
		return job;
	}
	const cut = fine && masses.cap < 1;
	for (const cap of cut ? [masses.cap, 1e30] : [1e30]) {
		draw_on(t.atlas);
		for (const group of groups) {
			set_group(group, true);
			yield* count_bodies(job, group);
			set_group(group, false);
			yield* spread_bodies(job, cap);
		}
		gather_levels(job);
		show_all();
		if (cap < 1 || !cut)
			measure_exposure(job);
	}
	return job;
}

/* Draws bodies in steps. */
function* draw_bodies(count, again) {
	for (let first = 0; first < count; first += sky.slice) {
		if (first > 0)
			yield;
		again();
		sky.gl.drawArrays(sky.gl.POINTS, first, Math.min(sky.slice, count - first));
	}
}

function* count_bodies(job, group) {
	const gl = sky.gl, {t, frame, common} = job, {pyramid} = t, count = Math.min(job.count, FIRST_LOOK[job.fine ? 'rest' : 'haste']);
	gl.enable(gl.BLEND);
	draw_on(t.counts);
	yield* draw_bodies(count, () => {
		gl.enable(gl.BLEND);
		bind(0, sky.kinds);
		draw_on(t.counts, 0, false);
		use('count', {...common, corner: pyramid.corner, cells: pyramid.cells});
	});
	gl.disable(gl.BLEND);
	bind(1, t.counts);
	for (let l = 1; l < pyramid.levels; l++) {
		gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_BASE_LEVEL, l - 1);
		gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAX_LEVEL, l - 1);
		draw_on(t.counts, l, false);
		use('coarser', {counts: 1, level: 0});
		draw_whole();
	}
	gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_BASE_LEVEL, 0);
	gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAX_LEVEL, pyramid.levels - 1);
	/* a sample is smoothed as the few bodies that it is */
	const sample = job.whole && frame.sent === frame.n ? 1 : job.count / frame.n;
	const seen = seen_bodies(frame) * sample;
	const need = [0, 1, 2, 3].map(c => {
		const n = group.list[c] ? group.list[c].n * sample : seen;
		return job.masses.spread ? 0 : 3 * (seen < 10000 ? neighbours_for(n) : neighbours_for(seen, frame.box) * (n / seen) ** 0.3);
	});
	job.radii = {counts: 1, corner: pyramid.corner, grids: pyramid.levels, rest: group.channels > 1 ? group.rest : -1, wanted: need,
		most: pyramid.most, each: sample * frame.n / count};
}

function* spread_bodies(job, cap) {
	const gl = sky.gl, {t, frame, masses, common, shape} = job, {layout} = t, more = frame.n / job.count;
	const height = common.size[1], point = height / 300 * clamp((4000 / seen_bodies(frame)) ** 0.25, 1, 2);
	const region = layout.region.flatMap((r, l) => [r.x + BORDER, r.y + BORDER, 1 / 2 ** l]);
	const parts = shape === 'points' ? [[0, 1 - POINT_LIGHT], [point, POINT_LIGHT]] : [[0, 1]];
	for (const [size, share] of parts)
		yield* draw_bodies(job.count, () => {
			gl.enable(gl.BLEND);
			bind(0, sky.kinds);
			bind(1, t.counts);
			draw_on(t.atlas, 0, false);
			use('splat', {...common, ...job.radii, atlas: [layout.width, layout.height], region,
				levels: layout.levels, gain: share * more, cap, heavy: masses.heavy, spot: height / 180, point: size});
		});
	gl.disable(gl.BLEND);
}

function gather_levels(job) {
	const {t} = job, {layout} = t;
	bind(1, t.atlas);
	for (let l = layout.levels - 1; l >= 0; l--) {
		const r = layout.region[l], to = l ? t.gathered[l - 1] : t.image, border = l ? BORDER : 0, deeper = l + 1 < layout.levels;
		bind(2, deeper ? t.gathered[l] : sky.kinds);
		draw_on(to, 0, false);
		use('gather', {level: 1, coarse: 2, from: [r.x + BORDER - border, r.y + BORDER - border], border, deeper: deeper ? 1 : 0,
			cubic: job.fine ? 1 : 0});
		draw_whole();
	}
}

function paint_discs(job) {
	const gl = sky.gl, {t, frame, common} = job, n = seen_bodies(frame), height = common.size[1];
	gl.enable(gl.BLEND);
	bind(0, sky.kinds);
	draw_on(t.image);
	use('disc', {...common, disc: height / 180 * Math.min((10 / n) ** 0.25, 1)});
	by_instance(true);
	gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, job.count);
	by_instance(false);
	gl.disable(gl.BLEND);
}
