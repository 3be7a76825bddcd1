"""Uses the page at / of a server in Chromium, as a person would.

    page.py URL [FOLDER]

The store has `readings` (3 rows), and `points` with 100,000 rows of 5 series. With a folder, screenshots are saved there.
"""

import json
import sys
import time

sys.dont_write_bytecode = True
from browser import ALT, CONTROL, SHIFT, Browser, find

#: The maximum number of rows that are elements at a time, for any result.
ROWS_DRAWN_MAX = 120


class Page:
    def __init__(self, browser, url, folder):
        self.browser, self.url, self.folder = browser, url, folder

    def text(self, selector):
        return self.browser.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def count(self, selector):
        return self.browser.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def write(self, sql):
        self.browser.run("document.querySelector('#sql').focus()")
        self.browser.key("a", CONTROL)
        self.browser.type(sql)
        self.browser.key("Escape")

    def start(self, sql):
        self.write(sql)
        self.browser.key("Enter", CONTROL)

    def run(self, sql):
        """Runs a statement and returns the outcome that the page shows."""
        self.start(sql)
        self.browser.wait("document.querySelector('#cancel').hidden && document.querySelector('#outcome').innerText")
        # Rows are drawn in the next frame.
        self.browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        return self.text("#outcome")

    def show(self, tab):
        self.browser.click(f"#tab-{tab}")

    def picture(self, name):
        if self.folder:
            time.sleep(0.4)
            self.browser.picture(f"{self.folder}/{name}.png")

    def cells(self, position):
        """Returns the texts of a column in the rows that are drawn, from the top."""
        return self.browser.run(
            "[...document.querySelectorAll('.grid .row')].map((row) => [Number(row.ariaRowIndex), "
            f"row.children[{position + 1}].textContent]).sort((a, b) => a[0] - b[0]).map((pair) => pair[1])")


def loads(page):
    browser = page.browser
    browser.open(page.url)
    browser.wait("document.querySelectorAll('details.table').length >= 2")
    assert "points" in page.text("#panel-tables") and "100k rows" in page.text("#panel-tables")
    assert page.count(".welcome .example") == 3, "the first page offers something to run"
    unnamed = browser.run(
        "[...document.querySelectorAll('button, select, textarea, input, [role=separator]')].filter((one) => "
        "!one.textContent.trim() && !one.ariaLabel && !one.labels?.length).map((one) => one.outerHTML)")
    assert unnamed == [], f"controls without a name: {unnamed}"
    page.picture("welcome")


