/* Without a card nb-view draws, when nothing moves. */

/* A canvas that has given away its context for the card cannot draw otherwise. */
function open_plain() {
	sky.gl = null;
	const old = $('sky'), made = old.cloneNode();
	old.replaceWith(made);
	sky.plain = made.getContext('2d');
}

/* Returns whether something is still to come. */
function draw_plain(now) {
	if (sky.changed && now - sky.moved < REST)
		return true;
	sky.changed = false;
	note_seen();
	return false;
}
