/* Where bodies were in the last frames, as lines that fade with age; the card keeps them, so that turning costs nothing. */

const MOST_TRAILS = 2048; /* bodies that have one */

const trails = {key: '', count: 0};

/* A piece from an older place to a newer one, as a strip of two triangles; it is thinner where it is older. */
const trail_shader = header + `
layout(location = 0) in vec4 a_from; /* position, and light in [0, 1] */
layout(location = 1) in vec4 a_to;
layout(location = 2) in vec3 a_hue;
uniform vec2 origin, size;
uniform vec3 across, down;
uniform float wide; /* pixels, of light 1 */
out vec4 point;
out vec2 beside; /* the distance from the middle, and half the width */
vec2 place(vec3 p)
{
	return origin + vec2(dot(across, p), dot(down, p));
}

void main()
{
	vec2 from = place(a_from.xyz), way = place(a_to.xyz) - from;
	float far = length(way), end = float(gl_VertexID & 1), hand = float(gl_VertexID >> 1) * 2.0 - 1.0;
	vec2 along = far > 0.0 ? way / far : vec2(1, 0);
	float light = mix(a_from.w, a_to.w, end), half_wide = wide * (0.35 + 0.65 * light) / 2.0, reach = half_wide + 1.0;
	vec2 at = from + way * end + along * (end * 2.0 - 1.0) * half_wide * 0.5 + vec2(-along.y, along.x) * hand * reach;
	point = vec4(a_hue, light);
	beside = vec2(hand * reach, half_wide);
	gl_Position = vec4(at.x / size.x * 2.0 - 1.0, 1.0 - at.y / size.y * 2.0, 0, 1);
}
`;

const fade_shader = header + `
uniform sampler2D map;
uniform int by, print;
in vec4 point;
in vec2 beside;
out vec4 colour;
void main()
{
	float light = point.w, cover = clamp(beside.y + 0.5 - abs(beside.x), 0.0, 1.0);
	vec3 map_rgb = texture(map, vec2(((print == 1 ? 1.0 - light : light) * 255.0 + 0.5) / 256.0, 0.5)).rgb;
	vec3 hue_rgb = print == 1 ? 1.0 - light * (1.0 - 0.72 * point.rgb * point.rgb) : light * point.rgb;
	colour = vec4(mix(vec3(print), by == 0 ? map_rgb : hue_rgb, cover), 1);
}
`;

/* Where these bodies of the newest of the frames are in an older one: by their ids, or by their order. */
function rows_in(frame, newest, rows) {
	if (frame === newest || (!frame.id && !newest.id && frame.n === newest.n))
		return rows;
	if (!frame.id || !newest.id)
		return rows.map(() => -1);
	const wanted = new Map(rows.map((row, k) => [newest.id[row], k])), found = rows.map(() => -1);
	for (let i = 0; i < frame.got; i++) {
		const k = wanted.get(frame.id[i]);
		if (k !== undefined)
			found[k] = i;
	}
	return found;
}

/* The bodies whose trails are drawn; the chosen one alone, if there is one. */
function trailing(frame) {
	const row = row_of_chosen(frame), rows = [];
	if (row >= 0)
		return [row];
	for (let i = 0; i < frame.got && rows.length < MOST_TRAILS; i++)
		if (!(frame.kind && ui.hidden.has(frame.kind[i])) && !is_away(frame, i))
			rows.push(i);
	return rows;
}

function hue_of(frame, row, by) {
	if (by === 2)
		return brighten(kind_rgb(frame.kind[row]));
	const at = by === 1 ? 3 * (frame.value[row] >> 8) : 0;
	return by === 1 ? [0, 1, 2].map(c => hues.value[at + c] / 255) : [1, 1, 1];
}

/* The way of a body from one place to another, each straight piece as [place, place, where on the way it begins and ends]:
 * in a periodic box to the nearest image, cut at each wall, behind which it goes on at the opposite one. */
