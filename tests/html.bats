#!/usr/bin/env bats
# The manual for a browser.

# bats file_tags=once
load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p html/pictures
	: >html/pictures/nb-power.1-cross.png
	"$NB_TOP/man/make-html" html
}

setup() {
	cd "$BATS_FILE_TMPDIR/html" || return 1
}

@test "each page and each script is there, and the index names the pages" {
	local page script
	for page in "$NB_TOP"/man/*.[1-9]; do
		page=$(basename "$page")
		grep -q 'class="manual-text"' "$page.html"
		grep -q "href=\"$page.html\"" index.html
	done
	for script in "$NB_TOP"/examples/*; do
		[ ! -x "$script" ] || grep -q "<section id=\"$(basename "$script")\">" examples.html
	done
}

@test "a picture that an example of a page draws stands behind its command" {
	grep -A 1 'cross.png.*</code>' nb-power.1.html | grep -q '^<img .*src="pictures/nb-power.1-cross.png"'
	[ "$(grep -c '<img ' nb-power.1.html)" -eq 1 ]
}

@test "each link leads somewhere, and nothing is fetched from elsewhere" {
	local file to
	for file in *.html; do
		while read -r to; do
			[[ $to != http* ]] || continue
			local at=${to%%#*} name=
			[[ $to != *#* ]] || name=${to#*#}
			[ -e "${at:-$file}" ] || { echo "$file: $to is missing" && return 1; }
			[ -z "$name" ] || grep -qF "id=\"$name\"" "${at:-$file}" || { echo "$file: nothing has the name $to" && return 1; }
		done < <(grep -o 'href="[^"]*"' "$file" | sed 's/^href="//; s/"$//' | sort -u)
	done
	run ! grep -nE '<(script|iframe)|(src|@import)[= (]+"?http' ./*.html html.css
}

@test "a narrow window has no page wider than itself" {
	command -v chromium >/dev/null || skip "no chromium"
	local page width
	for page in index nb-step.1 nb-gen.1 examples; do
		cat >frame.html <<-END
			<iframe id="f" src="$page.html" style="width:360px;height:640px;border:0"></iframe><p id="w"></p>
			<script>f.onload = () => { w.textContent = 'wide ' + f.contentDocument.documentElement.scrollWidth; }</script>
		END
		width=$(chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files --virtual-time-budget=2000 \
			--dump-dom "file://$PWD/frame.html" 2>/dev/null | sed -n 's/.*wide \([0-9]*\).*/\1/p')
		echo "$page: $width"
		[ "$width" -le 360 ]
	done
}
