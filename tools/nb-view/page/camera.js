/* The camera: orthographic, z upwards, seen from an azimuth and an elevation as nb-render-ppm --view. */

const camera = {azimuth: -90, elevation: 90, centre: [0, 0, 0], size: 1};

/* Axes of a picture taken from there; whole quarter turns are exact. */
function axes_of(azimuth, elevation) {
	const turned = angle => {
		const turns = Math.round(angle / 90), rest = (angle / 90 - turns) * Math.PI / 2, turn = (turns % 4 + 4) % 4;
		const s = Math.sin(rest), c = Math.cos(rest);
		return [[s, c, -s, -c][turn], [c, -s, -c, s][turn]];
	};
	const [sa, ca] = turned(azimuth), [se, ce] = turned(elevation);
	return {right: [-sa, ca, 0], up: [-se * ca, -se * sa, ce]};
}

/* A camera for so many pixels: pixels per length and axes. */
function lens_of(width, height) {
	const {right, up} = axes_of(camera.azimuth, camera.elevation);
	return {right, up, width, height, centre: camera.centre.slice(), scale: Math.min(width, height) / camera.size};
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/* Pixels of a place, y down. */
function project(lens, place) {
	const d = place.map((x, k) => x - lens.centre[k]);
	return [lens.width / 2 + dot(d, lens.right) * lens.scale, lens.height / 2 - dot(d, lens.up) * lens.scale];
}

/* How quantised positions become pixels: u = origin + across . p, v = origin + down . p, with p in [0, 1]. */
function matrix_of(lens, scale) {
	const edge = scale[3], origin = project(lens, scale.slice(0, 3));
	return {origin, across: lens.right.map(x => x * lens.scale * edge), down: lens.up.map(x => -x * lens.scale * edge)};
}

function turn(azimuth, elevation) {
	camera.azimuth = ((camera.azimuth + azimuth + 180) % 360 + 360) % 360 - 180;
	camera.elevation = clamp(camera.elevation + elevation, -90, 90);
	view_changed();
}

function look_from(azimuth, elevation) {
	Object.assign(camera, {azimuth, elevation});
	view_changed();
}

/* By so many pixels of the window; what is followed is let go. */
function pan(dx, dy) {
	const lens = lens_of(innerWidth, innerHeight);
	set_follow('');
	camera.centre = camera.centre.map((x, k) => x + (dy * lens.up[k] - dx * lens.right[k]) / lens.scale);
	view_changed();
}

/* Enlarges about a place of the window, or about the middle while something is followed. */
function zoom(factor, x = innerWidth / 2, y = innerHeight / 2) {
	const lens = lens_of(innerWidth, innerHeight), before = camera.size;
	camera.size = clamp(camera.size / factor, 1e-30, 1e30);
	const share = ui.follow ? 0 : (1 - camera.size / before) / lens.scale;
	const dx = (x - lens.width / 2) * share, dy = (y - lens.height / 2) * share;
	camera.centre = camera.centre.map((c, k) => c + dx * lens.right[k] - dy * lens.up[k]);
	view_changed();
}

/* The view that the first frame suggests. */
function look_at_all() {
	const frame = frames.shown;
	if (!frame)
		return;
	Object.assign(camera, {azimuth: -90, elevation: 90, centre: frame.centre.slice(), size: frame.size});
	set_follow('');
	view_changed();
}
