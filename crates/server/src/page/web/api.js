// The requests of the page to the server.

/** The most rows that are kept; the download has them all. */
export const ROWS_MAX = 500_000;

/** An answer that is no result: the message of the server, or the reason why there is none. */
export class ApiError extends Error {
  constructor({ kind = "request", message, hint = null, status = 0 }) {
    super(message);
    Object.assign(this, { kind, hint, status });
  }
}

async function request(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError({ kind: "unreachable", message: "The server does not answer.", hint: "Is it still running?" });
  }
  if (response.ok) return response;
  throw await refusal(response);
}

async function refusal(response) {
  const text = await response.text().catch(() => "");
  let refused = {};
  try {
    refused = JSON.parse(text);
  } catch {
    refused = { message: text.trim() };
  }
  const status = response.status;
  if (status === 401) {
    const hint = "Reload the page, and give a name and password that the server knows.";
    return new ApiError({ kind: "signed_out", message: "You are not signed in.", hint, status });
  }
  if (status === 403 && refused.kind !== "read_only") {
    const message = refused.message || "The server refused the request.";
    return new ApiError({ kind: "forbidden", message, hint: refused.hint ?? "You may lack the role for it.", status });
  }
  return new ApiError({ message: `The server answered with status ${status}.`, ...refused, status });
}

/** The databases that this user may know of. Without an answer there is one, and the requests say what is wrong. */
export const databases = await request("/api/databases")
  .then((response) => response.json())
  .then((found) => found.databases)
  .catch(() => []);

let database = databases[0] ?? "";

/** The database that all requests are about. */
export const currentDatabase = () => database;

export function useDatabase(name) {
  database = name;
}

/** An address of the current database. */
function address(path, parameters = {}) {
  const named = new URLSearchParams(database ? { ...parameters, db: database } : parameters).toString();
  return named ? `${path}?${named}` : path;
}

/**
 * Runs statements and reads the rows of the last one, column by column.
 *
 * `onProgress(result)` is called when columns are known and as rows come. With `readOnly`, a statement that changes
 * something is refused. Resolves to `{columns, rowCount, isCut}` or `{verb, affected, notices}`.
 */
export async function query(sql, { signal, readOnly = false, onProgress = () => {} } = {}) {
  const response = readOnly
    ? await request(address("/api/sql", { format: "table", sql }), { signal })
    : await request(address("/api/sql"), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ sql, format: "table" }),
        signal,
      });
  if (response.headers.get("Content-Type").startsWith("application/json")) {
    const { verb, rows, notices = [] } = await response.json();
    return { verb, affected: rows, notices };
  }
  return readRows(response, onProgress);
}

async function readRows(response, onProgress) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const result = { columns: null, rowCount: 0, isCut: false };
  let rest = "";
  let isWhole = false;
  for (;;) {
    const { value, done } = await readPart(reader);
    if (done) break;
    const end = value.lastIndexOf("\n");
    if (end < 0) {
      rest += value;
      continue;
    }
    // JSON has no line ends inside of its texts: many lines are read as one array.
    const lines = JSON.parse(`[${(rest + value.slice(0, end)).replaceAll("\n", ",")}]`);
    rest = value.slice(end + 1);
    for (const line of lines) {
      if (Array.isArray(line)) addRow(result, line);
      else if (line.columns) result.columns = line.columns.map((column) => ({ ...column, values: [] }));
      else if (line.error) throw new ApiError(line.error);
      else isWhole = true;
    }
    if (result.rowCount >= ROWS_MAX && !isWhole) {
      result.isCut = true;
      reader.cancel().catch(() => {});
      return result;
    }
    onProgress(result);
  }
  if (!isWhole) throw new ApiError({ kind: "broken", message: "The connection ended before the result did." });
  return result;
}

async function readPart(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError({ kind: "broken", message: "The connection ended before the result did." });
  }
}

function addRow(result, row) {
  const { columns } = result;
  for (let position = 0; position < columns.length; position += 1) columns[position].values.push(row[position]);
  result.rowCount += 1;
}

/** The rows of a query as objects. */
export async function objects(sql) {
  const { columns, rowCount } = await query(sql);
  return Array.from({ length: rowCount }, (_, row) =>
    Object.fromEntries(columns.map((column) => [column.name, column.values[row]])),
  );
}

/** The statements that run at present. */
export const runningStatements = async () => (await request(address("/api/statements"))).json();

export const cancelStatement = (id) => request(address(`/api/statements/${id}`), { method: "DELETE" });

/** The server's counters and gauges, and those of the current database: name to `{help, kind, value}`, and its version. */
export async function metrics() {
  const text = await (await request(address("/metrics"))).text();
  const found = new Map();
  const about = (name) => found.get(name) ?? found.set(name, { help: "", kind: "gauge", value: 0 }).get(name);
  for (const line of text.split("\n")) {
    const [, word, name, rest] = line.match(/^# (HELP|TYPE) (\S+) (.*)$/) ?? [];
    if (word) about(name)[word === "HELP" ? "help" : "kind"] = rest;
    const [, metric, labels, value] = line.match(/^([a-z_]\w*)(\{.*\})? (\S+)$/) ?? [];
    const [, owner] = labels?.match(/[{,]database="([^"]*)"/) ?? [];
    if (!metric || (owner !== undefined && owner !== database)) continue;
    about(metric).value += Number(value);
    if (labels) about(metric).labels = labels;
  }
  return found;
}

/** The address of a whole result as a file; it only reads. */
export const downloadAddress = (sql, format) => address("/api/sql", { format, sql });

export function quoted(name) {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

export const literal = (text) => `'${text.replaceAll("'", "''")}'`;
