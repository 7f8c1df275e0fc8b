/* The loop: what has changed is drawn, first in haste, and whole when nothing moves. */

const HASTE = 55;	/* milliseconds that a picture may take while something moves */
const REST = 160;	/* milliseconds after which nothing moves */
const LEAST = 1 << 14;	/* bodies that a picture in haste has, if there are as many */

Object.assign(sky, {quick: 1 << 15, grain: 1, slice: 1 << 16, moved: 0, changed: false, whole: false, steps: null, fence: null, looked: false});

function wake() {
	if (sky.asked)
		return;
	sky.asked = true;
	requestAnimationFrame(tick);
}

function view_changed() {
	sky.moved = performance.now();
	sky.changed = true;
	sky.rests = sky.still = false;
	$('sky').setAttribute('aria-busy', 'true');
	wake();
}

/* Only colours or letters. */
function tone_changed() {
	sky.toned = true;
	wake();
}

function frame_changed(frame) {
	if (!sky.looked && frame.size > 0) {
		Object.assign(camera, {centre: frame.centre.slice(), size: frame.size});
		ui.hidden = new Set(frame.hidden || []);
		sky.looked = true;
	}
	follow_frame(frame);
	frame_told(frame);
	view_changed();
}

/* Whether more of its bodies are on their way. */
const is_part = frame => frame.sent < frame.n && !frame.drawn && frame === frames.list.at(-1);

function is_done(fence) {
	const gl = sky.gl, status = gl.clientWaitSync(fence, 0, 0);
	return status === gl.ALREADY_SIGNALED || status === gl.CONDITION_SATISFIED || status === gl.WAIT_FAILED;
}

function resize() {
	const most = 4.2e6, ratio = Math.min(devicePixelRatio || 1, 2, Math.sqrt(most / (innerWidth * innerHeight)) || 1);
	const even = x => Math.max(2 * Math.round(x * ratio / 2), 2), width = even(innerWidth), height = even(innerHeight);
	if (width !== sky.width || height !== sky.height) {
		Object.assign(sky, {width, height});
		Object.assign($('over'), {width, height});
		if (!sky.gl)
			Object.assign($('sky'), {width, height});
	}
	view_changed();
}

/* ---- steps of a picture ---- */

/* Times are those of the card, to the next tick. */
function note_cost(now) {
	const passed = now - sky.began, {job} = sky;
	if (sky.whole_step && job.count >= 4096) {
		const better = job.count * clamp(HASTE / Math.max(passed, 8), 0.5, 1.6);
		sky.quick = clamp(Math.round(better / 4096) * 4096, LEAST, 1 << 24);
		/* the pixels cost too much, or there is time for more of them */
		if (sky.quick < 2 * LEAST && passed > HASTE && sky.grain < 3)
			sky.grain++;
		else if (sky.grain > 1 && sky.quick > 16 * LEAST)
			sky.grain--;
	}
	if (!sky.whole_step && passed > 0)
		sky.slice = clamp(Math.round(sky.slice * clamp(100 / passed, 0.5, 2) / 4096) * 4096, 1 << 15, 1 << 24);
}

function begin_picture(count, fine) {
	const frame = frames.shown;
	upload(frame);
	const grain = is_part(frame) ? 2 : sky.grain, size = [sky.width, sky.height].map(x => fine ? x : Math.ceil(x / grain));
	sky.steps = count > 0 ? paint(frame, ...size, count, fine) : null;
	sky.changed = false;
	sky.whole = fine;
	if (!fine)
		sky.hasty = Math.max(sky.slice, count);
	if (!sky.steps) {
		sky.painted = null;
		sky.toned = true;
	}
}

function do_step(now) {
	const slice = sky.slice;
	if (sky.hasty)
		sky.slice = sky.hasty; /* in one step */
	sky.began = now;
	sky.whole_step = sky.hasty > 0;
	const {done} = sky.steps.next();
	sky.slice = slice;
	if (done) {
		sky.steps = null;
		sky.hasty = 0;
		sky.painted = sky.job;
		sky.toned = true;
	}
}

const can_present = () => exposure.ready || !sky.painted || sky.painted.shape === 'discs';