function pieces_of(from, to, {box, walls}) {
	if (!box || from.every((x, c) => Math.abs(to[c] - x) <= box / 2))
		return [[from, to, 0, 1]];
	const step = from.map((x, c) => to[c] - x - box * Math.round((to[c] - x) / box));
	const at = t => from.map((x, c) => x + t * step[c]), cell = x => walls ? walls * Math.floor(x / walls) : 0;
	const cuts = from.map((x, c) => (cell(Math.max(x, x + step[c])) - x) / step[c]).filter(t => walls && t > 0 && t < 1);
	const ends = [0, ...cuts.sort((a, b) => a - b), 1];
	return ends.slice(1).map((t, k) => {
		const shift = at((ends[k] + t) / 2).map(cell);
		return [...[ends[k], t].map(end => at(end).map((x, c) => x - shift[c])), ends[k], t];
	});
}

/* Brings the lines into the memory of the card; positions are in the scale of the frame that is shown. */
function build_trails(frame, past, by) {
	const gl = sky.gl, rows = trailing(frame), most = rows.length > 200 ? 0.55 : 0.85, numbers = [], edge = frame.scale[3];
	const hue = rows.map(row => hue_of(frame, row, by));
	const places = of => rows_in(of, frame, rows).map(row => row >= 0 && row < of.got && !is_away(of, row)
		? place_of(of, row) : null), scaled = place => place.map((x, c) => (x - frame.scale[c]) / edge);
	let newer = places(frame);
	for (let age = 1; age < past.length; age++) {
		const older = places(past[age]), light = k => (1 - k / (past.length - 1)) * most;
		older.forEach((from, k) => {
			for (const [a, b, s, t] of from && newer[k] ? pieces_of(from, newer[k], frame) : [])
				numbers.push(...scaled(a), light(age - s), ...scaled(b), light(age - t), ...hue[k]);
		});
		newer = older;
	}
	trails.lost = past.some(f => !f.id !== !frame.id);
	trails.array = trails.array || gl.createVertexArray();
	trails.buffer = trails.buffer || gl.createBuffer();
	gl.bindVertexArray(trails.array);
	gl.bindBuffer(gl.ARRAY_BUFFER, trails.buffer);
	gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.DYNAMIC_DRAW);
	[4, 4, 3].forEach((ncomp, k) => {
		gl.enableVertexAttribArray(k);
		gl.vertexAttribPointer(k, ncomp, gl.FLOAT, false, 44, 16 * k);
		gl.vertexAttribDivisor(k, 1);
	});
	gl.bindVertexArray(null);
	trails.count = numbers.length / 11;
	trails.wide = rows.length > 200 ? 2 : 3; /* pixels of the window */
}

/* On the canvas; where lines cross, the brighter one is seen. */
function draw_trails(frame) {
	const gl = sky.gl, by = colour_mode(frame), at = shown_index(), row = row_of_chosen(frame);
	if (ui.trails === 0 || at < 0)
		return;
	/* frames of the run, whether they are kept or not */
	const past = frames.list.slice(0, at + 1).filter(f => f.frame >= frame.frame - ui.trails).reverse();
	const key = [frame.sequence, past.length, ui.trails, ui.by, by, row, ...ui.hidden].join();
	if (key !== trails.key)
		build_trails(frame, past, by);
	trails.key = key;
	const {origin, across, down} = matrix_of(lens_of(sky.width, sky.height), frame.scale);
	load_map(map_table());
	use('trail', {origin, across, down, size: [sky.width, sky.height], wide: trails.wide * sky.height / innerHeight, map: 3, by, print: ui.print ? 1 : 0});
	gl.enable(gl.BLEND);
	gl.blendEquation(ui.print ? gl.MIN : gl.MAX);
	gl.bindVertexArray(trails.array);
	gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, trails.count);
	gl.bindVertexArray(null);
	gl.blendEquation(gl.FUNC_ADD);
	gl.disable(gl.BLEND);
}
