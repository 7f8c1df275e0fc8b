/* Programs of the card.  Pixels have y down until the last step; densities are weights per pixel of the picture. */

const BORDER = 8;	/* texels around each level of the atlas, for bodies at the edge */
const LEVELS = 8;	/* of the atlas: one for each power of two of a body's radius */
const FINEST = 3;	/* pixels: from twice this radius on a body is drawn on the next level */

const header = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
`;

/* Where a body lies, and its kind: colour, and as alpha the channel of its counts; 255 is hidden. */
const body_shader = header + `
layout(location = 0) in vec4 a_body; /* position, and the root of the weight */
layout(location = 1) in float a_value;
layout(location = 2) in uint a_kind;
uniform vec2 origin, size;
uniform vec3 across, down;
uniform float jitter; /* a place within the step of a quantised position */
uniform sampler2D kinds;

float noise(uint x)
{
	x = (x ^ (x >> 16)) * 0x7feb352du;
	x = (x ^ (x >> 15)) * 0x846ca68bu;
	return float(x >> 8) / 16777216.0 - 0.5;
}

vec2 place(int index)
{
	vec3 p = a_body.xyz;
	if (p == vec3(1))
		return vec2(-1e9); /* far outside of the cube in which positions are told */
	if (jitter > 0.0) {
		uint i = uint(index) * 3u;
		p += jitter * vec3(noise(i), noise(i + 1u), noise(i + 2u));
	}
	return origin + vec2(dot(across, p), dot(down, p));
}

vec4 kind_of()
{
	return texelFetch(kinds, ivec2(int(a_kind), 0), 0);
}

uniform float lift; /* so that the heaviest one that is shown has weight 1 */
float weight_of()
{
	return a_body.w * a_body.w * lift;
}

void nowhere()
{
	gl_Position = vec4(2, 2, 2, 1);
	gl_PointSize = 1.0;
}
`;

/* Channel 0 is the weight; the others are its product with what the colour shows. */
const light_shader = `
uniform int by; /* 0 density, 1 value, 2 kind */
vec4 light_of(float weight, vec4 kind)
{
	return weight * (by == 0 ? vec4(1, 0, 0, 0) : by == 1 ? vec4(1, a_value, 0, 0) : vec4(1, kind.rgb));
}
`;

/* Counts bodies in cells of 2 pixels around the picture. */
const count_shader = body_shader + `
uniform vec2 corner, cells;
flat out vec4 channel;
void main()
{
	vec4 kind = kind_of();
	vec2 at = floor((place(gl_VertexID) - corner) / 2.0);
	nowhere();
	if (kind.a > 0.9 || any(lessThan(at, vec2(0))) || any(greaterThanEqual(at, cells)))
		return;
	channel = vec4(equal(ivec4(0, 1, 2, 3), ivec4(int(kind.a * 255.0 + 0.5))));
	gl_Position = vec4((at + 0.5) / cells * 2.0 - 1.0, 0, 1);
}
`;

const flat_shader = header + `
flat in vec4 channel;
out vec4 sum;
void main()
{
	sum = channel;
}
`;

/* A triangle over all. */
const whole_shader = header + `
void main()
{
	gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0, 1);
}
`;

/* Counts of cells twice as large. */
const coarser_shader = header + `
uniform sampler2D counts;
uniform int level; /* of the finer ones */
out vec4 sum;
void main()
{
	ivec2 at = 2 * ivec2(gl_FragCoord.xy);
	sum = texelFetch(counts, at, level) + texelFetch(counts, at + ivec2(1, 0), level) +
		texelFetch(counts, at + ivec2(0, 1), level) + texelFetch(counts, at + ivec2(1, 1), level);
}
`;

/* The radius of a body by its place: the method of nb_pyramid_radius in kernels/picture. */
const radius_part = `
uniform sampler2D counts;
uniform vec2 corner;
uniform int grids, rest; /* rest: the channel of bodies that all others count for */
uniform vec4 wanted; /* bodies over which the density is taken, in each channel; 0: the smallest radius */
uniform float most, each; /* the largest radius; bodies for which one that is drawn stands */

