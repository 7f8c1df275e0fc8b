/* Mouse, touch and keys. */

const PIECE = 5; /* degrees of a turn, or per cent of a pan, by one press */

const share = part => part / 100 * Math.min(innerWidth, innerHeight) * 2;

/* Keys, what they do, and in the list of keys, what it says. */
const keys = [
	{keys: ['ArrowLeft'], shown: '← → ↑ ↓', text: 'turn', act: () => turn(-PIECE, 0)},
	{keys: ['ArrowRight'], act: () => turn(PIECE, 0)},
	{keys: ['ArrowUp'], act: () => turn(0, PIECE)},
	{keys: ['ArrowDown'], act: () => turn(0, -PIECE)},
	{keys: ['ShiftArrowLeft'], shown: 'Shift + ← → ↑ ↓', text: 'move', act: () => pan(share(PIECE), 0)},
	{keys: ['ShiftArrowRight'], act: () => pan(-share(PIECE), 0)},
	{keys: ['ShiftArrowUp'], act: () => pan(0, share(PIECE))},
	{keys: ['ShiftArrowDown'], act: () => pan(0, -share(PIECE))},
	{keys: ['+', '='], shown: '+ −', text: 'come nearer, go away', act: () => zoom(1.2)},
	{keys: ['-', '_'], act: () => zoom(1 / 1.2)},
	{keys: ['1'], shown: '1 2 3', text: 'view xy, xz, yz', act: () => look_from(-90, 90)},
	{keys: ['2'], act: () => look_from(-90, 0)},
	{keys: ['3'], act: () => look_from(0, 0)},
	{keys: ['0'], shown: '0', text: 'first view', act: look_at_all},
	{keys: [' '], shown: 'Space', text: 'play or pause', act: play_or_pause},
	{keys: [','], shown: ', .', text: 'one frame back, forth', act: () => step(-1)},
	{keys: ['.'], act: () => step(1)},
	{keys: ['Home'], shown: 'Home End', text: 'first frame, newest frame', act: () => { frames.playing = false; seek(0); }},
	{keys: ['End'], act: go_live},
	{keys: ['c'], shown: 'c', text: 'next colour', act: () => set_by(next_of('by'))},
	{keys: ['e'], shown: 'e', text: 'colour by an expression', act: () => { show_panels(); $('expression').focus(); }},
	{keys: ['m'], shown: 'm', text: 'next map', act: () => set_map(next_of('map'))},
	{keys: ['s'], shown: 's', text: 'next stretch', act: () => set_stretch(next_of('stretch'))},
	{keys: ['['], shown: '[ ]', text: 'darker, brighter', act: () => set_light(ui.light - 0.25)},
	{keys: [']'], act: () => set_light(ui.light + 0.25)},
	{keys: ['f'], shown: 'f', text: 'follow the centre of mass, densest place, body', act: () => set_follow(next_of('follow'))},
	{keys: ['t'], shown: 't', text: 'trails', act: () => set_trails(next_of('trails'))},
	{keys: ['i'], shown: 'i', text: 'light sky, for print', act: toggle_print},
	{keys: ['l'], shown: 'l', text: 'letters and scale', act: () => toggle('labels')},
	{keys: ['w'], shown: 'w', text: 'walls of a periodic box', act: () => toggle('walls')},
	{keys: ['h'], shown: 'h', text: 'panels', act: toggle_panels},
	{keys: ['p'], shown: 'p', text: 'save the picture', act: save_picture},
	{keys: ['r'], shown: 'r', text: 'record a film', act: start_or_end_film},
	{keys: ['y'], shown: 'y', text: 'copy the command line', act: copy_command},
	{keys: ['Escape'], shown: 'Esc', text: 'let the body go', act: () => choose(-1)},
	{keys: ['?'], shown: '?', text: 'this list', act: () => $('keys').showModal()}];

function show_panels() {
	if (document.body.classList.contains('bare'))
		toggle_panels();
}

function act(key) {
	const found = keys.find(k => k.keys.includes(key));
	if (found)
		found.act();
	return found !== undefined;
}

