/* The frames that the page has seen and keeps, and which of them is shown. */

const HAS_VALUE = 1, HAS_SPECIES = 2, HAS_WEIGHT = 4, HAS_ID = 8;

const frames = {
	list: [],	/* complete ones, oldest first */
	coming: null,	/* the one whose points arrive */
	shown: null,
	live: true,	/* the newest is shown */
	playing: true,
	every: 1,	/* of the numbers of frames, one in so many is kept */
	bytes: 0,
	most: 512 << 20 /* bytes to keep */
};

/* A frame from its message; points follow. */
function told_frame(sequence, told) {
	frames.coming = Object.assign(told, {sequence, got: 0, bytes: 0, what: 0});
	if (told.ended)
		stream.ended = true;
	note_curves(told);
	panel_told(told);
	if (told.sent === 0)
		finish_frame(told);
}

function take_points(sequence, data) {
	const frame = frames.coming, head = new Uint32Array(data, 0, 4), [first, count, what] = head;
	if (!frame || frame.sequence !== sequence || first !== frame.got || first + count > frame.sent)
		return;
	if (first === 0) {
		frame.what = what;
		frame.pos = new Uint16Array(3 * frame.sent);
		frame.value = what & HAS_VALUE ? new Uint16Array(frame.sent) : null;
		frame.kind = what & HAS_SPECIES ? new Uint8Array(frame.sent) : null;
		frame.weight = what & HAS_WEIGHT ? new Uint16Array(frame.sent) : null;
		frame.id = what & HAS_ID ? new BigUint64Array(frame.sent) : null;
		frame.bytes = [frame.pos, frame.value, frame.kind, frame.weight, frame.id].reduce((b, a) => b + (a ? a.byteLength : 0), 0);
	}
	let at = 16;
	const take = (to, type, ncomp) => {
		if (!to)
			return;
		to.set(new type(data, at, ncomp * count), ncomp * first);
		at += Math.ceil(ncomp * count * type.BYTES_PER_ELEMENT / 8) * 8;
	};
	take(frame.pos, Uint16Array, 3);
	take(frame.value, Uint16Array, 1);
	take(frame.kind, Uint8Array, 1);
	take(frame.weight, Uint16Array, 1);
	take(frame.id, BigUint64Array, 1);
	frame.got += count;
	if (frame.got === frame.sent)
		finish_frame(frame);
	else if (!frames.shown || frames.shown === frame)
		show(frame); /* the first picture comes at once; later frames when they are whole */
}

function finish_frame(frame) {
	const list = frames.list, last = list[list.length - 1];
	frames.coming = null;
	if (last && last.frame === frame.frame) { /* sent again, with other columns */
		frames.bytes -= last.bytes;
		list.pop();
	} else if (last && last.frame > frame.frame) {
		list.length = frames.bytes = 0; /* another run */
		frames.every = 1;
	}
	list.push(frame);
	frames.bytes += frame.bytes;
	thin_out();
	if (frames.live || !frames.shown || (last && frames.shown === last && last.frame === frame.frame))
		show(frame);
	bar_changed();
}

/* Where memory is short every second frame goes, so that the whole run can still be seen. */
function thin_out() {
	const last = frames.list[frames.list.length - 1];
	while (frames.bytes > frames.most && frames.list.length > 2) {
		frames.every *= 2;
		const kept = frames.list.filter(f => f === last || f === frames.shown || f.frame % frames.every === 0);
		frames.list = kept.length < frames.list.length ? kept : frames.list.slice(1);
		frames.bytes = frames.list.reduce((sum, f) => sum + f.bytes, 0);
	}
	const before = frames.list[frames.list.length - 2];
	if (before && before !== frames.shown && before.frame % frames.every && frames.list.length > 2) {
		frames.list.splice(frames.list.length - 2, 1);
		frames.bytes -= before.bytes;
	}
}

function show(frame) {
	frames.shown = frame;
	frame_changed(frame);
}

const shown_index = () => frames.list.indexOf(frames.shown);

/* The frame at that place of the list; the last one of a run that goes on is live again. */
function seek(index) {
	const list = frames.list;
	if (!list.length)
		return;
	index = clamp(index, 0, list.length - 1);
	frames.live = index === list.length - 1 && frames.playing;
	show(list[index]);
	bar_changed();
}

function step(by) {
	frames.playing = false;
	seek((shown_index() < 0 ? frames.list.length - 1 : shown_index()) + by);
}

function play_or_pause() {
	frames.playing = !frames.playing;
	frames.live = false;
	if (frames.playing && shown_index() === frames.list.length - 1) {
		if (stream.ended)
			seek(0);
		else
			go_live();
	}
	frames.next = performance.now();
	bar_changed();
	wake();
}

function go_live() {
	frames.live = frames.playing = true;
	seek(frames.list.length - 1);
}

/* Shows the next of the kept frames when it is time; returns whether more will come. */
function play(now) {
	if (!frames.playing || frames.live || frames.list.length < 2)
		return false;
	if (now >= (frames.next || 0)) {
		frames.next = now + 40;
		const index = shown_index() + 1;
		if (index < frames.list.length)
			seek(index);
		if (index >= frames.list.length - 1 && stream.ended) {
			frames.playing = false;
			bar_changed();
		}
	}
	return frames.playing && !frames.live;
}
