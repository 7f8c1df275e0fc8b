/* From densities to colours: the last programs of the card. */

/* Densities to colours: nb_splat_stretch_cpu, nb_colormap_at and nb_hue_shade. */
const tone_shader = header + `
uniform sampler2D image, map;
uniform vec2 range, shown; /* shown: pixels of the window */
uniform int stretch, by, print; /* stretch: 0 asinh, 1 log, 2 linear */
out vec4 colour;

float brightness(float s)
{
	float v = stretch == 2 ? (s - range.x) / (range.y - range.x)
		: stretch == 1 ? (s > range.x ? log(s / range.x) / log(range.y / range.x) : 0.0)
		: asinh(s / range.x) / asinh(range.y / range.x);
	return clamp(v, 0.0, 1.0);
}

vec3 map_at(float v)
{
	return texture(map, vec2((v * 255.0 + 0.5) / 256.0, 0.5)).rgb;
}

void main()
{
	ivec2 size = textureSize(image, 0);
	vec2 at = vec2(gl_FragCoord.x, shown.y - gl_FragCoord.y) * vec2(size) / shown;
	vec4 sum = texelFetch(image, min(ivec2(at), size - 1), 0);
	float v = brightness(sum.x);
	vec3 rgb;
	if (by == 0) {
		rgb = print == 1 ? mix(vec3(1), map_at(1.0 - v), smoothstep(0.0, 0.3, v)) : map_at(v);
	} else {
		vec3 hue = by == 1 ? map_at(sum.y / sum.x) : sum.yzw / max(max(sum.y, sum.z), max(sum.w, 1e-37));
		float white = max(v - 0.7, 0.0) / 0.6;
		if (!(sum.x > 0.0))
			rgb = vec3(print);
		else if (print == 1)
			rgb = 1.0 - v * (1.0 - 0.72 * hue * hue);
		else
			rgb = min(v / 0.7, 1.0) * (hue + white * (1.0 - hue));
	}
	colour = vec4(rgb, 1);
}
`;

/* A picture that nb-view has drawn. */
const copy_shader = header + `
uniform sampler2D image;
uniform vec2 shown;
out vec4 colour;
void main()
{
	colour = vec4(texture(image, vec2(gl_FragCoord.x, shown.y - gl_FragCoord.y) / shown).rgb, 1);
}
`;

/* Colours on the canvas, from the densities that are there.  A picture of fewer pixels is enlarged by the browser. */
function present() {
	const gl = sky.gl, job = sky.painted, canvas = $('sky'), drawn = is_drawn();
	const size = job && !drawn ? [job.t.width, job.t.height] : [sky.width, sky.height];
	if (canvas.width !== size[0] || canvas.height !== size[1])
		Object.assign(canvas, {width: size[0], height: size[1]});
	gl.bindFramebuffer(gl.FRAMEBUFFER, null);
	gl.viewport(0, 0, ...size);
	if (drawn) {
		use('copy', {image: bind(1, sky.picture), shown: size});
		draw_whole();
	} else if (job) {
		draw_tones(job, size);
	} else {
		gl.clearColor(ui.print ? 1 : 0, ui.print ? 1 : 0, ui.print ? 1 : 0, 1);
		gl.clear(gl.COLOR_BUFFER_BIT);
	}
	if (frames.shown)
		draw_trails(frames.shown);
}

function draw_tones(job, shown) {
	const discs = job.shape === 'discs', area = job.lens.scale ** 2;
	const range = discs ? [0, 1] : range_shown().map(x => x / area);
	load_map(job.by === 1 ? hues.value : map_table());
	use('tone', {image: bind(1, job.t.image), map: 3, range, shown, by: job.by, print: ui.print ? 1 : 0,
		stretch: discs ? 2 : stretches.indexOf(ui.stretch)});
	draw_whole();
}
