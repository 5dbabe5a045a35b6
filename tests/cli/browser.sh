#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The status page of isobar-exporter in a real browser: the numbers are there, the style
# sheet is taken, nothing else is asked for.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
# shellcheck source=tests/cli/exporter_expect.sh
. "$top_srcdir/tests/cli/exporter_expect.sh"
browser=$(command -v chromium || command -v chromium-browser) || { echo 'no chromium'; exit 77; }

# browse OPTION... URL - the document as it is after loading; what it keeps goes with $work.
browse() {
	run env HOME="$work" XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" \
		timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
		--user-data-dir="$work/browser" --virtual-time-budget=2000 --window-size=1100,900 \
		--dump-dom --enable-logging=stderr --log-level=0 "$@"
	ends 0
}

serve_cluster
begin --run-directory "$run_directory"
browse --screenshot="$work/page.png" "$url/"
for text in 'cluster lab' '<dd>0.300</dd>' '<dd>0.450</dd>' 'audit: proven' '0.004000' \
	'<title>b: 0.300 CPU</title>' '</footer>'; do
	has "$text"
done
! grep -iE 'refused to|content security policy' "$work/stderr" || complain 'the browser refuses something'

# The ground in the corner is that of the style sheet; of a page without it, it is white.
cat >"$work/corner.html" <<END
<!DOCTYPE html><html><body><p>nothing</p><script>
const picture = new Image(), canvas = document.createElement('canvas').getContext('2d');
picture.onload = () => {
	canvas.drawImage(picture, 0, 0);
	document.body.textContent = 'corner ' + canvas.getImageData(2, 2, 1, 1).data.join();
};
picture.src = 'data:image/png;base64,$(base64 -w 0 "$work/page.png")';
</script></body></html>
END
browse "file://$work/corner.html"
sheet=$(curl -s "$url/style.css")
case $sheet in
*--back:#f6f7f9*--back:#12161c*) grep -qE 'corner (246,247,249|18,22,28),255' "$work/stdout" || complain 'no style' ;;
*) complain 'another ground in the style sheet: change it here as well' ;;
esac
end_exporter
