"""Conditions that are pushed down find what SQLite finds in a plain table of the same values."""

import random
import unittest

from support import SEED, Case, atsdb, attached, chunks_read

#: The columns besides `n`, and some of their values. Each chunk has its own part of them.
COLUMNS = {
    "price DECIMAL(8, 2)": ["-99.50", "-3", "-0.01", "0", "0.10", "9", "10.5", "10.51", "450", "123456.78"],
    "exact DECIMAL(38, 20)": ["-5.00000000000000000001", "-5", "0.1", "0.3", "5", "5.00000000000000000001",
                              "9007199254740992", "9007199254740993", "123456789012345678"],
    "whole DECIMAL(38)": ["-99999999999999999999999999999999999999", "-1", "7", "12345678901234567890",
                          "12345678901234567891", "99999999999999999999999999999999999999"],
    "at TIME": ["00:00", "00:00:00.000001", "01:30", "09:00", "12:30", "12:30:00.5", "12:30:00.500001", "23:59:59.999999"],
    "day DATE": ["1969-12-31", "1970-01-01", "2024-02-29", "2024-03-01", "9999-12-31"],
    "seen TIMESTAMP(3)": ["1969-12-31 23:59:59.999", "1970-01-01", "2024-03-01 12:30", "2024-03-01 12:30:00.5", "2500-01-01"],
    "name TEXT": ["", "-", " 12", "12", "5", "9.0", "abc", "zzz"],
    "id UUID": [f"{digit}0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" for digit in "019ace"],
}

#: Operands as SQL writes them. The casts make SQLite compare as numbers, or as text.
OPERANDS = [
    "NULL", "x'39'", "''", "'abc'", "'-'", "0", "-3", "5", "7", "9", "10.5", "'10.5'", "'10.500'", "'  9 '", "9.0", "1e20", "'1e1'",
    "-1e400", "1e400", "0.1", "0.1 + 0.2", "'0.3'", "CAST(10.5 AS REAL)", "CAST(0.1 AS REAL) + 0.2", "CAST(9 AS INTEGER)",
    "CAST(5 AS REAL)", "CAST('9' AS NUMERIC)", "CAST(10.5 AS TEXT)", "9007199254740992", "9007199254740993", "9007199254740993.0",
    "CAST(9007199254740993 AS INTEGER)", "12345678901234567890", "'12345678901234567890'", "'12345678901234567890.5'", "-1",
    "'99999999999999999999999999999999999999'", "1e38", "CAST(1e38 AS REAL)", "(SELECT 10.5)", "(SELECT '9')",
    "'12:30'", "'12:30:00'", "'12:30:00.5'", "'12:30:00.500'", "'12:30:00.50000'", "'9'", "'1'", "'24:00:00'", "time('09:00')",
    "'2024-03-01'", "'2024-03'", "'2024-03-01 12:30:00'", "'2024-03-01T13:30:00.5+01:00'", "date('2024-02-29')", "'1970'",
    "19783", "'19783'", "19783.5", "1709251200", "'1709251200'", "1709296200000", "1709296200.5", "'1709296200.5'", "2460370.5",
    "'2460370.5'", "0.0", "'0'", "CAST('19783' AS TEXT)", "CAST(19783 AS INTEGER)",
    "'90eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'90EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'a'",
]

COMPARISONS = ["=", "<", "<=", ">", ">=", "IS", "<>"]
COLLATIONS = {"DECIMAL": "atsdb_decimal", "DATE": "atsdb_time", "TIMESTAMP": "atsdb_time"}


