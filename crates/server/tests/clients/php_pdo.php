<?php
// PDO and pgsql of PHP: parameters, prepared statements, COPY, cursors, errors.

function same(mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        throw new Exception("found " . json_encode($found) . " instead of " . json_encode($expected));
    }
}

function fails(string $code, callable $action): void
{
    try {
        $action();
    } catch (PDOException $error) {
        same($error->getCode(), $code);
        return;
    }
    throw new Exception("$code was expected");
}

$url = parse_url($argv[1]);
$database = ltrim($url["path"], "/");
foreach ([false, true] as $emulated) {
    $pdo = new PDO("pgsql:host={$url['host']};port={$url['port']};dbname=$database", $url["user"], "", [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => $emulated,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM,
    ]);
    $query = $pdo->prepare("SELECT sensor, value, count FROM readings WHERE count >= :count ORDER BY time");
    $query->bindValue("count", 2, PDO::PARAM_INT);
    $query->execute();
    same(array_map(fn ($row) => [$row[0], $row[1] === null ? null : (float) $row[1], $row[2]], $query->fetchAll()),
        [["s2", 1.5, 2], ["s1", null, 3]]);
    same($query->getColumnMeta(1)["native_type"], "float8");

    $base = $emulated ? 100 : 10;
    $insert = $pdo->prepare("INSERT INTO sensors VALUES (?, ?, ?)");
    for ($number = $base; $number < $base + 20; $number++) {
        $insert->execute([$number, "number $number", null]);
        same($insert->rowCount(), 1);
    }
    $pdo->beginTransaction();
    same($pdo->exec("DELETE FROM sensors") > 0, true);
    fails("42P01", fn () => $pdo->query("SELECT * FROM nowhere"));
    fails("25P02", fn () => $pdo->query("SELECT 1"));
    $pdo->rollBack();
    fails("23505", fn () => $pdo->exec("INSERT INTO sensors VALUES (1, 'again', NULL)"));
    $cursor = $pdo->prepare("SELECT id FROM sensors ORDER BY id", [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
    $pdo->beginTransaction();
    $cursor->execute();
    same($cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_LAST)[0], $base + 19);
    same($cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_FIRST)[0], 1);
    $pdo->commit();
}

same($pdo->pgsqlCopyFromArray("sensors", ["1000\tcopied\t\\N", "1001\tcopied too\t0.5"]), true);
same($pdo->pgsqlCopyToArray("(SELECT id, name FROM sensors WHERE id = 1001)"), ["1001\tcopied too\n"]);

$pdo->exec("CREATE TABLE every (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b BYTEA, f BOOLEAN, n NUMERIC(10, 2))");
$insert = $pdo->prepare("INSERT INTO every (b, f, n) VALUES (:b, :f, :n)");
$insert->bindValue("b", "\x00\xff", PDO::PARAM_LOB);
$insert->bindValue("f", false, PDO::PARAM_BOOL);
$insert->bindValue("n", "12.50");
$insert->execute();
same($pdo->lastInsertId(), "1");
$row = $pdo->query("SELECT b, f, n FROM every")->fetch();
same([bin2hex(stream_get_contents($row[0])), $row[1], $row[2]], ["00ff", false, "12.50"]);
$pdo->exec("DROP TABLE every");

// The functions of pgsql.
$connection = pg_connect($argv[1]);
same(pg_fetch_all(pg_query_params($connection, "SELECT id, name FROM sensors WHERE id = $1", [2])), [["id" => "2", "name" => "s2"]]);
same(pg_field_type(pg_query($connection, "SELECT height FROM sensors"), 0), "float4");
same(array_keys(pg_meta_data($connection, "sensors")), ["id", "name", "height"]);
same(pg_insert($connection, "sensors", ["id" => 2000, "name" => "inserted"]) !== false, true);
same(pg_update($connection, "sensors", ["name" => "updated"], ["id" => 2000]), true);
same(pg_select($connection, "sensors", ["id" => 2000]), [["id" => "2000", "name" => "updated", "height" => null]]);
same(pg_copy_from($connection, "sensors", ["2001\tcopied at last\t1.5\n"]), true);
echo "done\n";
