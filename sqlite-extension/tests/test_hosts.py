"""Programs that load the extension: Datasette, and the commands of the page in the documentation."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
import unittest

from support import BATCHES, BATCH_ROWS, EXTENSION, PROGRAM, ROOT, SHELL, Case, atsdb, attached, connect, stores

DATASETTE = os.environ.get("ATSDB_DATASETTE", "")
PAGE = os.path.join(ROOT, "docs/sqlite-extension.md")


class Datasette(Case):
    def setUp(self):
        super().setUp()
        environment = {**os.environ, "PYTHONPATH": DATASETTE} if DATASETTE else dict(os.environ)
        known = subprocess.run([sys.executable, "-m", "datasette", "--version"], capture_output=True, env=environment)
        if known.returncode:
            self.skipTest("datasette is not installed")
        self.environment = environment
        self.views = self.path("views.db")
        connection = connect(self.views)
        connection.execute(f"CREATE VIRTUAL TABLE readings USING atsdb('{stores()['half_sealed']}', 'readings')")
        connection.commit()
        connection.close()

    def get(self, path):
        # By default it gives up facets after 200 ms, and queries after a second.
        limits = [part for name in ("sql", "facet") for part in ("--setting", f"{name}_time_limit_ms", "300000")]
        run = subprocess.run([sys.executable, "-m", "datasette", self.views, "--load-extension", EXTENSION, *limits, "--get", path],
                             capture_output=True, text=True, env=self.environment)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def test_datasette_lists_filters_and_pages_through_a_table(self):
        listed = self.get("/views.json")
        self.assertEqual([table["name"] for table in listed["tables"]], ["readings"])
        # It gives up counting after ten milliseconds, which no setting changes.
        deadline = time.monotonic() + 300
        while listed["tables"][0]["count"] is None and time.monotonic() < deadline:
            listed = self.get("/views.json")
        self.assertEqual(listed["tables"][0]["count"], BATCHES * BATCH_ROWS)
        page = self.get("/views/readings.json?_shape=objects&sensor=s3&_size=10")
        self.assertEqual(len(page["rows"]), 10)
        self.assertEqual({row["sensor"] for row in page["rows"]}, {"s3"})
        following = self.get("/views/readings.json?_shape=objects&sensor=s3&_size=10&_next=" + str(page["next"]))
        self.assertFalse({row["id"] for row in page["rows"]} & {row["id"] for row in following["rows"]})
        facets = self.get("/views/readings.json?_facet=status&_size=1")
        self.assertGreater(len(facets["facet_results"]["status"]["results"]), 2)

    def test_datasette_runs_sql(self):
        query = "select+sensor,count(*)+as+n+from+readings+where+time+>=+'2024-03-02'+group+by+sensor+order+by+n+desc"
        rows = self.get(f"/views.json?_shape=array&sql={query}")
        self.assertEqual(len(rows), 20)


class Memory(Case):
    def test_a_large_table_is_read_in_bounded_memory_in_the_order_of_time_too(self):
        store = self.path("large.db")
        rows = 3_000_000
        # One slice, so that all chunks overlap. The rows of the last third have the same time.
        atsdb("sql", store, f"""CREATE TABLE large (time TIMESTAMP(3), sensor TEXT, a BIGINT, b DOUBLE)
            WITH (map = 'sensor:u32', key = 'sensor', slice = 'year');
            INSERT INTO large SELECT CAST(TIMESTAMP '2024-01-01' + INTERVAL '1 second' * least((n * 7919) % {rows}, {rows} * 2 / 3) AS TIMESTAMP(3)),
                's' || (n % 500), n, n / 7.0 FROM (SELECT CAST(value AS BIGINT) AS n FROM generate_series(0, {rows - 1})) AS numbers""")
        script = f"""
import resource, sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from support import attached
connection = attached({store!r}, 'large')
for query, direction in [("SELECT time, a FROM large", 0), ("SELECT time, a FROM large ORDER BY time", 1),
                         ("SELECT time, a FROM large ORDER BY time DESC", -1)]:
    count, total, last = 0, 0, None
    for time, a in connection.execute(query):
        if last is not None and direction:
            assert (time >= last) if direction > 0 else (time <= last), (query, last, time)
        count, total, last = count + 1, total + a, time
    print(count, total)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
        for state in ("fresh", "sealed"):
            if state == "sealed":
                atsdb("recompress", store)
            run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
            self.assertEqual(run.returncode, 0, run.stderr)
            *answers, megabytes = run.stdout.splitlines()
            self.assertEqual(answers, [f"{rows} {rows * (rows - 1) // 2}"] * 3)
            self.assertLess(int(megabytes), 300, state)


class Documents(Case):
    """Runs the commands of the page: every fence marked `sh`, from top to bottom in one folder. If a fence
    marked `text` follows, it is compared with the output; one marked `output` has times or sizes in it and is not compared.
    ATSDB_DOCUMENTS_WRITE=1 rewrites both."""

    @unittest.skipUnless(SHELL, "sqlite3 is not installed")
    def test_every_command_of_the_page_runs_and_answers_what_the_page_says(self):
        with open(PAGE, encoding="utf-8") as page:
            rest = page.read()
        os.symlink(os.path.join(ROOT, "examples"), self.path("examples"))
        shutil.copy(EXTENSION + ".so", self.path("atsdb.so"))
        # In front of all others: the program, and a Python that can load extensions.
        os.mkdir(self.path("bin"))
        os.symlink(PROGRAM, self.path("bin/atsdb"))
        os.symlink(sys.executable, self.path("bin/python3"))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ATSDB_", "XDG_"))}
        environment |= {"PATH": self.path("bin") + ":" + os.environ["PATH"], "HOME": self.folder, "NO_COLOR": "1"}
        written, commands_run = "", 0
        while "```sh\n" in rest:
            before, rest = rest.split("```sh\n", 1)
            commands, rest = rest.split("```\n", 1)
            written += f"{before}```sh\n{commands}```\n"
            run = subprocess.run(["bash", "-euo", "pipefail", "-c", "exec 2>&1\n" + commands], cwd=self.folder, env=environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            found = "".join(line.rstrip() + "\n" for line in run.stdout.replace(self.folder, "/home/me").splitlines())
            self.assertEqual(run.returncode, 0, commands + found)
            commands_run += 1
            for kind in ("text", "output"):
                head = f"\n```{kind}\n"
                if rest.startswith(head):
                    wanted, rest = rest[len(head):].split("```\n", 1)
                    if kind == "text" and "ATSDB_DOCUMENTS_WRITE" not in os.environ:
                        self.assertEqual(found, wanted, commands)
                    written += f"{head}{found}```\n"
        if "ATSDB_DOCUMENTS_WRITE" in os.environ:
            with open(PAGE, "w", encoding="utf-8") as page:
                page.write(written + rest)
        self.assertGreaterEqual(commands_run, 5)


if __name__ == "__main__":
    unittest.main()
