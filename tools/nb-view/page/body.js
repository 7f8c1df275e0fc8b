/* The chosen body: found by a click, found again by its id, or by its order where there is none. */

let chosen = null; /* {index, id, frame} */

/* Of few bodies ids cost little, and the frames that are kept have them when trails are wanted. */
const needs_ids = () => chosen || ui.trails > 0 || !frames.shown || frames.shown.n <= 65536 ? 1 : 0;

/* Its place among the points of a frame; -1: it is not there. */
function row_of_chosen(frame) {
	if (!chosen || !frame.pos)
		return -1;
	if (frame === chosen.frame || (frame.frame === chosen.frame.frame && frame.n === chosen.frame.n))
		return chosen.index; /* the same one, sent again */
	if (frame.chosen && frame.chosen.of === chosen)
		return frame.chosen.row;
	let row = !frame.id && !chosen.frame.id && frame.n === chosen.frame.n && chosen.index < frame.got ? chosen.index : -1;
	if (frame.id && chosen.id !== undefined)
		row = frame.id.indexOf(chosen.id);
	if (frame.got === frame.sent && (chosen.id !== undefined || !frame.id))
		frame.chosen = {of: chosen, row};
	return row;
}

/* The body that is drawn nearest to a place, at most some pixels away; all in pixels of the window. */
function pick(x, y, reach = 14) {
	const frame = frames.shown;
	if (!frame || !frame.pos)
		return -1;
	const {origin, across, down} = matrix_of(lens_of(innerWidth, innerHeight), frame.scale), {pos, kind} = frame;
	const a = across.map(k => k / 65535), d = down.map(k => k / 65535);
	let best = -1, least = reach * reach;
	for (let i = 0, j = 0; i < frame.got; i++, j += 3) {
		const u = origin[0] + a[0] * pos[j] + a[1] * pos[j + 1] + a[2] * pos[j + 2] - x;
		const v = origin[1] + d[0] * pos[j] + d[1] * pos[j + 1] + d[2] * pos[j + 2] - y, far = u * u + v * v;
		if (far < least && !(kind && ui.hidden.has(kind[i])) && !is_away(frame, i)) {
			best = i;
			least = far;
		}
	}
	return best;
}

function choose(index) {
	if (index < 0) {
		if (ui.follow === 'body')
			set_follow('');
		chosen = null;
		$('about').hidden = true;
	} else {
		const frame = frames.shown;
		chosen = {index, frame, id: frame.id ? frame.id[index] : undefined};
		tell_body();
	}
	$('follow').querySelector('[value=body]').disabled = !chosen;
	want();
	tone_changed();
}

/* Fills the table with what nb-view says about the chosen body in the shown frame. */
async function tell_body() {
	const body = chosen, frame = frames.shown, row = row_of_chosen(frame);
	if (!body || body.asking)
		return;
	body.asking = true;
	try {
		if (row >= 0)
			write_body(await ask_body(frame.frame, row), frame, body);
		else
			$('about').querySelector('h2').textContent = 'the body is no more';
	} catch (error) {
		notice(error.message);
	}
	setTimeout(() => {
		body.asking = false;
		if (chosen === body && frames.shown !== frame)
			tell_body();
	}, 250);
}

function write_body(told, frame, body) {
	if (body !== chosen)
		return;
	const id = told.id !== undefined ? told.id : (told.columns.find(c => c.name === 'id') || {values: []}).values[0];
	if (id !== undefined && body.id === undefined && told.frame === body.frame.frame)
		body.id = BigInt(id);
	const about = $('about'), rows = told.columns.filter(c => c.name !== 'id').map(c => {
		const values = c.values.flatMap(x => [make('br'), typeof x === 'number' ? short(x, 6) : String(x)]).slice(1);
		return make('tr', {}, make('th', {scope: 'row'}, c.name, make('small', {textContent: /^(length|mass|velocity|time|acceleration)/.test(c.unit) ? '' : c.unit})), make('td', {}, ...values));
	});
	const called = id !== undefined && names_of(frame).get(BigInt(id));
	about.querySelector('h2').textContent = called ? `${called} (body ${id})` : (id !== undefined ? `body ${id}` : `body in row ${told.row}`) +
		(told.frame !== frame.frame ? `, frame ${told.frame}` : '');
	about.querySelector('table').replaceChildren(...rows);
	about.hidden = false;
}

/* ---- following ---- */

function set_follow(what) {
	if (what === 'body' && !chosen)
		what = '';
	ui.follow = what;
	$('follow').value = what;
	if (frames.shown)
		follow_frame(frames.shown);
	want();
}

/* Moves the camera with what is followed; the table of the chosen body follows, too. */
function follow_frame(frame) {
	const row = row_of_chosen(frame);
	const to = ui.follow === 'com' ? frame.com || frame.centre : ui.follow === 'densest' ? frame.densest
		: ui.follow === 'body' && row >= 0 ? place_of(frame, row) : null;
	if (chosen)
		tell_body();
	if (!to)
		return;
	camera.centre = to.slice();
	view_changed();
}