#: Checks of the page's modules, run in the page. It returns those that fail.
COMPUTED = r"""
const [sql, columns, series, axes, csv] = await Promise.all(
  ["sql", "columns", "series", "axes", "export"].map((name) => import(`/page/${name}.js`)));
const wrong = [];
const same = (what, found, wanted) => JSON.stringify(found) === JSON.stringify(wanted) || wrong.push([what, found, wanted]);
same("statements", sql.statements("SELECT ';' -- ;\n; /* ; */ x \"a;b\" ;;$$;$$").map(({ text }) => text), ["SELECT ';'", 'x "a;b"', "$$;$$"]);
same("at the end of one", sql.statementAt("SELECT 1;\nSELECT 2;", 8).text, "SELECT 1");
same("between two", sql.statementAt("SELECT 1;   SELECT 2", 10).text, "SELECT 1");
same("before the first", sql.statementAt("  SELECT 1", 0).text, "SELECT 1");
same("in none", sql.statementAt("-- nothing", 3), null);
same("place", sql.placeIn("at line 2, column 3: x", "SELECT 1\n\u{1F600}+ab"), 12);
same("name", sql.namedIn("no column named b", "SELECT 'b', b"), 12);
same("tables", sql.tablesIn('SELECT 1 FROM a AS x, "B c" JOIN atsdb.tables t ON 1'),
  [{ table: "a", alias: "x" }, { table: "B c", alias: null }, { table: "atsdb.tables", alias: "t" }]);
for (const text of ["2024-02-29T23:59:59.123456Z", "1969-12-31T23:59:59Z", "2024-01-01", "0099-03-01T00:00:00Z"]) {
  same(text, Math.floor(columns.timeOf(text)), Date.parse(text));
}
const numbers = { type: "DOUBLE", values: [2, null, "NaN", 10, -1] };
same("up", columns.sorted(numbers, 5, false), [4, 0, 3, 2, 1]);
same("down", columns.sorted(numbers, 5, true), [2, 3, 0, 4, 1]);
const times = { type: "TIMESTAMP", values: ["2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00Z", "2023-01-01T00:00:00Z"] };
same("times", columns.sorted(times, 3, false), [2, 1, 0]);
same("csv", csv.csv([{ name: "a,b", values: ["", null, 'x"y', 1.5, [1]] }], [0, 1, 2, 3, 4]), '"a,b"\n""\n\n"x""y"\n1.5\n[1]\n');
// A few points for each pixel keep the extremes of a hundred thousand points, in order.
const xs = Float64Array.from({ length: 100000 }, (_, at) => at);
const ys = xs.map((x) => (x === 54321 ? 99 : x === 54322 ? -99 : x > 70000 && x < 80000 ? NaN : Math.sin(x)));
const points = [];
series.decimated({ xs, ys }, 0, 100000, 500, [0, 99999], (x, y) => points.push([x, y]));
same("few", points.length <= 2000 && points.length >= 1000, true);
same("extremes", points.filter(([, y]) => Math.abs(y) === 99).map(([x]) => x), [54321, 54322]);
same("order", points.every(([x], at) => at === 0 || x > points[at - 1][0]), true);
same("a gap", points.some(([x, y]) => Number.isNaN(y) && x > 70000 && x < 80000), true);
const of = (...types) => ({ columns: types.map(([name, type, values]) => ({ name, type, values })), rowCount: types[0][2].length });
const time = ["t", "TIMESTAMP", ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"]];
same("by host", series.defaultsFor(of(["host", "TEXT", ["a", "b", "a"]], time, ["v", "DOUBLE", [1, 2, 3]], ["w", "INT", [1, 2, 3]])), { x: 1, by: [0], y: [2] });
same("no names", series.defaultsFor(of(time, ["v", "DOUBLE", [1, 2, 3]], ["w", "INT", [1, 2, 3]])), { x: 0, by: [], y: [1, 2] });
same("what follows from another", series.defaultsFor(of(time, ["host", "TEXT", ["a", "b", "a"]], ["rack", "TEXT", ["r", "s", "r"]], ["v", "INT", [1, 2, 3]])).by, [1]);
const host = ["host", "TEXT", ["a", "b", "a"]];
same("no second name without need", series.defaultsFor(of(time, host, ["status", "TEXT", ["ok", "bad", "bad"]], ["v", "INT", [1, 2, 3]])).by, [1]);
const once = ["t", "TIMESTAMP", Array(3).fill("2024-01-01T00:00:00Z")];
same("a second name", series.defaultsFor(of(once, host, ["core", "TEXT", ["0", "0", "1"]], ["v", "INT", [1, 2, 3]])).by, [1, 2]);
same("nothing", series.defaultsFor(of(["a", "TEXT", ["x", "y", "z"]])), null);
const lines = series.seriesOf(of(["host", "TEXT", ["b", "a", "b"]], ["t", "TIMESTAMP", [...time[2]].reverse()], ["v", "DOUBLE", [1, null, "inf"]]), { x: 1, by: [0], y: [2] });
same("lines", lines.series.map(({ name, xs, ys }) => [name, xs.length, [...ys].map(String)]), [["a", 1, ["NaN"]], ["b", 2, ["NaN", "1"]]]);
same("numbers on an axis", axes.numberMarks([0, 1], 240).map(({ text }) => text), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
same("days on an axis", axes.timeMarks([Date.UTC(2024, 1, 27), Date.UTC(2024, 2, 2)], 500).map(({ text, day }) => text + (day ?? "")),
  ["27 Feb2024", "28 Feb", "29 Feb", "1 Mar", "2 Mar"]);
same("years on an axis", axes.timeMarks([Date.UTC(1900, 0), Date.UTC(2100, 0)], 500).map(({ text }) => text), ["1900", "1950", "2000", "2050", "2100"]);
return wrong;
"""


