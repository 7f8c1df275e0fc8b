/* The panel and the bar: what is chosen, and what the frames offer. */

const ui = {by: 'density', map: 'inferno', stretch: 'asinh', hidden: new Set(), follow: '', trails: 0, print: false, labels: true,
	walls: true, light: 0};

const hues = {maps: {}, value: hue_table(['#3c6eff', '#8fb2ff', '#ffefe6', '#ffb060', '#ff5028'])};

const map_table = () => hues.maps[ui.map] || hues.maps.inferno || (hues.maps.inferno = hue_table(['#000000', '#ffffff']));

function kind_rgb(kind) {
	const told = frames.shown && (frames.shown.species || []).find(s => s.id === kind);
	return rgb_of(told ? told.colour : '#ffffff');
}

const by_has_value = () => ui.by !== 'density' && ui.by !== 'species' ? 1 : 0;

/* What the colours of a frame show: 0 density, 1 its values, 2 its species. */
function colour_mode(frame) {
	if (ui.by === 'species' && frame.kind)
		return 2;
	return by_has_value() && frame.value && frame.by === ui.by ? 1 : 0;
}

const colour_is_missing = frame => ui.by !== 'density' && colour_mode(frame) === 0 && !$('wrong').textContent;

function notice(text, milliseconds = 0) {
	const box = $('notice');
	clearTimeout(box.timer);
	box.textContent = text;
	box.hidden = !text;
	if (milliseconds)
		box.timer = setTimeout(() => { box.hidden = true; }, milliseconds);
}

/* ---- what nb-view and the frames say ---- */

function hello(told) {
	frames.most = told.keep;
	for (const [name, data] of Object.entries(told.maps))
		hues.maps[name] = bytes_of(data);
	fill($('map'), Object.keys(hues.maps), ui.map);
	document.title = told.command || 'nb-view';
}

function fill(select, words, value) {
	if (select.told === words.join())
		return;
	select.told = words.join();
	select.replaceChildren(...words.map(w => make('option', {value: w, textContent: w})));
	select.value = value;
}

function panel_told(frame) {
	const columns = frame.columns || [], names = columns.map(c => c.name), words = ['density'];
	if (names.includes('vel'))
		words.push('speed');
	if (names.includes('species'))
		words.push('species');
	words.push(...names.filter(n => !words.includes(n) && !['pos', 'id', 'key', 'colour'].includes(n)));
	if (!words.includes(ui.by))
		words.push(ui.by);
	fill($('by'), words, ui.by);
	$('wrong').textContent = frame.wrong || '';
	$('wrong').hidden = !frame.wrong;
}

function frame_told(frame) {
	const list = (frame.species || []).length > 1 ? frame.species : [];
	const key = JSON.stringify(list.map(s => [s.id, species_name(s), s.colour])) + [...ui.hidden].sort();
	if ($('species').told !== key) {
		$('species').told = key;
		$('species').replaceChildren(...list.map(species_button));
	}
	$('stretch').disabled = $('light').disabled = shape_of(frame) === 'discs'; /* which are all as bright */
	$('spoken').textContent = frames.playing ? '' : moment_text(frame);
	draw_curves();
}

/* A species of one body that has a name is listed by that. */
function species_name(s) {
	const frame = frames.shown, i = s.n === 1 && frame.id && frame.kind ? frame.kind.indexOf(s.id) : -1;
	return (i >= 0 && names_of(frame).get(frame.id[i])) || s.name || String(s.id);
}

function species_button(s) {
	const dot = make('i'), name = species_name(s);
	dot.style.background = css(kind_rgb(s.id));
	const button = make('button', {title: `${grouped(s.n)} bodies; show or hide`, onclick: () => toggle_species(s.id)}, dot, name);
	button.setAttribute('aria-pressed', String(!ui.hidden.has(s.id)));
	return make('li', {}, button);
}

