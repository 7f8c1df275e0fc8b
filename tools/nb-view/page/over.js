/* What is over the sky: title, time, scale, colours, the chosen body and the walls of a box. */

/* Letters that can be read on anything. */
function write(context, text, x, y, align = 'left', weight = 400, size = 13) {
	const unit = sky.height / innerHeight;
	context.font = `${weight} ${size * unit}px system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;
	context.textAlign = align;
	context.lineWidth = 3 * unit;
	context.lineJoin = 'round';
	context.strokeStyle = ui.print ? 'rgba(255,255,255,.8)' : 'rgba(0,0,0,.6)';
	context.fillStyle = ui.print ? '#20242e' : '#e8e9ee';
	context.strokeText(text, x, y);
	context.fillText(text, x, y);
}

/* Only where something of it has changed. */
function draw_over() {
	const context = $('over').getContext('2d'), frame = frames.shown, moves = chosen || (frame && (frame.names || frame.walls));
	const key = frame && JSON.stringify([frame.frame, frame.got, sky.width, sky.height, camera.size, numbers_text(frame), {...ui, hidden: 0},
		[...ui.hidden], range_shown().map(x => short(x)), document.body.className, innerHeight, moves ? [camera, chosen && chosen.index] : 0]);
	if (key && key === sky.written)
		return;
	sky.written = key;
	context.clearRect(0, 0, sky.width, sky.height);
	if (!frame)
		return;
	if (ui.walls && frame.walls)
		draw_walls(context, frame.walls);
	if (ui.labels && frame.id)
		draw_names(context, frame);
	draw_chosen(context, frame);
	if (ui.labels)
		draw_labels(context, frame);
}

/* ---- labels ---- */

function draw_labels(context, frame) {
	const unit = sky.height / innerHeight, left = 16 * unit, units = frame.units || {};
	let y = 28 * unit;
	if (frame.title) {
		write(context, frame.title, left, y, 'left', 600, 15);
		y += 20 * unit;
	}
	write(context, moment_text(frame, units.time), left, y);
	y += 18 * unit;
	write(context, numbers_text(frame), left, y, 'left', 400, 11.5);
	if (innerWidth > 640 || document.body.classList.contains('bare')) { /* else the panel is there */
		draw_scale(context, units.length || '');
		draw_colours(context, frame);
	}
}

/* How many bodies there are, and how many of them are drawn. */
function numbers_text(frame) {
	const all = `${grouped(frame.n)} bodies`, drawn = is_drawn() ? frame.n : sky.painted ? sky.painted.count : frame.got;
	const kept = colour_is_missing(frame) ? `, kept without ${ui.by}` : ui.trails > 0 && trails.lost ? ', some kept without id' : '';
	return (drawn < frame.n ? `${all}, 1 in ${short(frame.n / drawn, 2)} drawn` : all) + kept;
}

const bottom = unit => sky.height - (innerWidth > 640 ? 70 : 86) * unit;

function draw_scale(context, name) {
	const unit = sky.height / innerHeight, scale = Math.min(sky.width, sky.height) / camera.size;
	const length = round_length(Math.min(sky.width / 4, 240 * unit) / scale), wide = length * scale;
	const x = 16 * unit, y = bottom(unit);
	context.fillStyle = ui.print ? 'rgba(255,255,255,.8)' : 'rgba(0,0,0,.6)';
	context.fillRect(x - unit, y - unit, wide + 2 * unit, 5 * unit);
	context.fillStyle = ui.print ? '#20242e' : '#e8e9ee';
	context.fillRect(x, y, wide, 3 * unit);
	write(context, length_text(length, name), x, y - 8 * unit);
}

/* A bar of colours with the numbers that they stand for. */
function draw_colours(context, frame) {
	const unit = sky.height / innerHeight, by = colour_mode(frame), job = sky.painted;
	if (by === 2 || (by === 0 && (!job || job.shape === 'discs')))
		return;
	const side = document.body.classList.contains('bare') || innerWidth <= 640 ? 0 : 248 * unit;
	const wide = 170 * unit, x = sky.width - 16 * unit - wide - side, y = bottom(unit), table = by === 1 ? hues.value : map_table();
	for (let k = 0; k < wide; k++) {
		const v = Math.min(Math.floor(256 * k / wide), 255), at = 3 * (ui.print && by === 0 ? 255 - v : v);
		context.fillStyle = css([...table.subarray(at, at + 3)]);
		context.fillRect(x + k, y - 3 * unit, 1.5, 6 * unit);
	}
	const units = frame.units || {}, mass = units.density ? ` [${units.density}]` : '';
	const range = by === 1 ? frame.range : range_shown().map(r => r * mass_unit());
	const name = by === 1 ? ui.by + (frame.unit ? ` [${frame.unit}]` : '') : 'surface density' + mass;
	write(context, name, x + wide, y - 11 * unit, 'right', 400, 11.5);
	write(context, short(by === 0 && ui.stretch === 'asinh' ? 0 : range[0]), x, y + 17 * unit, 'left', 400, 11.5);
	write(context, short(range[1]), x + wide, y + 17 * unit, 'right', 400, 11.5);
}

/* The edges of a periodic box. */
function draw_walls(context, edge) {
	const lens = lens_of(sky.width, sky.height), corner = k => project(lens, [1, 2, 4].map(bit => k & bit ? edge : 0));
	context.lineWidth = sky.height / innerHeight;
	context.strokeStyle = ui.print ? 'rgba(32,36,46,.4)' : 'rgba(232,233,238,.4)';
	context.beginPath();
	for (let k = 0; k < 8; k++)
		for (const bit of [1, 2, 4].filter(b => !(k & b))) {
			context.moveTo(...corner(k));
			context.lineTo(...corner(k | bit));
		}
	context.stroke();
}

/* ---- bodies ---- */

/* A body far outside of the cube in which positions are told. */
const is_away = (frame, index) => frame.pos[3 * index] === 65535 && frame.pos[3 * index + 1] === 65535 && frame.pos[3 * index + 2] === 65535;

/* Where body index of the points of a frame is. */
function place_of(frame, index) {
	const [x, y, z, edge] = frame.scale;
	return [x, y, z].map((from, k) => from + edge * frame.pos[3 * index + k] / 65535);
}

/* Names of bodies by their ids, of a text such as "0 Sun, 1 Earth". */
function names_of(frame) {
	if (!frame.called)
		frame.called = new Map((frame.names || '').split(',').map(part => part.match(/^\s*(\d+)\s+(.*\S)/)).filter(Boolean)
			.map(([, id, name]) => [BigInt(id), name]));
	return frame.called;
}

/* The name of each body that has one, beside it, unless it would lie on that of a heavier one. */
function draw_names(context, frame) {
	const unit = sky.height / innerHeight, lens = lens_of(sky.width, sky.height), taken = [], names = names_of(frame), rows = [];
	for (let i = 0; names.size && i < frame.got; i++)
		if (names.has(frame.id[i]) && !is_away(frame, i) && !(frame.kind && ui.hidden.has(frame.kind[i])))
			rows.push(i);
	if (frame.weight)
		rows.sort((a, b) => frame.weight[b] - frame.weight[a]);
	for (const i of rows) {
		const name = names.get(frame.id[i]), [x, y] = project(lens, place_of(frame, i));
		const wide = context.measureText(name).width + 14 * unit;
		if (taken.some(t => Math.abs(t.y - y) < 16 * unit && x < t.x + t.wide && t.x < x + wide))
			continue;
		taken.push({x, y, wide});
		write(context, name, x + 12 * unit, y + 4 * unit, 'left', 400, 12);
	}
}

/* A ring about the chosen body. */
function draw_chosen(context, frame) {
	const row = row_of_chosen(frame), unit = sky.height / innerHeight;
	if (row < 0)
		return;
	const [x, y] = project(lens_of(sky.width, sky.height), place_of(frame, row));
	for (const [wide, colour] of [[4, ui.print ? '#fff' : '#000'], [1.6, ui.print ? '#20242e' : '#fff']]) {
		context.lineWidth = wide * unit;
		context.strokeStyle = colour;
		context.beginPath();
		context.arc(x, y, 9 * unit, 0, 2 * Math.PI);
		context.stroke();
	}
}
