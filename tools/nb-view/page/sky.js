/* The card: programs, textures and buffers; what the shown frame has is in its memory. */

const sky = {width: 0, height: 0, gl: null, program: {}, targets: new Map(), rests: false};

/* Programs are on their way from when they are first named, and finished when they are used. */
function program(name) {
	const gl = sky.gl, made = gl.createProgram();
	for (const [type, text] of [[gl.VERTEX_SHADER, programs[name][0]], [gl.FRAGMENT_SHADER, programs[name][1]]]) {
		const shader = gl.createShader(type);
		gl.shaderSource(shader, text);
		gl.compileShader(shader);
		gl.attachShader(made, shader);
	}
	gl.linkProgram(made);
	return made;
}

function finished(name) {
	const gl = sky.gl, made = sky.program[name] || (sky.program[name] = program(name));
	if (made.at)
		return made;
	if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) {
		const logs = gl.getAttachedShaders(made).map(s => gl.getShaderInfoLog(s)).join(' ');
		throw new Error(`program ${name}: ${logs} ${gl.getProgramInfoLog(made)}`);
	}
	made.at = {};
	for (let k = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k-- > 0;) {
		const {name: full, type} = gl.getActiveUniform(made, k);
		made.at[full.replace('[0]', '')] = {type, place: gl.getUniformLocation(made, full)};
	}
	return made;
}

/* What a program does not use is left out. */
function use(name, values) {
	const gl = sky.gl, program = finished(name);
	gl.useProgram(program);
	for (const [key, value] of Object.entries(values)) {
		const at = program.at[key];
		if (!at)
			continue;
		switch (at.type) {
		case gl.FLOAT: gl.uniform1f(at.place, value); break;
		case gl.FLOAT_VEC2: gl.uniform2fv(at.place, value); break;
		case gl.FLOAT_VEC3: gl.uniform3fv(at.place, value); break;
		case gl.FLOAT_VEC4: gl.uniform4fv(at.place, value); break;
		case gl.INT_VEC2: gl.uniform2iv(at.place, value); break;
		default: gl.uniform1i(at.place, value);
		}
	}
}

/* 32-bit sums where they can be had, else 16-bit ones; false: none of them. */
function choose_formats() {
	const gl = sky.gl, full = gl.getExtension('EXT_color_buffer_float'), blend = gl.getExtension('EXT_float_blend');
	const half = full || gl.getExtension('EXT_color_buffer_half_float');
	sky.formats = full && blend ? [gl.R32F, gl.RGBA32F] : half ? [gl.R16F, gl.RGBA16F] : null;
	return sky.formats !== null;
}

const programs = {count: [count_shader, flat_shader], coarser: [whole_shader, coarser_shader], splat: [splat_shader, smooth_shader],
	disc: [disc_shader, glow_shader], gather: [whole_shader, gather_shader], tone: [whole_shader, tone_shader],
	probe: [probe_shader, flat_shader], thin: [whole_shader, thin_shader], copy: [whole_shader, copy_shader],
	trail: [trail_shader, fade_shader]};

/* Returns whether there is a card, or a program that stands for one. */
function open_sky(canvas) {
	const gl = canvas.getContext('webgl2', {alpha: false, antialias: false, depth: false, powerPreference: 'high-performance'});
	sky.gl = gl;
	sky.targets.clear();
	if (!gl || !choose_formats())
		return false;
	sky.program = {};
	for (const name of ['count', 'coarser', 'splat', 'gather', 'probe', 'tone'])
		sky.program[name] = program(name);
	sky.buffer = [0, 1, 2].map(() => gl.createBuffer());
	sky.kinds = texture(256, 1, gl.RGBA8);
	sky.maps = texture(256, 1, gl.RGBA8, 1, gl.LINEAR);
	sky.picture = texture(1, 1, null, 1, gl.LINEAR);
	sky.probe = [64, 128].map(edge => target(edge, edge, sky.formats[0]));
	gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
	gl.blendFunc(gl.ONE, gl.ONE);
	sky.uploaded = null;
	Object.assign(trails, {key: '', array: null, buffer: null});
	return true;
}

function texture(width, height, format, levels = 1, filter = sky.gl.NEAREST) {
	const gl = sky.gl, made = gl.createTexture();
	gl.bindTexture(gl.TEXTURE_2D, made);
	if (format)
		gl.texStorage2D(gl.TEXTURE_2D, levels, format, width, height);
	gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, levels > 1 ? gl.NEAREST_MIPMAP_NEAREST : filter);
	gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
	gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
	gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
	return made;
}

/* A texture to draw on; of each of its levels. */
function target(width, height, format, levels = 1) {
	const gl = sky.gl, made = {width, height, texture: texture(width, height, format, levels), level: []};
	for (let l = 0; l < levels; l++) {
		made.level.push(gl.createFramebuffer());
		gl.bindFramebuffer(gl.FRAMEBUFFER, made.level[l]);
		gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, made.texture, l);
	}
	return made;
}

function drop(made) {
	made.level.forEach(f => sky.gl.deleteFramebuffer(f));
	sky.gl.deleteTexture(made.texture);
}

function draw_on(made, level = 0, clear = true) {
	const gl = sky.gl;
	gl.bindFramebuffer(gl.FRAMEBUFFER, made.level[level]);
	gl.viewport(0, 0, made.width >> level, made.height >> level);
	if (clear) {
		gl.clearColor(0, 0, 0, 0);
		gl.clear(gl.COLOR_BUFFER_BIT);
	}
}

function bind(unit, what) {
	sky.gl.activeTexture(sky.gl.TEXTURE0 + unit);
	sky.gl.bindTexture(sky.gl.TEXTURE_2D, what.texture || what);
	return unit;
}