function toggle_species(id) {
	if (!ui.hidden.delete(id))
		ui.hidden.add(id);
	frame_told(frames.shown);
	expose_anew();
	view_changed();
	want();
}

function bar_changed() {
	const {list} = frames, at = shown_index(), live = $('live'), frame = frames.shown;
	$('scrub').max = Math.max(list.length - 1, 0);
	$('scrub').value = at < 0 ? list.length - 1 : at;
	$('scrub').disabled = list.length < 2;
	$('scrub').setAttribute('aria-valuetext', frame ? moment_text(frame) : '');
	$('where').textContent = frame ? `frame ${frame.frame}` : '';
	$('back').disabled = at < 1;
	$('forth').disabled = at < 0 || at >= list.length - 1;
	live.className = stream.lost && !stream.ended ? 'lost' : stream.ended ? 'over' : frames.live ? 'on' : '';
	live.querySelector('span').textContent = stream.lost && !stream.ended ? 'lost' : stream.ended ? 'ended' : frames.live ? 'live' : 'newest';
	const icon = frames.playing && !(stream.ended && frames.live) ? 'pause' : 'play';
	if ($('play').told !== icon)
		set_icon($('play'), $('play').told = icon);
}

/* ---- what is chosen ---- */

function set_by(by) {
	ui.by = by;
	$('maps').hidden = by !== 'density';
	$('wrong').textContent = '';
	$('wrong').hidden = true;
	if (![...$('by').options].some(o => o.value === by))
		$('by').append(make('option', {value: by, textContent: by}));
	$('by').value = by;
	want();
	view_changed();
}

function set_map(name) {
	ui.map = $('map').value = name;
	want();
	tone_changed();
}

function set_stretch(name) {
	ui.stretch = $('stretch').value = name;
	expose_anew();
	want();
	view_changed();
}

function set_light(stops) {
	ui.light = clamp(stops, -4, 4);
	$('light').value = ui.light;
	tone_changed();
}

/* The next of the words of a selection. */
function next_of(id) {
	const {options, selectedIndex} = $(id), enabled = [...options].filter(o => !o.disabled);
	return enabled[(enabled.indexOf(options[selectedIndex]) + 1) % enabled.length].value;
}

function set_trails(frames_back) {
	if (!sky.gl)
		return;
	ui.trails = Number(frames_back);
	$('trails').value = frames_back;
	want();
	tone_changed();
}

function toggle_print() {
	ui.print = !ui.print;
	want();
	document.body.classList.toggle('print', ui.print);
	$('print').setAttribute('aria-pressed', String(ui.print));
	tone_changed();
}

function toggle(what) {
	ui[what] = !ui[what];
	tone_changed();
}

function toggle_panels() {
	const bare = document.body.classList.toggle('bare');
	$('menu').setAttribute('aria-expanded', String(!bare));
	tone_changed();
}

function open_panel() {
	for (const button of document.querySelectorAll('[data-icon]'))
		set_icon(button, button.dataset.icon);
	for (const button of document.querySelectorAll('button[data-key]'))
		button.addEventListener('click', () => act(button.dataset.key));
	$('by').addEventListener('change', event => set_by(event.target.value));
	$('map').addEventListener('change', event => set_map(event.target.value));
	$('stretch').addEventListener('change', event => set_stretch(event.target.value));
	$('follow').addEventListener('change', event => set_follow(event.target.value));
	$('trails').addEventListener('change', event => set_trails(event.target.value));
	$('light').addEventListener('input', event => set_light(Number(event.target.value)));
	$('scrub').addEventListener('input', event => {
		frames.playing = Number(event.target.value) === frames.list.length - 1;
		seek(Number(event.target.value));
	});
	$('other').addEventListener('submit', event => {
		event.preventDefault();
		const text = $('expression').value.trim();
		if (text)
			set_by(text);
		$('sky').focus();
	});
	if (innerWidth <= 640)
		toggle_panels();
}