function draw_card(now) {
	const frame = frames.shown, rested = now - sky.moved > (is_part(frame) ? 5000 : REST), quick = Math.min(sky.quick, frame.got);
	if (sky.fence) {
		if (!is_done(sky.fence))
			return true;
		sky.gl.deleteSync(sky.fence);
		sky.fence = null;
		note_cost(now);
	}
	take_exposure(); /* before the next picture begins, which forgets it */
	if (sky.changed) {
		const all = quick === frame.got && frame.got === frame.sent && sky.grain === 1 && !is_part(frame);
		begin_picture(quick, all);
		if (all)
			sky.hasty = frame.got;
	} else if (!sky.steps && !sky.whole && rested) {
		sky.still = true;
		if (needs_picture(frame))
			want();
		begin_picture(frame.got, true);
	}
	const drawing = sky.steps !== null;
	if (drawing)
		do_step(now);
	if (follow_exposure(now))
		sky.toned = true;
	if (sky.toned && can_present()) {
		present();
		if (sky.painted)
			note_seen();
	}
	if (drawing) {
		sky.fence = sky.gl.fenceSync(sky.gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
		sky.gl.flush();
	}
	return sky.steps || sky.fence || sky.changed || !sky.whole || exposure.reading || exposure.to;
}

/* From now on frames come with all their bodies. */
function note_seen() {
	if (sky.seen)
		return;
	sky.seen = true;
	performance.mark('picture');
	want();
}

function rest() {
	if (sky.rests)
		return;
	sky.rests = sky.still = true;
	$('sky').setAttribute('aria-busy', 'false');
	want();
	if (sky.after)
		sky.after();
	sky.after = null;
}

function tick(now) {
	sky.asked = false;
	const playing = play(now);
	let more = false;
	if (frames.shown && sky.width) {
		more = sky.gl ? draw_card(now) : draw_plain(now);
		if ((sky.toned && can_present()) || !more) {
			sky.toned = false;
			draw_over();
			film_frame();
			if (!more) /* what changes in the panel is painted anew by the browser */
				command_changed();
		}
		if (!more)
			rest();
	}
	if (more || playing)
		wake();
}

/* What a picture that nb-view draws depends on. */
const picture_key = () => JSON.stringify([camera, frames.shown.frame, sky.width, sky.height, ui.by, ui.map, ui.stretch, ui.light, ui.print, [...ui.hidden]]);

/* A picture that nb-view has drawn for the camera at rest. */
async function take_picture(data) {
	const number = new Uint32Array(data, 0, 2)[0], key = stream.key, {gl} = sky;
	const image = await createImageBitmap(new Blob([new Uint8Array(data, 8)]));
	if (number !== stream.number || key !== picture_key())
		return;
	if (gl) {
		bind(1, sky.picture);
		gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, image);
	} else {
		sky.plain.drawImage(image, 0, 0);
	}
	sky.drawn = key;
	tone_changed();
}

/* Whether the picture that has come is that of what is to be seen. */
const is_drawn = () => Boolean(sky.drawn) && sky.drawn === picture_key();

/* ---- beginning ---- */

/* Draws one body nowhere, as cards translate programs when these are first used: in the time before the first frame. */
function warm_up() {
	const frame = {n: 20000, sent: 1, got: 1, scale: [9, 9, 9, 1], pos: new Uint16Array(3)};
	upload(frame);
	for (const steps = paint(frame, 64, 64, 1, false); !steps.next().done;);
	sky.painted = sky.job;
	present();
	forget_reading();
	Object.assign(sky, {painted: null, uploaded: null});
}

function start() {
	resize();
	connect();
	if (!open_sky($('sky'))) {
		open_plain();
		$('trails').disabled = true;
		notice('this browser has no WebGL 2 with sums of real numbers: nb-view draws the newest frame when nothing moves', 8000);
	}
	$('sky').addEventListener('webglcontextlost', event => event.preventDefault());
	$('sky').addEventListener('webglcontextrestored', () => {
		Object.assign(sky, {steps: null, fence: null, painted: null});
		exposure.reading = null;
		open_sky($('sky'));
		view_changed();
	});
	open_panel();
	open_input();
	addEventListener('resize', resize);
	if (sky.gl)
		setTimeout(() => frames.shown || warm_up(), 0);
}

start();