const draw_whole = () => sky.gl.drawArrays(sky.gl.TRIANGLES, 0, 3);

/* ---- what a picture of some size needs ---- */

/* The grid of counts, as nb_pyramid_over. */
function pyramid_over(width, height) {
	const most = clamp(Math.min(width, height) / 6, 2, 1024);
	let levels = 1;
	while ((2 << (levels - 1)) < most)
		levels++;
	const coarsest = 2 << (levels - 1), half = size => Math.floor((Math.floor(size / 2) + 1 + Math.floor(most)) / coarsest) + 1;
	const across = half(width), down = half(height);
	return {most, levels, corner: [width / 2 - across * coarsest, height / 2 - down * coarsest],
		cells: [2 * across << (levels - 1), 2 * down << (levels - 1)]};
}

/* Level 0 on the left, the others on its right; each with a border. */
function atlas_over(width, height, most) {
	const levels = clamp(1 + Math.floor(Math.log2(most / FINEST)), 1, LEVELS), region = [];
	let high = height + 2 * BORDER, y = 0;
	for (let l = 0; l < levels; l++) {
		const w = Math.ceil(width / 2 ** l) + 2 * BORDER, h = Math.ceil(height / 2 ** l) + 2 * BORDER;
		region.push({x: l ? width + 2 * BORDER : 0, y: l ? y : 0, width: w, height: h});
		y += l ? h : 0;
	}
	high = Math.max(high, y);
	return {levels, region, width: width + 2 * BORDER + (levels > 1 ? region[1].width : 0), height: high};
}

/* channels: of the counts; colours: whether sums have colours. */
function targets_of(width, height, channels, colours) {
	const key = [width, height, channels > 1, colours].join();
	const known = sky.targets.get(key);
	if (known)
		return known;
	if (sky.targets.size >= 2) { /* the one for haste and the one for rest */
		for (const old of sky.targets.values())
			[old.counts, old.atlas, old.image, ...old.gathered].forEach(drop);
		sky.targets.clear();
		sky.painted = null;
	}
	const counting = sky.formats[channels > 1 ? 1 : 0], format = sky.formats[colours ? 1 : 0];
	const pyramid = pyramid_over(width, height), atlas = atlas_over(width, height, pyramid.most);
	const made = {width, height, pyramid, layout: atlas, counts: target(...pyramid.cells, counting, pyramid.levels),
		atlas: target(atlas.width, atlas.height, format),
		gathered: atlas.region.slice(1).map(r => target(r.width, r.height, format)), image: target(width, height, format)};
	sky.targets.set(key, made);
	return made;
}

/* ---- the shown frame ---- */

/* Brings what has come since the last time into the memory of the card. */
function upload(frame) {
	const gl = sky.gl, anew = sky.uploaded !== frame, from = anew ? 0 : sky.got;
	if (frame.sent === 0 || (from === frame.got && !anew))
		return;
	const fill_buffer = (k, data, ncomp, bytes) => {
		gl.bindBuffer(gl.ARRAY_BUFFER, sky.buffer[k]);
		if (anew)
			gl.bufferData(gl.ARRAY_BUFFER, frame.sent * ncomp * bytes, gl.DYNAMIC_DRAW);
		gl.bufferSubData(gl.ARRAY_BUFFER, from * ncomp * bytes, data);
		gl.enableVertexAttribArray(k);
	};
	fill_buffer(0, packed(frame, from), 4, 2);
	gl.vertexAttribPointer(0, 4, gl.UNSIGNED_SHORT, true, 0, 0);
	gl.disableVertexAttribArray(1);
	gl.disableVertexAttribArray(2);
	gl.vertexAttribI4ui(2, 0, 0, 0, 0);
	if (frame.value) {
		fill_buffer(1, frame.value.subarray(from, frame.got), 1, 2);
		gl.vertexAttribPointer(1, 1, gl.UNSIGNED_SHORT, true, 0, 0);
	}
	if (frame.kind) {
		fill_buffer(2, frame.kind.subarray(from, frame.got), 1, 1);
		gl.vertexAttribIPointer(2, 1, gl.UNSIGNED_BYTE, 0, 0);
	}
	sky.uploaded = frame;
	sky.got = frame.got;
}

/* Position and weight of a body in 8 bytes, as cards like them. */
function packed(frame, from) {
	const {pos, weight, got} = frame, to = new Uint16Array(4 * (got - from));
	for (let i = from, k = 0; i < got; i++, k += 4) {
		to[k] = pos[3 * i];
		to[k + 1] = pos[3 * i + 1];
		to[k + 2] = pos[3 * i + 2];
		to[k + 3] = weight ? weight[i] : 65535;
	}
	return to;
}

/* Every body as one instance, not as one point. */
function by_instance(on) {
	for (let k = 0; k < 3; k++)
		sky.gl.vertexAttribDivisor(k, on ? 1 : 0);
}

function set_kinds(channel_of) {
	const gl = sky.gl, data = new Uint8Array(4 * 256);
	for (let k = 0; k < 256; k++) {
		const rgb = kind_rgb(k);
		data.set([...rgb, ui.hidden.has(k) ? 255 : channel_of(k)], 4 * k);
	}
	bind(0, sky.kinds);
	gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, data);
}

function load_map(table) {
	const gl = sky.gl, data = new Uint8Array(4 * 256).fill(255);
	for (let k = 0; k < 256; k++)
		data.set(table.subarray(3 * k, 3 * k + 3), 4 * k);
	bind(3, sky.maps);
	gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, data);
}
