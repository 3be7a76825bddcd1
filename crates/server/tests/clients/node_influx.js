// Clients of InfluxDB 2 and 1 for Node.js: points in batches, what they ask before, errors.

const assert = require("node:assert");
const { HttpError, InfluxDB, Point } = require("@influxdata/influxdb-client");
const Influx = require("influx");

async function main(address) {
  const client = new InfluxDB({ url: `http://${address}`, token: "any" });
  const write = client.getWriteApi("house", "air", "ms", { batchSize: 100, gzipThreshold: 1, maxRetries: 0 });
  write.useDefaultTags({ site: "north" });
  for (let number = 0; number < 250; number++) {
    const point = new Point("node").tag("host", `h ${number % 5}`).floatField("v", number).intField("n", number);
    write.writePoint(point.booleanField("up", true).stringField("note", 'a "b"').timestamp(1704067200000 + number));
  }
  await write.close();
  const wrong = client.getWriteApi("house", "air", "ms", { maxRetries: 0, writeFailed: () => Promise.resolve() });
  wrong.writeRecord('node,host=x v="text"');
  await wrong.close();
  const failing = client.getWriteApi("house", "air", "ms", { maxRetries: 0 });
  failing.writeRecord('node,host=x v="text"');
  await assert.rejects(failing.flush(), (error) => error instanceof HttpError && error.statusCode === 400);
  await failing.close();

  const [host, port] = address.split(":");
  const old = new Influx.InfluxDB({ host, port: Number(port), database: "air" });
  const [pinged] = await old.ping(5000);
  assert.deepStrictEqual([pinged.online, pinged.version.startsWith("atsdb")], [true, true]);
  assert.strictEqual((await old.getDatabaseNames()).length, 1);
  await old.createDatabase("air");
  const points = [{ measurement: "old_node", tags: { host: "a" }, fields: { v: 1.5, s: "x" }, timestamp: new Date(1704067200000) }];
  await old.writePoints(points, { precision: "ms" });
  await assert.rejects(old.writePoints([{ measurement: "old_node", fields: { v: "text" } }]), /field type conflict/);
}

main(process.argv[2]).then(() => console.log("done"), (error) => {
  console.error(error);
  process.exit(1);
});
