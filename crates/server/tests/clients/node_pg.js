// pg of Node.js: statements with values, prepared statements, a cursor, COPY in both directions, errors, a pool.

const assert = require("node:assert");
const { pipeline } = require("node:stream/promises");
const { Readable } = require("node:stream");
const { Client, Pool } = require("pg");
const { from, to } = require("pg-copy-streams");
const Cursor = require("pg-cursor");

async function main(url) {
  const client = new Client({ connectionString: url });
  await client.connect();
  const since = new Date("2024-01-01T00:01:00Z");
  const text = "SELECT time, sensor, value, count FROM readings WHERE time >= $1 ORDER BY time";
  const found = await client.query(text, [since]);
  assert.deepStrictEqual(found.rows, [
    { time: since, sensor: "s2", value: 1.5, count: "2" },
    { time: new Date("2024-01-01T00:02:00Z"), sensor: "s1", value: null, count: "3" },
  ]);
  assert.deepStrictEqual(found.fields.map((field) => field.dataTypeID), [1184, 25, 701, 20]);
  const among = await client.query("SELECT count(*) AS n FROM readings WHERE sensor = ANY($1::TEXT[])", [["s1", "s9"]]);
  assert.strictEqual(among.rows[0].n, "2");
  const inserted = await client.query("INSERT INTO sensors VALUES ($1, $2, $3) RETURNING id, name", [10, "7", null]);
  assert.deepStrictEqual([inserted.command, inserted.rowCount, inserted.rows], ["INSERT", 1, [{ id: 10, name: "7" }]]);
  for (let run = 0; run < 20; run++) {
    const named = await client.query({ name: "by id", text: "SELECT name FROM sensors WHERE id = $1", values: [10] });
    assert.strictEqual(named.rows[0].name, "7");
  }
  const several = await client.query("SELECT 1 AS one; SELECT 2 AS two");
  assert.deepStrictEqual(several.map((answer) => answer.rows), [[{ one: 1 }], [{ two: 2 }]]);

  const lines = Array.from({ length: 1000 }, (_, number) => `${1000 + number}\tcopied ${number}\t0.5\n`);
  await pipeline(Readable.from(lines), client.query(from("COPY sensors FROM STDIN")));
  let copied = "";
  const copyOut = to("COPY (SELECT id, name FROM sensors WHERE id < 12 ORDER BY id) TO STDOUT CSV");
  for await (const piece of client.query(copyOut)) {
    copied += piece;
  }
  assert.strictEqual(copied, "1,s1\n2,s2\n10,7\n");

  await client.query("BEGIN");
  const cursor = client.query(new Cursor("SELECT id FROM sensors ORDER BY id"));
  let seen = 0;
  for (;;) {
    const rows = await cursor.read(100);
    if (rows.length === 0) break;
    seen += rows.length;
  }
  await cursor.close();
  assert.strictEqual(seen, 1003);
  await client.query("DELETE FROM sensors");
  await assert.rejects(client.query("SELECT nothing FROM sensors"), { code: "42703" });
  await assert.rejects(client.query("SELECT 1"), { code: "25P02" });
  await client.query("ROLLBACK");
  await assert.rejects(client.query("INSERT INTO sensors VALUES (1, 'x', 1)"), {
    code: "23505",
    constraint: "sensors_pkey",
    table: "sensors",
  });

  const columns = "d DATE, n NUMERIC(20, 4), b BYTEA, j JSON, jb JSONB, u UUID, t TEXT[], f BOOLEAN";
  await client.query(`CREATE TABLE every (${columns})`);
  const values = ["2024-02-29", "1234567890123456.7891", Buffer.from([0, 255]), { a: [1] }, { b: null },
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", ["a", 'b"c'], true];
  await client.query("INSERT INTO every VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", values);
  const [row] = (await client.query({ text: "SELECT * FROM every", rowMode: "array" })).rows;
  assert.deepStrictEqual(row, [new Date(2024, 1, 29), ...values.slice(1)]);
  await client.query("DROP TABLE every");
  await client.end();

  const pool = new Pool({ connectionString: url, max: 4 });
  const counts = await Promise.all(Array.from({ length: 20 }, () => pool.query("SELECT count(*) AS n FROM sensors")));
  assert.ok(counts.every((count) => count.rows[0].n === "1003"));
  await pool.end();
}

main(process.argv[2]).then(() => console.log("done"), (error) => {
  console.error(error);
  process.exit(1);
});