function take_key(event) {
	const at = event.target, types = at.matches('input[type=text]'), chooses = at.matches('select, input[type=range]');
	if (types && event.key === 'Escape')
		$('sky').focus();
	if (event.ctrlKey || event.metaKey || event.altKey || types || $('keys').open)
		return;
	if (chooses && /^(Arrow|Home|End|Page| )/.test(event.key) || at.matches('button') && event.key === ' ')
		return;
	const shifted = event.shiftKey && event.key.startsWith('Arrow') ? 'Shift' : '';
	if (act(shifted + event.key))
		event.preventDefault();
}

/* ---- pointers ---- */

const pointers = new Map();

function pointer_down(event) {
	const canvas = event.target;
	canvas.setPointerCapture(event.pointerId);
	canvas.focus({preventScroll: true});
	pointers.set(event.pointerId, {x: event.clientX, y: event.clientY, moved: 0, began: performance.now(),
		pans: event.shiftKey || event.button > 0});
	canvas.classList.add('turning');
}

/* One finger turns, two move and enlarge. */
function pointer_move(event) {
	const p = pointers.get(event.pointerId);
	if (!p)
		return;
	const dx = event.clientX - p.x, dy = event.clientY - p.y, other = [...pointers.values()].find(q => q !== p);
	p.moved += Math.abs(dx) + Math.abs(dy);
	if (other) {
		const before = Math.hypot(p.x - other.x, p.y - other.y), after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
		p.moved = other.moved = 100; /* no click */
		pan(dx / 2, dy / 2);
		if (before > 10 && after > 10)
			zoom(after / before, (event.clientX + other.x) / 2, (event.clientY + other.y) / 2);
	} else if (p.pans) {
		pan(dx, dy);
	} else if (p.moved > 3) {
		const degrees = 240 / Math.min(innerWidth, innerHeight);
		turn(-dx * degrees, dy * degrees);
	}
	p.x = event.clientX;
	p.y = event.clientY;
}

function pointer_up(event) {
	const p = pointers.get(event.pointerId);
	pointers.delete(event.pointerId);
	$('sky').classList.toggle('turning', pointers.size > 0);
	if (p && event.type === 'pointerup' && p.moved <= 3 && !p.pans && performance.now() - p.began < 600)
		choose(pick(event.clientX, event.clientY));
}

function open_input() {
	const canvas = $('sky');
	canvas.addEventListener('pointerdown', pointer_down);
	canvas.addEventListener('pointermove', pointer_move);
	canvas.addEventListener('pointerup', pointer_up);
	canvas.addEventListener('pointercancel', pointer_up);
	canvas.addEventListener('contextmenu', event => event.preventDefault());
	canvas.addEventListener('dblclick', () => chosen && set_follow('body'));
	canvas.addEventListener('wheel', event => {
		event.preventDefault();
		const pixels = event.deltaY * [1, 16, 400][event.deltaMode] * (event.ctrlKey ? 6 : 1);
		zoom(Math.exp(-clamp(pixels, -400, 400) * 0.0016), event.clientX, event.clientY);
	}, {passive: false});
	addEventListener('keydown', take_key);
	const list = keys.filter(k => k.shown).map(k => [k.shown.split(' ').map(s => s === '+' && k.shown.length > 3 ? '+ '
		: make('kbd', {textContent: s})), k.text]);
	list.push([['drag, wheel'], 'turn, come nearer'], [['Shift + drag'], 'move'], [['click'], 'choose a body'],
		[['double click'], 'choose and follow it'], [['two fingers'], 'move and enlarge']);
	$('keys').querySelector('ul').append(...list.map(([shown, text]) => make('li', {}, make('span', {}, ...shown), make('span', {}, text))));
	let still = 0;
	addEventListener('pointermove', () => {
		clearTimeout(still);
		document.body.classList.remove('still');
		still = setTimeout(() => document.body.classList.add('still'), 2500);
	});
	canvas.focus();
}
