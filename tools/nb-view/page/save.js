/* What is seen as a picture, a film, or a command line. */

const film = {recorder: null, canvas: null, parts: [], ends: false};

function compose(canvas) {
	const context = canvas.getContext('2d');
	draw_over();
	if (sky.gl)
		present(); /* a canvas of the card is empty once the window has been drawn */
	context.drawImage($('sky'), 0, 0, canvas.width, canvas.height);
	context.drawImage($('over'), 0, 0, canvas.width, canvas.height);
}

function download(blob, ending) {
	const frame = frames.shown ? '-' + String(frames.shown.frame).padStart(5, '0') : '';
	const link = make('a', {href: URL.createObjectURL(blob), download: `nb-view${frame}.${ending}`});
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/* As it is at rest, with all bodies. */
function save_picture() {
	if (!sky.rests) {
		sky.after = save_picture;
		return;
	}
	const canvas = make('canvas', {width: sky.width, height: sky.height});
	compose(canvas);
	canvas.toBlob(blob => download(blob, 'png'));
}

/* ---- film ---- */

function film_frame() {
	if (film.recorder)
		compose(film.canvas);
}

/* A film that ends at once has a picture, too: what is recorded comes a second later. */
function end_film() {
	film.ends = true;
	if (film.parts.length && film.recorder.state === 'recording')
		film.recorder.stop();
}

function start_or_end_film() {
	if (film.recorder) {
		end_film();
		return;
	}
	const type = ['video/webm;codecs=vp9', 'video/webm', 'video/mp4'].find(t => window.MediaRecorder && MediaRecorder.isTypeSupported(t));
	if (!type) {
		notice('this browser records no films');
		return;
	}
	film.canvas = make('canvas', {width: sky.width, height: sky.height});
	compose(film.canvas);
	const recorder = new MediaRecorder(film.canvas.captureStream(30), {mimeType: type, videoBitsPerSecond: 16e6});
	const repeat = setInterval(film_frame, 100); /* a view at rest is filmed, too */
	film.parts = [];
	film.ends = false;
	recorder.ondataavailable = event => {
		if (event.data.size)
			film.parts.push(event.data);
		if (film.ends)
			end_film();
	};
	recorder.onstop = () => {
		clearInterval(repeat);
		film.recorder = null;
		$('film').setAttribute('aria-pressed', 'false');
		download(new Blob(film.parts, {type}), type.slice(6, 10).replace(';', ''));
	};
	recorder.start(1000);
	film.recorder = recorder;
	$('film').setAttribute('aria-pressed', 'true');
}

/* ---- the command line of nb-render-ppm that draws the same ---- */

const quoted = text => /^[A-Za-z0-9_.,:-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;

function command_line() {
	const frame = frames.shown, {azimuth, elevation, centre, size} = camera, words = ['nb-render-ppm'];
	const view = {'-90,90': 'xy', '-90,0': 'xz', '0,0': 'yz'}[[azimuth, elevation]] || `${exact(azimuth)},${exact(elevation)}`;
	const shape = shape_of(frame), by = colour_mode(frame);
	words.push(`-W ${sky.width} -H ${sky.height} --view ${view} --center ${centre.map(exact)} --size ${exact(size)} --draw ${shape}`);
	if (by > 0)
		words.push(`--by ${quoted(ui.by)}`);
	if (by === 1 && frame.range)
		words.push(`--by-range ${frame.range.map(exact)}`);
	if (by === 1 && frame.log)
		words.push('--by-scale log');
	if (by === 0)
		words.push(`--colormap ${ui.map}`);
	if (shape !== 'discs')
		words.push(`--stretch ${ui.stretch}`, ...exposure.ready ? [`--range ${range_to_draw().map(exact)}`] : []);
	if (ui.print)
		words.push('--sky light');
	if (frame.drawn && shape === 'density')
		words.push('--neighbours 8'); /* so nb-view draws what is too much to send */
	if (frame.kind)
		words.push(`--hide ${[...ui.hidden].sort((a, b) => a - b).join() || 'none'}`);
	if (ui.labels)
		words.push('--label time,scale' + (frame.names ? ',name' : ''));
	return (frame.frame > 0 ? `nb-select --frames ${frame.frame} | ` : '') + words.join(' ');
}

function command_changed() {
	if (!frames.shown || sky.gl && !exposure.ready && shape_of(frames.shown) !== 'discs')
		return;
	$('command').textContent = command_line();
	$('command').title = $('command').textContent;
}

async function copy_command() {
	try {
		await navigator.clipboard.writeText($('command').textContent);
		notice('copied', 1500);
	} catch {
		getSelection().selectAllChildren($('command'));
		notice('copy it with Ctrl-C: the browser allows no more', 4000);
	}
}
