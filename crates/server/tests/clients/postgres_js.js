// postgres.js: values in templates, prepared statements, several rows, cursors, COPY in both directions, errors.

const assert = require("node:assert");
const { pipeline } = require("node:stream/promises");
const { Readable } = require("node:stream");
const postgres = require("postgres");

async function main(url) {
  const sql = postgres(url, { max: 4 });
  const rows = await sql`SELECT sensor, value, count FROM readings WHERE count >= ${2} ORDER BY time`;
  assert.deepStrictEqual(rows.map((row) => Object.values(row)), [["s2", 1.5, "2"], ["s1", null, "3"]]);
  for (const among of [sql`sensor IN ${sql(["s1", "s9"])}`, sql`sensor = ANY(${["s1", "s9"]})`]) {
    assert.strictEqual((await sql`SELECT count(*) AS n FROM readings WHERE ${among}`)[0].n, "2");
  }
  await sql`INSERT INTO sensors ${sql([{ id: 10, name: "ten", height: 0.5 }, { id: 11, name: "eleven", height: null }])}`;
  const named = await Promise.all(Array.from({ length: 20 }, () => sql`SELECT name FROM sensors WHERE id = ${10}`));
  assert.ok(named.every(([row]) => row.name === "ten"));
  const lines = Array.from({ length: 100 }, (_, number) => `${1000 + number}\tcopied ${number}\t0.5\n`);
  await pipeline(Readable.from(lines), await sql`COPY sensors FROM STDIN`.writable());
  let copied = "";
  for await (const piece of await sql`COPY (SELECT id FROM sensors WHERE id < 1001 ORDER BY id) TO STDOUT`.readable()) {
    copied += piece;
  }
  assert.strictEqual(copied, "1\n2\n10\n11\n1000\n");
  let seen = 0;
  await sql`SELECT id FROM sensors`.cursor(10, (part) => {
    seen += part.length;
  });
  assert.strictEqual(seen, 104);
  const failing = sql.begin(async (transaction) => {
    await transaction`DELETE FROM sensors`;
    await transaction.savepoint((point) => point`INSERT INTO nowhere VALUES (1)`).catch((error) => error);
    assert.strictEqual((await transaction`SELECT count(*) AS n FROM sensors`)[0].n, "0");
    await transaction`SELECT * FROM nowhere`;
  });
  await assert.rejects(failing, { code: "42P01" });
  assert.strictEqual((await sql`SELECT count(*) AS n FROM sensors`)[0].n, "104");

  await sql`CREATE TABLE every (b BYTEA, j JSONB, a INT[], d DATE, f BOOLEAN)`;
  const row = { b: Buffer.from([0, 255]), j: { a: 1 }, a: [1, 2], d: new Date("2024-02-29"), f: true };
  await sql`INSERT INTO every ${sql(row)}`;
  assert.deepStrictEqual({ ...(await sql`SELECT * FROM every`)[0] }, row);
  await sql`DROP TABLE every`;
  await sql.end();
}

main(process.argv[2]).then(() => console.log("done"), (error) => {
  console.error(error);
  process.exit(1);
});