float bodies_at(int level, vec2 at, vec4 mask)
{
	vec2 base = floor(at - 0.5), part = at - 0.5 - base;
	ivec2 size = textureSize(counts, level);
	float sum = 0.0;
	for (int k = 0; k < 4; k++) {
		ivec2 next = ivec2(k & 1, k >> 1), cell = ivec2(base) + next;
		if (any(lessThan(cell, ivec2(0))) || any(greaterThanEqual(cell, size)))
			continue;
		vec2 share = mix(1.0 - part, part, vec2(next));
		sum += share.x * share.y * dot(texelFetch(counts, cell, level), mask);
	}
	return sum * each;
}

float radius_at(vec2 at, int channel)
{
	vec4 mask = channel == rest ? vec4(1) : vec4(equal(ivec4(channel), ivec4(0, 1, 2, 3)));
	float before = 0.0, found = 0.0, cell = 2.0, grows = 2.0, r, need = wanted[channel];
	ivec2 size = textureSize(counts, 0);
	int level = 0;
	at -= corner;
	if (need <= 0.0 || any(lessThan(at, vec2(0))) || any(greaterThanEqual(at, 2.0 * vec2(size))))
		return 2.0;
	for (; level < grids; level++, cell *= 2.0) {
		before = found;
		found = 1.131 * 3.0 * bodies_at(level, at / cell, mask);
		if (found >= need)
			break;
	}
	r = cell;
	if (level == grids)
		r = most;
	else if (level == 0 || !(before > 0.0))
		r *= sqrt(need / found);
	else {
		grows = log2(found / before);
		r *= exp2(log2(need / before) / grows - 1.0);
		grows = clamp(grows + 0.4, 1.0, 2.0);
	}
	return clamp(r * exp2(2.0 - 4.0 / grows), 2.0, most);
}
`;

/* Spreads bodies on the level of the atlas that suits their radius. */
const splat_shader = body_shader + light_shader + radius_part + `
uniform vec2 atlas;
uniform vec3 region[${LEVELS}]; /* where a level begins, and 1 / the size of its texels */
uniform int levels;
uniform float gain, cap, heavy, spot, point; /* point > 0: bodies are points of that radius, more for a larger mass */
flat out vec3 body; /* texels: centre and radius */
flat out vec4 light;
void main()
{
	vec4 kind = kind_of();
	vec2 at = place(gl_VertexID);
	nowhere();
	if (kind.a > 0.9)
		return;
	float weight = weight_of();
	float r = point > 0.0 ? (1.0 + pow(weight, 1.0 / 3.0)) * point : radius_at(at, int(kind.a * 255.0 + 0.5));
	if (point <= 0.0 && weight > heavy)
		r = min(r, max(r * sqrt(heavy / weight), spot));
	r = max(r, 2.0);
	if (!(all(greaterThan(at, vec2(-r))) && all(lessThan(at, size + r))))
		return;
	int level = clamp(int(floor(log2(r / ${FINEST}.0))), 0, levels - 1);
	body = vec3(region[level].xy + at * region[level].z, r * region[level].z);
	light = light_of(min(weight, cap) * gain * 5.0 / (3.14159265 * r * r), kind);
	gl_Position = vec4(body.xy / atlas * 2.0 - 1.0, 0, 1);
	gl_PointSize = 2.0 * body.z;
}
`;

const smooth_shader = header + `
flat in vec3 body;
flat in vec4 light;
out vec4 sum;
void main()
{
	vec2 d = gl_FragCoord.xy - body.xy;
	float t = max(1.0 - dot(d, d) / (body.z * body.z), 0.0);
	t *= t;
	sum = light * (t * t);
}
`;

/* Few bodies: squares, on which a disc with a glow is drawn. */
const disc_shader = body_shader + light_shader + `
uniform float disc;
flat out vec3 body; /* pixels: centre, radius */
flat out vec4 light;
void main()
{
	vec4 kind = kind_of();
	nowhere();
	if (kind.a > 0.9)
		return;
	float r = max((1.0 + pow(weight_of(), 1.0 / 3.0)) * disc, 1.5), reach = r + max(1.0, min(4.0 * r, size.y / 20.0)) + 1.0;
	vec2 at = place(gl_InstanceID);
	body = vec3(at, r);
	light = light_of(1.0, kind);
	vec2 end = at + reach * vec2((gl_VertexID & 1) * 2 - 1, (gl_VertexID >> 1) * 2 - 1);
	gl_Position = vec4(end / size * 2.0 - 1.0, 0, 1);
}
`;

const glow_shader = header + `
uniform vec2 size;
flat in vec3 body;
flat in vec4 light;
out vec4 sum;
void main()
{
	float beyond = length(gl_FragCoord.xy - body.xy) - body.z, glow = max(1.0, min(4.0 * body.z, size.y / 20.0));
	float core = clamp(0.5 - beyond, 0.0, 1.0), t = clamp(1.0 - beyond / glow, 0.0, 1.0);
	sum = light * (core + (1.0 - core) * 0.4 * t * t * t);
}
`;

/* A level of the atlas, and all coarser ones, which are interpolated: by Catmull-Rom's cubic, or linearly in haste. */
const gather_shader = header + `
uniform sampler2D level, coarse;
uniform ivec2 from;	/* of this level in the atlas */
uniform int border, deeper, cubic;
out vec4 sum;
void main()
{
	ivec2 at = ivec2(gl_FragCoord.xy);
	sum = texelFetch(level, from + at, 0);
	if (deeper == 0)
		return;
	vec2 p = (vec2(at - border) + 0.5) / 2.0 - 0.5, base = floor(p);
	ivec2 c = ivec2(base) + ${BORDER}, last = textureSize(coarse, 0) - 1;
	vec2 t = p - base;
	if (cubic == 0) {
		for (int k = 0; k < 4; k++) {
			ivec2 s = ivec2(k & 1, k >> 1);
			vec2 w = mix(1.0 - t, t, vec2(s));
			sum += w.x * w.y * texelFetch(coarse, clamp(c + s, ivec2(0), last), 0);
		}
		return;
	}
	vec4 near = vec4(-0.0703125, 0.8671875, 0.2265625, -0.0234375);
	vec4 wx = t.x < 0.5 ? near : near.wzyx, wy = t.y < 0.5 ? near : near.wzyx, more = vec4(0);
	for (int j = 0; j < 4; j++)
		for (int i = 0; i < 4; i++)
			more += wx[i] * wy[j] * texelFetch(coarse, clamp(c + ivec2(i, j) - 1, ivec2(0), last), 0);
	sum = max(sum + more, 0.0);
}
`;

/* The densities at some bodies, a texel each; -1 where they are not in the picture. */
const probe_shader = body_shader + `
uniform sampler2D image;
uniform int edge;
flat out vec4 channel;
void main()
{
	vec2 at = place(gl_VertexID);
	bool inside = all(greaterThanEqual(at, vec2(0))) && all(lessThan(at, size)) && kind_of().a < 0.9;
	channel = vec4(inside ? texelFetch(image, ivec2(at), 0).x : -1.0);
	vec2 cell = vec2(gl_VertexID % edge, gl_VertexID / edge);
	gl_PointSize = 1.0;
	gl_Position = vec4((cell + 0.5) / float(edge) * 2.0 - 1.0, 0, 1);
}
`;

/* One density in so many. */
const thin_shader = header + `
uniform sampler2D image;
uniform vec2 every;
out vec4 sum;
void main()
{
	sum = texelFetch(image, ivec2(gl_FragCoord.xy * every), 0);
}
`;