def build(path):
    """Writes six chunks, whose values overlap only a little, and returns the names of the columns."""
    names = [column.split()[0] for column in COLUMNS]
    atsdb("sql", path, text=f"CREATE TABLE v (n INT, {', '.join(COLUMNS)}) WITH (time = 'none');")
    for chunk in range(6):
        rows = []
        for number in range(12):
            part = lambda values: values[min((chunk * len(values) + number % len(values)) // 6, len(values) - 1)]
            values = ["NULL" if number == 11 else f"'{part(values)}'" for values in COLUMNS.values()]
            rows.append(f"({chunk * 12 + number}, {', '.join(values)})")
        atsdb("sql", path, text=f"INSERT INTO v VALUES {', '.join(rows)};")
    return names


def condition(chance, column):
    kind = chance.randrange(5)
    if kind == 0:
        return f"{column} IN ({', '.join(chance.choices(OPERANDS, k=3))})"
    if kind == 1:
        low, high = chance.choices(OPERANDS, k=2)
        return f"{column} BETWEEN {low} AND {high}"
    collation = chance.choice(["", "", "", " COLLATE NOCASE", " COLLATE BINARY"])
    return f"{column} {chance.choice(COMPARISONS)} {chance.choice(OPERANDS)}{collation}"


class Pushdown(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("values.db")
        self.names = build(self.store)

    def tables(self, format="text"):
        """A connection with the virtual table `v` and a plain table `plain` of its values."""
        connection = attached(self.store, "v", options=f", time='{format}'")
        declared = {row[1]: row[2] for row in connection.execute("PRAGMA temp.table_info(v)")}
        types = {"n": "INT", **dict(column.split(maxsplit=1) for column in COLUMNS)}
        def collate(name):
            collation = COLLATIONS.get(types[name].split("(")[0])
            is_text = declared[name].startswith("TEXT")
            return f" COLLATE {collation}" if collation and is_text else ""
        columns = ", ".join(f"{name} {declared[name]}{collate(name)}" for name in ["n", *self.names])
        # SQLite up to 3.40 skips rows of automatic indexes by the length of texts, although a collation finds them equal.
        connection.execute("PRAGMA automatic_index = OFF")
        connection.execute(f"CREATE TABLE plain ({columns})")
        connection.execute("INSERT INTO plain SELECT * FROM v")
        return connection

    def test_generated_comparisons_find_what_a_plain_table_has(self):
        chance = random.Random(SEED)
        for format in ["text", "unixepoch", "julian", "integer"]:
            connection = self.tables(format)
            self.assertEqual(connection.execute("SELECT count(*), count(price) FROM plain").fetchone(), (72, 66))
            connection.execute("CREATE TABLE operands (i INTEGER, r REAL, t TEXT, b BLOB, m NUMERIC)")
            for operand in OPERANDS:
                connection.execute(f"INSERT INTO operands SELECT v, v, v, v, v FROM (SELECT {operand} AS v)")
            for column in self.names:
                wheres = [condition(chance, column) for _ in range(60)]
                wheres += [f"{column} {comparison} {operand}" for comparison in COMPARISONS for operand in OPERANDS]
                for where in wheres:
                    query = f"SELECT n FROM {{}} WHERE {where} ORDER BY n"
                    found = connection.execute(query.format("v")).fetchall()
                    self.assertEqual(found, connection.execute(query.format("plain")).fetchall(), f"{format}: {where}")
                # Columns have types, which decide how SQLite compares, and so does the text of their list.
                for operand in "irtbm":
                    for comparison in ["=", "<", ">="]:
                        query = f"SELECT n, {operand} FROM operands CROSS JOIN {{}} WHERE {column} {comparison} {operand} ORDER BY 1, 2"
                        found = connection.execute(query.format("v")).fetchall()
                        self.assertEqual(found, connection.execute(query.format("plain")).fetchall(), f"{format}: {query}")
                    query = f"SELECT n FROM {{}} WHERE {column} IN (SELECT {operand} FROM operands) ORDER BY n"
                    found = connection.execute(query.format("v")).fetchall()
                    self.assertEqual(found, connection.execute(query.format("plain")).fetchall(), f"{format}: {query}")

    def test_parameters_are_compared_by_their_type(self):
        connection = self.tables()
        values = [None, 0, 9, 10.5, "10.5", "10.500", 0.1 + 0.2, 2**53 + 1, "12:30:00.500", "2024-03-01", b"9", "abc"]
        for column in self.names:
            for comparison in COMPARISONS:
                for value in values:
                    query = f"SELECT n FROM {{}} WHERE {column} {comparison} ? ORDER BY n"
                    found = connection.execute(query.format("v"), [value]).fetchall()
                    expected = connection.execute(query.format("plain"), [value]).fetchall()
                    self.assertEqual(found, expected, f"{column} {comparison} {value!r}")

    def test_chunks_without_matching_rows_are_not_read(self):
        connection = attached(self.store, "v")
        def reads(where):
            before = chunks_read(connection)
            connection.execute(f"SELECT n FROM v WHERE {where}").fetchall()
            return chunks_read(connection) - before
        self.assertEqual(reads("n >= 0"), 6)
        for where in ["price = 10.5", "price > '1000'", "price BETWEEN '-100' AND -3.5", "price IN (9, '450.00')", "exact < -5",
                      "whole = '12345678901234567891'", "whole > '1e30'", "at < '01'", "at >= '12:30:00.500'", "at IN ('01:30:00')",
                      "day = '2024-02-29'", "seen > '2024-03-01'", "id = '90eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"]:
            self.assertLess(reads(where), 6, where)
        for where in ["price = '10.505'", "price > '1e20'", "at > '24'", "day = '2024-02-29 12:00'"]:
            self.assertEqual(reads(where), 0, where)


if __name__ == "__main__":
    unittest.main()
