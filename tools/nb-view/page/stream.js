/* The connection to nb-view: messages come as one endless answer; what the page needs goes there by POST. */

const HELLO = 1, FRAME = 2, POINTS = 3, PICTURE = 4, END = 5;

const stream = {client: crypto.getRandomValues(new Uint32Array(1))[0], number: 0, ended: false, lost: false, wait: 500, reason: ''};

async function read_messages(reader) {
	const head = new Uint8Array(16);
	let body = null, filled = 0;
	for (;;) {
		const {done, value} = await reader.read();
		if (done)
			return;
		for (let at = 0; at < value.length;) {
			const to = body || head, part = Math.min(to.length - filled, value.length - at);
			to.set(value.subarray(at, at + part), filled);
			at += part;
			filled += part;
			if (filled < to.length)
				continue;
			filled = 0;
			if (!body) {
				const length = new DataView(head.buffer).getUint32(4, true);
				body = new Uint8Array(length);
				if (length)
					continue;
			}
			const view = new DataView(head.buffer);
			take_message(view.getUint32(0, true), Number(view.getBigUint64(8, true)), body.buffer);
			body = null;
		}
	}
}

const json_of = data => JSON.parse(new TextDecoder().decode(data).replace(/\0+$/, ''));

function take_message(type, sequence, data) {
	if (type === HELLO)
		hello(json_of(data));
	else if (type === FRAME)
		told_frame(sequence, json_of(data));
	else if (type === POINTS)
		take_points(sequence, data);
	else if (type === PICTURE)
		take_picture(data);
	else if (type === END)
		stream.ended = true;
	bar_changed();
}

/* Reads until the run has ended or nb-view is gone, and then tries again, ever more seldom. */
async function connect() {
	for (;;) {
		const began = performance.now();
		try {
			const answer = await post('stream');
			if (!answer.ok)
				throw new Error(answer.status === 403 ? 'refused (is the address complete?)' : 'status ' + answer.status);
			if (stream.lost)
				notice('');
			stream.lost = false;
			stream.wait = 500;
			await read_messages(answer.body.getReader());
			if (performance.now() - began > 5000)
				continue; /* nb-view ends an answer that nothing was read of for long */
		} catch (error) {
			stream.reason = error instanceof TypeError ? '' : error.message + '; ';
		}
		stream.lost = true;
		bar_changed();
		if (stream.ended) {
			notice('nb-view has ended; the frames that are here stay');
			return;
		}
		notice(`${stream.reason}no connection to nb-view; trying again`);
		await new Promise(later => setTimeout(later, stream.wait));
		stream.wait = Math.min(2 * stream.wait, 30000);
	}
}

/* ---- what the page needs ---- */

/* Tells it soon, and only if it has changed. */
function want() {
	clearTimeout(stream.timer);
	stream.timer = setTimeout(tell, 30);
}

/* Whether nb-view is to draw a picture: of bodies that are too many to send, or where there is no card. */
const needs_picture = frame => frame && sky.still && (frame.drawn || !sky.gl) && frame === frames.list.at(-1);

const range_to_draw = () => exposure.ready ? range_shown().map(x => x * mass_unit()) : [];

/* struct talk_want of nb-view.  The first picture is one of few bodies, so that it comes at once. */
function what_is_wanted() {
	const bytes = new Uint8Array(648), lens = lens_of(sky.width, sky.height), draws = needs_picture(frames.shown);
	const columns = HAS_VALUE * by_has_value() | HAS_SPECIES | HAS_WEIGHT | HAS_ID * needs_ids();
	const map = Math.max(Object.keys(hues.maps).indexOf(ui.map), 0);
	new Uint32Array(bytes.buffer, 0, 9).set([stream.number, columns, draws ? 1 : 0, sky.seen ? 1 << 20 : LEAST, sky.width, sky.height,
		stretches.indexOf(ui.stretch), map, ui.print ? 1 : 0]);
	if (draws)
		new Float64Array(bytes.buffer, 40).set([...lens.centre, ...lens.right, ...lens.up, lens.scale, ...range_to_draw()]);
	ui.hidden.forEach(k => { bytes[136 + k] = 1; });
	new TextEncoder().encodeInto(ui.by, bytes.subarray(392, 647));
	return bytes;
}

function tell() {
	if (!stream.lost && what_is_wanted().join() !== stream.told)
		post('want').catch(() => { stream.told = ''; });
}

function post(what) {
	stream.number++;
	const body = what_is_wanted();
	stream.told = body.join();
	stream.key = frames.shown ? picture_key() : '';
	return fetch(`${what}?client=${stream.client}`, {method: 'POST', headers: {'Content-Type': 'application/octet-stream'}, body});
}

async function ask_body(frame, index) {
	const answer = await fetch(`body?client=${stream.client}&frame=${frame}&index=${index}`, {cache: 'no-store'});
	if (!answer.ok)
		throw new Error('nb-view does not tell: status ' + answer.status);
	return answer.json();
}
