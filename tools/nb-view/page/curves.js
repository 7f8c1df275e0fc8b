/* Small curves of the quantities that nb-view tells of each frame. */

const MOST_MOMENTS = 4096;

const curves = {moments: [], hover: null, kinds: [
	{name: 'energy error', of: s => [s.energy_error], zero: true},
	{name: 'virial ratio', of: s => [s.virial]},
	{name: 'radii', title: 'Lagrangian radii', of: s => s.lagrangian || []}]};

function note_curves(frame) {
	const {moments} = curves, last = moments[moments.length - 1];
	if (!frame.stats || (last && last.frame === frame.frame))
		return;
	if (last && last.frame > frame.frame)
		moments.length = 0;
	moments.push({frame: frame.frame, time: frame.time, redshift: frame.redshift, stats: frame.stats});
	if (moments.length > MOST_MOMENTS)
		curves.moments = moments.filter((m, k) => k % 2 === 0);
	if (!curves.asked)
		curves.asked = setTimeout(() => { curves.asked = 0; draw_curves(); }, 150);
}

const is_told = x => typeof x === 'number' && isFinite(x);

function draw_curves() {
	for (const kind of curves.kinds) {
		const told = curves.moments.filter(m => kind.of(m.stats).some(is_told));
		if (told.length > 1 && !kind.canvas)
			open_curve(kind);
		if (kind.canvas)
			draw_curve(kind, told);
	}
}

function open_curve(kind) {
	kind.canvas = make('canvas', {width: 424, height: 88});
	kind.value = make('b');
	kind.canvas.setAttribute('role', 'img');
	const box = make('div', {className: 'curve'}, make('div', {title: kind.title || kind.name}, kind.name, kind.value), kind.canvas);
	box.style.order = curves.kinds.indexOf(kind);
	$('curves').append(box);
	const moment_at = event => {
		const box = kind.canvas.getBoundingClientRect(), share = clamp((event.clientX - box.left) / box.width, 0, 1);
		const [first, last] = [curves.moments[0].time, curves.moments[curves.moments.length - 1].time];
		const time = first + share * (last - first);
		return curves.moments.reduce((a, b) => Math.abs(b.time - time) < Math.abs(a.time - time) ? b : a);
	};
	kind.canvas.addEventListener('pointermove', event => { curves.hover = moment_at(event); draw_curves(); });
	kind.canvas.addEventListener('pointerleave', () => { curves.hover = null; draw_curves(); });
	kind.canvas.addEventListener('click', event => {
		const {time} = moment_at(event), {list} = frames;
		const near = list.reduce((a, b) => Math.abs(b.time - time) < Math.abs(a.time - time) ? b : a);
		frames.playing = false;
		seek(list.indexOf(near));
	});
}

function draw_curve(kind, told) {
	const {canvas} = kind, context = canvas.getContext('2d'), {width, height} = canvas, style = getComputedStyle($('side'));
	const values = told.flatMap(m => kind.of(m.stats)).filter(is_told);
	let lo = Math.min(...values, ...kind.zero ? [0] : []), hi = Math.max(...values, ...kind.zero ? [0] : []);
	if (!(hi > lo))
		[lo, hi] = [lo - Math.abs(lo) / 2 - 1e-12, hi + Math.abs(hi) / 2 + 1e-12];
	const from = curves.moments[0].time, to = curves.moments[curves.moments.length - 1].time;
	const x = t => 3 + (width - 6) * (to > from ? (t - from) / (to - from) : 0), y = v => height - 5 - (height - 10) * (v - lo) / (hi - lo);
	context.clearRect(0, 0, width, height);
	context.strokeStyle = style.getPropertyValue('--faint');
	context.globalAlpha = 0.35;
	context.lineWidth = 1;
	context.beginPath();
	for (const v of kind.zero ? [0] : [lo, hi])
		context.rect(0, Math.round(y(v)) + 0.5, width, 0);
	context.stroke();
	context.globalAlpha = 1;
	context.strokeStyle = style.getPropertyValue('--accent');
	context.lineWidth = 2.5;
	for (let k = 0; k < kind.of(told[0].stats).length; k++) {
		context.beginPath();
		for (const m of told)
			if (is_told(kind.of(m.stats)[k]))
				context.lineTo(x(m.time), y(kind.of(m.stats)[k]));
		context.stroke();
	}
	const at = curves.hover || told.find(m => frames.shown && m.frame === frames.shown.frame) || told[told.length - 1];
	context.fillStyle = style.getPropertyValue('--ink');
	for (const v of kind.of(at.stats).filter(is_told)) {
		context.beginPath();
		context.arc(x(at.time), y(v), 4.5, 0, 2 * Math.PI);
		context.fill();
	}
	kind.value.textContent = kind.of(at.stats).map(v => is_told(v) ? short(v) : '').join(' · ');
	kind.value.title = moment_text(at);
	canvas.setAttribute('aria-label', `${kind.title || kind.name} against time, ${kind.value.textContent} at ${time_text(at.time)}`);
}
