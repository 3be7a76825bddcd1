# DBD::Pg of Perl: parameters, prepared statements, COPY in both directions, what it reads of the catalogue, errors.

use strict;
use warnings;
use DBI;
use DBD::Pg qw(:pg_types :async);

my ($place) = @ARGV;
my ($user, $host, $port, $database) = $place =~ m{^postgresql://(\w+)@([^:]+):(\d+)/(\w+)$} or die $place;
my $source = "dbi:Pg:dbname=$database;host=$host;port=$port";
my $handle = DBI->connect($source, $user, "", { RaiseError => 1, PrintError => 0, AutoCommit => 1 });

sub same {
    my ($found, $expected) = map { join(" | ", map { defined $_ ? $_ : "NULL" } @$_) } @_;
    $found eq $expected or die "found $found instead of $expected at line " . (caller)[2] . "\n";
}

same([$handle->{pg_server_version} >= 150000, $handle->ping], [1, 1]);
my $readings = $handle->prepare("SELECT sensor, value, count FROM readings WHERE count >= ? AND sensor = ANY(?) ORDER BY time");
$readings->execute(2, ["s1", "s2"]);
same($readings->{NAME}, ["sensor", "value", "count"]);
same($readings->{pg_type}, ["text", "float8", "int8"]);
my @rows = map { @$_ } @{ $readings->fetchall_arrayref };
same(\@rows, ["s2", 1.5, 2, "s1", undef, 3]);

my $insert = $handle->prepare("INSERT INTO sensors VALUES (?, ?, ?) RETURNING id");
for my $number (10 .. 29) {
    $insert->execute($number, "$number", undef);
    same($insert->fetchrow_arrayref, [$number]);
    $insert->finish;
}
same([$handle->do("UPDATE sensors SET height = 2.5 WHERE id >= 10")], [20]);
same([$handle->do("DELETE FROM sensors WHERE id > \$1", undef, 1000)], ["0E0"]);
my $many = $handle->prepare("INSERT INTO sensors (id, name) VALUES (?, ?)");
same([scalar $many->execute_array({}, [30, 31], ["thirty", "thirty-one"])], [2]);

$handle->do("COPY sensors FROM STDIN");
$handle->pg_putcopydata("$_\tcopied $_\t\\N\n") for 1000 .. 1099;
$handle->pg_putcopyend;
$handle->do("COPY (SELECT id, name FROM sensors WHERE id < 11 ORDER BY id) TO STDOUT");
my ($line, @lines);
push @lines, $line while $handle->pg_getcopydata($line) >= 0;
same(\@lines, ["1\ts1\n", "2\ts2\n", "10\t10\n"]);

$handle->do("CREATE TABLE every (b BYTEA, f BOOLEAN, n NUMERIC(10, 2), a TEXT[], j JSONB, t TIMESTAMPTZ)");
my $every = $handle->prepare("INSERT INTO every VALUES (?, ?, ?, ?, ?, ?)");
$every->bind_param(1, "\x00\xff", { pg_type => PG_BYTEA });
$every->bind_param(2, 1, { pg_type => PG_BOOL });
$every->bind_param(3, "12.50");
$every->bind_param(4, ["a", 'b"c', undef]);
$every->bind_param(5, '{"a": 1}');
$every->bind_param(6, "2024-02-29 12:00:00+00");
$every->execute;
my ($bytes, $flag, $number, $texts, $json, $time) = $handle->selectrow_array("SELECT * FROM every");
same([unpack("H*", $bytes), $flag, $number, @$texts, $json, $time],
    ["00ff", 1, "12.50", "a", 'b"c', undef, '{"a": 1}', "2024-02-29 12:00:00+00"]);
$handle->do("DROP TABLE every");

same([sort map { s/^"?public"?\.//r } $handle->tables(undef, "public", undef, "TABLE")], ["readings", "sensors"]);
same([map { $_->{COLUMN_NAME} . " " . $_->{pg_type} } @{ $handle->column_info(undef, "public", "sensors", undef)->fetchall_arrayref({}) }],
    ["id integer", "name text", "height real"]);
same([$handle->primary_key(undef, "public", "sensors")], ["id"]);
same([grep { defined } map { $_->{INDEX_NAME} } @{ $handle->statistics_info(undef, "public", "readings", 0, 0)->fetchall_arrayref({}) }],
    ["readings_count"]);

$handle->begin_work;
$handle->do("DELETE FROM sensors");
$handle->pg_savepoint("before");
eval { $handle->do("INSERT INTO nowhere VALUES (1)") };
same([$handle->state, $handle->{pg_int8_as_string} // 0], ["42P01", 0]);
$handle->pg_rollback_to("before");
same([$handle->selectrow_array("SELECT count(*) FROM sensors")], [0]);
$handle->rollback;
eval { $handle->do("INSERT INTO sensors VALUES (1, 'again', NULL)") };
same([$handle->state, $handle->pg_error_field("constraint")], ["23505", "sensors_pkey"]);

# A statement that is sent without waiting for its answer.
$handle->do("SELECT count(*) FROM sensors", { pg_async => PG_ASYNC });
same([$handle->pg_result], [1]);
same([$handle->selectrow_array("SELECT count(*) FROM sensors")], [2 + 20 + 2 + 100]);
$handle->disconnect;
print "done\n";