def computes(page):
    wrong = page.browser.run(f"(async () => {{ {COMPUTED} }})()")
    assert wrong == [], "\n".join(map(str, wrong))


def completes(page):
    browser = page.browser
    browser.run("document.querySelector('#sql').focus()")
    browser.letters("select * from rea")
    browser.wait("document.querySelector('#completion li[aria-selected=true]').innerText.includes('readings')")
    browser.key("Tab")
    browser.letters(" where sen")
    browser.wait("document.querySelector('#completion .column[aria-selected=true] .label').innerText === 'sensor'")
    active = browser.run("document.querySelector('#sql').getAttribute('aria-activedescendant')")
    assert browser.run(f"document.getElementById('{active}').innerText").startswith("C"), "a column's badge"
    page.picture("completion")
    browser.key("Enter")
    browser.letters(" is not null order by tim")
    browser.wait("document.querySelector('#completion .label').innerText === 'time'")
    browser.key("Escape")
    browser.letters("e")
    assert browser.run("document.querySelector('#sql').value") == "select * from readings where sensor is not null order by time"
    # A table's alias, a function with its parenthesis, a keyword in the case of its first letters.
    page.write("SELECT r.")
    page.write("SELECT  FROM readings r")
    browser.run("document.querySelector('#sql').setSelectionRange(7, 7)")
    browser.letters("r.val")
    browser.wait("document.querySelector('#completion .label').innerText === 'value'")
    browser.key("Tab")
    browser.letters(", time_b")
    browser.wait("document.querySelector('#completion .function .label').innerText === 'time_bucket'")
    browser.key("Tab")
    assert browser.run("document.querySelector('#sql').value") == "SELECT r.value, time_bucket() FROM readings r"
    assert browser.run("document.querySelector('#sql').selectionStart") == 28, "the caret stands in the parentheses"


