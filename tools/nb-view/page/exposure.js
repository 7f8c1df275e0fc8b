/* The range of brightness: from the densities at the bodies in the picture, as nb_exposure_range, and followed slowly.
 * It is kept in weights per area, so that the same surface density stays as bright when the camera comes nearer. */

const MOST_AT_TOP = 0.015, LIT = 1 / 32, TOP = 0.98;

const exposure = {ready: false, lo: 1, hi: 2, to: null, reading: null, at: 0};

/* What is shown, after the choice of the light. */
const range_shown = () => [exposure.lo * 2 ** -ui.light, exposure.hi * 2 ** -ui.light];

/* Mass of weight 1. */
const mass_unit = () => frames.shown && frames.shown.heaviest > 0 ? frames.shown.heaviest * masses_of(frames.shown).top : 1;

/* Asks for the densities at some bodies, and for some pixels; they are read when they are there. */
function measure_exposure(job) {
	const gl = sky.gl, {t, common} = job, probe = sky.probe[job.whole ? 1 : 0], edge = probe.width;
	forget_reading();
	gl.bindFramebuffer(gl.FRAMEBUFFER, probe.level[0]);
	gl.viewport(0, 0, edge, edge);
	gl.clearColor(-1, -1, -1, -1);
	gl.clear(gl.COLOR_BUFFER_BIT);
	use('probe', {...common, kinds: bind(0, sky.kinds), image: bind(1, t.image), edge});
	gl.drawArrays(gl.POINTS, 0, Math.min(job.count, edge * edge));
	const reading = {job, probes: read_back(edge, edge)};
	if (job.whole) {
		const size = [Math.ceil(t.width / 4), Math.ceil(t.height / 4)], thin = target(...size, sky.formats[0]);
		draw_on(thin, 0, false);
		use('thin', {image: bind(1, t.image), every: [t.width / size[0], t.height / size[1]]});
		draw_whole();
		reading.pixels = read_back(...size);
		drop(thin);
	}
	reading.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
	gl.flush();
	exposure.reading = reading;
}

function read_back(width, height) {
	const gl = sky.gl, buffer = gl.createBuffer(), count = 4 * width * height;
	gl.bindBuffer(gl.PIXEL_PACK_BUFFER, buffer);
	gl.bufferData(gl.PIXEL_PACK_BUFFER, 4 * count, gl.STREAM_READ);
	gl.readPixels(0, 0, width, height, gl.RGBA, gl.FLOAT, 0);
	gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
	return {buffer, count};
}

/* The first channel, in ascending order, of what is above 0. */
function sorted_of({buffer, count}) {
	const gl = sky.gl, all = new Float32Array(count), kept = new Float32Array(count / 4);
	gl.bindBuffer(gl.PIXEL_PACK_BUFFER, buffer);
	gl.getBufferSubData(gl.PIXEL_PACK_BUFFER, 0, all);
	gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
	let n = 0;
	for (let k = 0; k < count; k += 4)
		if (all[k] > 0)
			kept[n++] = all[k];
	return kept.subarray(0, n).sort();
}

function forget_reading() {
	const gl = sky.gl, reading = exposure.reading;
	exposure.reading = null;
	if (!reading)
		return;
	gl.deleteSync(reading.fence);
	gl.deleteBuffer(reading.probes.buffer);
	if (reading.pixels)
		gl.deleteBuffer(reading.pixels.buffer);
}

/* Takes what has been read, if it is there. */
function take_exposure() {
	const gl = sky.gl, reading = exposure.reading;
	if (!reading || !is_done(reading.fence))
		return;
	const [lo, hi] = choose_range(sorted_of(reading.probes), reading.pixels ? sorted_of(reading.pixels) : null);
	const area = reading.job.lens.scale ** 2;
	forget_reading();
	set_exposure(lo * area, hi * area);
}

function set_exposure(lo, hi) {
	exposure.to = [lo, hi];
	if (exposure.ready)
		return;
	[exposure.lo, exposure.hi] = exposure.to;
	exposure.ready = sky.toned = true;
}

/* nb_exposure_lowest. */
const lowest = (lo, hi) => ui.stretch === 'linear' ? 0 : Math.min(Math.max(lo, hi * (ui.stretch === 'log' ? 1e-5 : 1e-4)), hi / 40);

/* From densities in ascending order: at bodies, and of pixels, of which no more than a few may have the top colour. */
function choose_range(at_bodies, of_pixels) {
	const n = at_bodies.length;
	let hi = Math.max(n ? quantile(at_bodies, 0.98) : 1, 1e-30);
	const lo = lowest(n ? quantile(at_bodies, 0.05) / (ui.stretch === 'log' ? 10 : 2) : 0.01, hi);
	for (let k = 0; of_pixels && k < 5000 && share_at_top(of_pixels, lo, hi) > MOST_AT_TOP; k++)
		hi *= 1.01;
	return [lowest(lo, hi), hi];
}

function share_at_top(sorted, lo, hi) {
	const above = least => {
		let from = 0, to = sorted.length;
		while (from < to) {
			const middle = (from + to) >> 1;
			if (sorted[middle] < least)
				from = middle + 1;
			else
				to = middle;
		}
		return sorted.length - from;
	};
	const lights = above(density_at(ui.stretch, lo, hi, LIT));
	return lights ? above(density_at(ui.stretch, lo, hi, TOP)) / lights : 0;
}

/* Some of the way to what suits the picture; returns whether it is not there yet. */
function follow_exposure(now) {
	const e = exposure, passed = Math.min(now - e.at, 100);
	e.at = now;
	if (!e.ready || !e.to)
		return false;
	const part = 1 - Math.exp(-passed / 180), [lo, hi] = e.to, far = Math.abs(Math.log(hi / e.hi));
	if (far < 0.004 && (lo === e.lo || Math.abs(Math.log(lo / e.lo)) < 0.004)) {
		const changed = e.lo !== lo || e.hi !== hi;
		[e.lo, e.hi] = e.to;
		e.to = null;
		return changed;
	}
	e.hi *= (hi / e.hi) ** part;
	e.lo = lo > 0 && e.lo > 0 ? lowest(e.lo * (lo / e.lo) ** part, e.hi) : lo;
	return true;
}

/* Takes the next measure at once, as what is shown is another thing. */
function expose_anew() {
	exposure.ready = false;
}
