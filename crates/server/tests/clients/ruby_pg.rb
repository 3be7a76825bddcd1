# pg of Ruby: parameters in text and in binary, prepared statements, COPY in both directions, rows one at a time,
# a pipeline, errors.

require "bigdecimal"
require "date"
require "pg"

def same(found, expected)
  raise "found #{found.inspect} instead of #{expected.inspect}" unless found == expected
end

def fails(code)
  yield
rescue PG::Error => error
  same(error.result.error_field(PG::PG_DIAG_SQLSTATE), code)
else
  raise "#{code} was expected"
end

connection = PG.connect(ARGV[0])
same(connection.server_version / 10000, 15)
connection.type_map_for_results = PG::BasicTypeMapForResults.new(connection)
connection.type_map_for_queries = PG::BasicTypeMapForQueries.new(connection)
[0, 1].each do |format|
  query = "SELECT time, sensor, value, count FROM readings WHERE count >= $1 AND sensor = ANY($2::text[]) ORDER BY time"
  found = connection.exec_params(query, [2, %w[s1 s2]], format)
  same(found.fields, %w[time sensor value count])
  same(found.values.map { |row| row[1..] }, [["s2", 1.5, 2], ["s1", nil, 3]])
  same(found.values[0][0].to_i, Time.utc(2024, 1, 1, 0, 1).to_i)
end
connection.prepare("insert", "INSERT INTO sensors VALUES ($1, $2, $3)")
20.times { |number| same(connection.exec_prepared("insert", [10 + number, "number #{number}", nil]).cmd_tuples, 1) }
same(connection.describe_prepared("insert").nparams, 3)

encoder = PG::TextEncoder::CopyRow.new
connection.copy_data("COPY sensors FROM STDIN", encoder) do
  100.times { |number| connection.put_copy_data([1000 + number, "copied\t#{number}", nil]) }
end
copied = []
connection.copy_data("COPY (SELECT id, name FROM sensors WHERE id < 11 ORDER BY id) TO STDOUT", PG::TextDecoder::CopyRow.new) do
  while (row = connection.get_copy_data)
    copied << row
  end
end
same(copied, [%w[1 s1], %w[2 s2], ["10", "number 0"]])
connection.send_query("SELECT id FROM sensors ORDER BY id")
connection.set_single_row_mode
same(connection.get_result.stream_each.count, 2 + 20 + 100)
same(connection.get_result, nil)

connection.enter_pipeline_mode
connection.send_query_params("INSERT INTO sensors VALUES ($1, $2, NULL)", [3000, "piped"])
connection.send_query_params("SELECT count(*) FROM sensors", [])
connection.pipeline_sync
results = []
2.times do
  results << connection.get_result
  connection.get_result
end
same(results.map(&:cmd_status), ["INSERT 0 1", "SELECT 1"])
same(results[1].getvalue(0, 0), 123)
same(connection.get_result.result_status, PG::PGRES_PIPELINE_SYNC)
connection.exit_pipeline_mode

connection.exec("CREATE TABLE every (b BYTEA, f BOOLEAN, n NUMERIC(10, 2), a INT[], j JSON, d DATE)")
connection.exec_params("INSERT INTO every VALUES ($1, $2, $3, $4, $5, $6)",
                       [PG::BasicTypeMapForQueries::BinaryData.new("\x00\xff".b), true, BigDecimal("12.5"), [1, 2], { "a" => 1 }, Date.new(2024, 2, 29)])
same(connection.exec("SELECT * FROM every").values, [["\x00\xff".b, true, BigDecimal("12.5"), [1, 2], { "a" => 1 }, Date.new(2024, 2, 29)]])
connection.exec("DROP TABLE every")

fails("23505") { connection.exec("INSERT INTO sensors VALUES (1, 'again', NULL)") }
fails("42P01") do
  connection.transaction do |transaction|
    transaction.exec("DELETE FROM sensors")
    transaction.exec("SELECT * FROM nowhere")
  end
end
same(connection.exec("SELECT count(*) FROM sensors").getvalue(0, 0), 123)
connection.close
puts "done"