def shows_rows(page):
    browser = page.browser
    said = page.run("SELECT time, sensor, status, value, count FROM readings ORDER BY time")
    assert said.startswith("3 rows"), said
    assert page.cells(0) == ["2024-01-01 00:00:00", "2024-01-01 00:01:00", "2024-01-01 00:02:00"]
    assert page.cells(2) == ["ok", "NULL", "bad"] and page.cells(3) == ["0.5", "1.5", "NULL"]
    assert page.count(".grid .row .null") == 2
    align = "getComputedStyle(document.querySelector('.grid .row .cell.%s')).textAlign"
    assert browser.run(align % "number") == "right" and browser.run(align % "text") != "right"
    # A click sorts, the next one reverses the order, the third restores the original one. NULL is always last.
    header = ".grid .head [role=columnheader]:nth-of-type(5)"
    for sort, order in [("ascending", ["0.5", "1.5", "NULL"]), ("descending", ["1.5", "0.5", "NULL"]), ("none", ["0.5", "1.5", "NULL"])]:
        browser.click(header)
        browser.wait("document.querySelectorAll('.grid .row').length === 3")
        assert browser.run(f"document.querySelector('{header}').ariaSort") == sort
        assert page.cells(3) == order, (sort, page.cells(3))
    browser.run("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    browser.click("#copy")
    browser.wait("window.copied")
    copied = browser.run("window.copied").splitlines()
    assert copied[0] == "time,sensor,status,value,count" and copied[2] == "2024-01-01T00:01:00Z,s2,,1.5,2", copied
    # A number that JSON cannot hold, and texts that must not be taken for markup or NULL.
    assert page.run("SELECT 9007199254740993 AS big, '' AS nothing, '<b>&amp;' AS marked, 'NULL' AS word, CAST('NaN' AS DOUBLE) AS nan").startswith("1 row")
    row = browser.run("[...document.querySelectorAll('.grid .row .cell')].map((cell) => cell.textContent)")
    assert row == ["9007199254740993", "", "<b>&amp;", "NULL", "NaN"], row
    assert page.count(".grid .row .null") == 0
    assert page.run("SELECT * FROM readings WHERE false").startswith("0 rows") and "No rows" in page.text("#message")
    assert page.run("INSERT INTO readings VALUES ('2024-01-02', 's3', 'ok', 7, 4)").startswith("INSERT · 1 row")
    # Only the statement at the cursor runs.
    page.write("SELECT 1 AS first;\n\nSELECT 2 AS second;")
    browser.run("document.querySelector('#sql').setSelectionRange(3, 3)")
    browser.key("Enter", CONTROL)
    browser.wait("document.querySelector('.grid .head').innerText.includes('first')")
    browser.key("Enter", CONTROL | SHIFT)
    browser.wait("document.querySelector('.grid .head').innerText.includes('second')")


def shows_many_rows(page):
    browser = page.browser
    said = page.run("SELECT time, sensor, value FROM points")
    assert said.startswith("100,000 rows"), said
    drawn = page.count(".grid .row")
    assert 10 < drawn < ROWS_DRAWN_MAX, f"{drawn} rows are elements"
    grid = "document.querySelector('.grid')"
    # Each frame of scrolling creates the rows that it shows, and no others.
    most = browser.run(
        f"(async () => {{ let most = 0; for (let at = 0; at < 60; at += 1) {{ {grid}.scrollTop += 40000;"
        " await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);"
        " const places = [...document.querySelectorAll('.grid .row')].map((row) => Number(row.ariaRowIndex) - 2);"
        f" const top = Math.floor({grid}.scrollTop / 26); if (!places.includes(top)) return -1;"
        " most = Math.max(most, places.length) } return most })()")
    assert 10 < most < ROWS_DRAWN_MAX, f"{most} rows in a frame"
    browser.run(f"{grid}.scrollTop = {grid}.scrollHeight")
    browser.wait("[...document.querySelectorAll('.grid .row')].some((row) => row.ariaRowIndex === '100001')")
    assert page.count(".grid .row") < ROWS_DRAWN_MAX
    browser.click(".grid .head [role=columnheader]:nth-of-type(4)")
    browser.run(f"{grid}.scrollTop = 0")
    browser.wait("[...document.querySelectorAll('.grid .row')].some((row) => row.ariaRowIndex === '2')")
    values = [float(text) for text in page.cells(2)]
    assert values == sorted(values) and values[0] < -8, values
    page.picture("many-rows")


def inked(page):
    """Returns the number of pixels of the canvas that are not empty."""
    return page.browser.run(
        "(() => { const canvas = document.querySelector('.plot canvas'); const { width, height } = canvas;"
        " const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });"
        " copy.drawImage(canvas, 0, 0); const { data } = copy.getImageData(0, 0, width, height); let count = 0;"
        " for (let at = 3; at < data.length; at += 4) if (data[at] > 0) count += 1; return count })()")


def draws(page):
    browser = page.browser
    page.show("chart")
    browser.wait("document.querySelectorAll('.legend button').length === 5")
    browser.wait("document.querySelector('.plot').dataset.frames")
    assert "time" in browser.run("document.querySelector('.chart-controls select').selectedOptions[0].textContent")
    label = browser.run("document.querySelector('.plot canvas').ariaLabel")
    assert "5 series" in label and "100000 points" in label, label
    all_of_it = inked(page)
    assert all_of_it > 5000, f"{all_of_it} points are drawn"
    frames = "Number(document.querySelector('.plot').dataset.frames)"
    # Thirty changes take thirty frames, each with only a few strokes per pixel and series.
    browser.run("window.strokes = 0; for (const name of ['moveTo', 'lineTo', 'fillRect']) {"
                " const own = CanvasRenderingContext2D.prototype[name]; CanvasRenderingContext2D.prototype[name] ="
                " function (...where) { window.strokes += 1; return own.apply(this, where) } }")
    drawn = browser.run(
        f"(async () => {{ const before = {frames}; for (let at = 0; at < 30; at += 1) {{"
        " document.querySelector('.legend button').click(); await new Promise(requestAnimationFrame);"
        f" await new Promise(requestAnimationFrame) }} return {frames} - before }})()")
    assert drawn == 30, f"{drawn} frames for 30 changes"
    strokes = browser.run("window.strokes") / 30
    width = page.browser.place(".plot")[2]
    assert 1000 < strokes < 5 * 4 * width + 200, f"{strokes} strokes a frame, {width} pixels"
    print(f"100,000 points: {strokes:.0f} strokes and {browser.run('document.querySelector(`.plot`).dataset.drawMs')} ms a frame")
    before = browser.run(frames)
    browser.click(".legend button")
    browser.wait(f"{frames} > {before}")
    assert browser.run("document.querySelector('.legend button').ariaPressed") == "false"
    assert inked(page) < all_of_it
    browser.click(".legend button")
    left, top, width, height = page.browser.place(".plot")
    browser.mouse("mouseMoved", left + width / 2, top + height / 2)
    browser.wait("document.querySelectorAll('.tip div').length === 5")
    assert page.text(".tip header").startswith("2024-01-0")
    page.picture("chart")
    browser.drag(".plot", 0.4, 0.6)
    browser.wait("[...document.querySelectorAll('.chart-controls button')].some((one) => one.innerText === 'Reset zoom' && !one.hidden)")
    page.picture("zoomed")
    browser.run("document.querySelector('.plot canvas').focus()")
    browser.key("0")
    browser.wait("[...document.querySelectorAll('.chart-controls button')].every((one) => one.hidden)")
    assert "view=chart" in browser.run("location.hash")
    # Categories are drawn as bars; without numbers there is nothing to draw.
    page.run("SELECT sensor, count(*) AS rows FROM points GROUP BY sensor ORDER BY sensor")
    browser.wait("document.querySelector('[aria-label=Style]').value === 'bars'")
    page.picture("bars")
    page.run("SELECT sensor FROM points LIMIT 3")
    browser.wait("document.querySelector('#view-chart .nothing').innerText.startsWith('Nothing to draw')")
    page.show("table")


def tells_errors(page):
    browser = page.browser
    page.run("SELECT 1;\nSELECT sensor,\n  avg(value\nFROM points")
    assert page.text("#outcome") == "Error"
    browser.wait("document.querySelector('.colours .wrong').innerText === 'FROM'")
    assert page.text("#message .link") == "Line 4, column 1"
    assert " at line " not in page.text("#message p"), "the message says another line"
    assert browser.run("document.querySelector('#message').getAttribute('role')") == "alert"
    page.picture("error")
    page.run("SELECT sensr FROM points")
    browser.wait("document.querySelector('.colours .wrong').innerText === 'sensr'")
    assert "sensor" in page.text("#message .hint"), "the hint names the columns"
    browser.letters("x")
    assert page.count(".wrong") == 0, "what is changed is not wrong any more"


def shows_notices(page):
    page.run("CREATE TABLE z (id INT PRIMARY KEY, deleted_at TIMESTAMP)")
    assert page.text("#message .hint").startswith("column deleted_at becomes the time of table z"), page.text("#message")
    page.run("DROP TABLE z")
    assert page.count("#message .hint") == 0, "the notice is about another statement"


def explains_refusals(page):
    browser = page.browser
    browser.run("window.asked = window.fetch")
    answers = [
        ("new Response('{}', { status: 401 })", "You are not signed in", "name and password"),
        ("new Response(JSON.stringify({ kind: 'forbidden', message: 'this needs the role write' }), { status: 403 })",
         "this needs the role write", "role"),
        ("new Response('no such page', { status: 502 })", "no such page", ""),
        ("Promise.reject(new TypeError('Failed to fetch'))", "The server does not answer", "still running"),
    ]
    for answer, message, hint in answers:
        browser.run(f"window.fetch = async () => {answer}; true")
        page.run("SELECT 1")
        assert message in page.text("#message") and hint in page.text("#message"), page.text("#message")
    browser.run("window.fetch = window.asked; true")
    assert page.run("SELECT 1").startswith("1 row")


SLOW = "SELECT count(*) FROM points a, points b WHERE a.value + b.value < 0"


def cancels(page):
    browser = page.browser
    listed = "fetch('/api/statements').then((answer) => answer.json())"
    page.start(SLOW)
    browser.wait("!document.querySelector('#cancel').hidden")
    browser.wait_for("the statement is not listed", lambda: any(one["sql"] == SLOW for one in browser.run(listed)))
    browser.key("Escape")
    browser.wait("document.querySelector('#outcome').innerText === 'Cancelled'")
    browser.wait_for("the statement still runs", lambda: not browser.run(listed))
    # Cancelled from the list of running statements, which has those of all clients.
    page.show("activity")
    browser.wait("document.querySelector('.statements').innerText.includes('None is running')")
    page.start(SLOW)
    browser.wait("document.querySelector('.statements .sql')?.innerText.startsWith('SELECT count')")
    page.picture("activity")
    browser.click(".statements .danger")
    browser.wait("document.querySelector('#message').innerText.includes('cancelled on the server')")
    browser.wait_for("the statement still runs", lambda: not browser.run(listed))
    browser.wait("document.querySelector('.rates').innerText.includes('Statements, HTTP')")
    page.show("tables")


def remembers(page):
    browser = page.browser
    page.run("SELECT 41 AS before")
    page.run("SELECT 42 AS answer")
    browser.key("ArrowUp", ALT)
    browser.key("ArrowUp", ALT)
    assert browser.run("document.querySelector('#sql').value") == "SELECT 41 AS before"
    browser.key("ArrowDown", ALT)
    assert browser.run("document.querySelector('#sql').value") == "SELECT 42 AS answer"
    address = browser.run("location.href")
    assert address.endswith("#sql=SELECT%2042%20AS%20answer"), address
    # A statement in a link runs, and can only read.
    browser.run("localStorage.clear()")
    browser.call("Page.navigate", url="about:blank")
    browser.open(address)
    browser.wait("document.querySelector('.grid .row .cell').textContent === '42'")
    browser.call("Page.navigate", url="about:blank")
    browser.open(f"{page.url}#sql=DELETE%20FROM%20points")
    browser.wait("document.querySelector('#message.bad')")
    assert page.run("SELECT count(*) FROM points").startswith("1 row")
    assert page.cells(0) == ["100000"], page.cells(0)


def has_themes(page):
    browser = page.browser
    back = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(back)
    browser.theme(dark=True)
    browser.wait(f"{back} !== '{light}'")
    dark = browser.run(back)
    page.picture("dark")
    browser.click("#theme-switch")
    assert browser.run(back) == light, "light, whatever the system says"
    browser.theme(dark=False)
    browser.click("#theme-switch")
    assert browser.run(back) == dark
    browser.click("#theme-switch")
    assert browser.run(back) == light
    browser.resize(400, 760)
    assert browser.run("document.documentElement.scrollWidth") <= 400, "nothing is wider than a telephone"
    page.picture("narrow")


def main():
    url, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    program = find()
    if program is None:
        print("skipped: there is no Chromium")
        return
    browser = Browser(program)
    page = Page(browser, url, folder)
    try:
        for step in [loads, computes, completes, shows_rows, shows_many_rows, draws, tells_errors, shows_notices, explains_refusals, cancels, remembers, has_themes]:
            step(page)
            print(step.__name__)
        foreign = [one for one in browser.requests if not one.startswith((url, "data:", "about:"))]
        assert foreign == [], f"requests elsewhere: {foreign}"
        # The browser itself logs responses with an error status, which the test provokes.
        logged = [one for one in browser.logged if "Failed to load resource" not in one]
        assert logged == [], f"the console: {logged}"
    finally:
        browser.close()
    print("done")


main()
