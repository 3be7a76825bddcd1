//! Expressions over the columns in scope, by type.

use super::generator::{Generator, Scope};
use super::types::{Type, value};
use Type::{Bool, Bytea, Date, Float, Int, Interval, Mood, Numeric, Text, Time, Timestamp, TimestampTz, Uuid};

impl Generator {
    /// An expression of a type, at most `depth` levels deep.
    pub(crate) fn expression(&mut self, scope: &Scope, ty: Type, depth: usize) -> String {
        if depth == 0 || self.percent(35) {
            let column = self.column(scope, ty);
            return match column.filter(|_| self.percent(75)) {
                Some(column) => column,
                None => self.literal(ty),
            };
        }
        let depth = depth - 1;
        if self.percent(20) && ty != Interval {
            return self.conditional(scope, ty, depth);
        }
        match ty {
            Bool => format!("({})", self.condition(scope, depth)),
            Int => self.integer(scope, depth),
            Float => self.float(scope, depth),
            Numeric => self.numeric(scope, depth),
            Text => self.text(scope, depth),
            Bytea => self.bytes(scope, depth),
            Date => self.date(scope, depth),
            Timestamp | TimestampTz => self.time(scope, ty, depth),
            Time => self.time_of_day(scope, depth),
            Uuid => self.uuid(scope, depth),
            Interval => self.interval(scope, depth),
            Mood => self.mood(scope, depth),
        }
    }

    fn conditional(&mut self, scope: &Scope, ty: Type, depth: usize) -> String {
        let condition = self.condition(scope, depth);
        let (then, otherwise) = (self.expression(scope, ty, depth), self.expression(scope, ty, depth));
        match self.below(if self.is_for_postgres() { 7 } else { 3 }) {
            0 => format!("CASE WHEN {condition} THEN {then} END"),
            1 => format!("coalesce({then}, {otherwise})"),
            2 => format!("CASE WHEN {condition} THEN {then} ELSE {otherwise} END"),
            3 if ty != Bool => format!("greatest({then}, {otherwise})"),
            4 if ty != Bool => format!("least({then}, {otherwise})"),
            5 => format!("nullif({then}, {otherwise})"),
            _ => format!("CASE {then} WHEN {otherwise} THEN {} ELSE {otherwise} END", self.literal(ty)),
        }
    }

    fn integer(&mut self, scope: &Scope, depth: usize) -> String {
        let left = self.expression(scope, Int, depth);
        match self.below(if self.is_for_postgres() { 26 } else { 8 }) {
            0 | 1 => format!("({left} + {})", self.expression(scope, Int, depth)),
            2 => format!("({left} - {})", self.expression(scope, Int, depth)),
            3 => format!("({left} * {})", 2 + self.below(3)),
            4 => format!("({left} / {})", 1 + self.below(7)),
            5 => format!("({left} % {})", 1 + self.below(7)),
            6 => format!("length({})", self.expression(scope, Text, depth)),
            7 => format!("abs({left})"),
            8 => format!("(- {left})"),
            9 => {
                format!("CAST({} AS {})", self.expression(scope, Float, depth), self.of(&["INT", "BIGINT", "SMALLINT"]))
            }
            10 => format!("CAST({} AS INT)", self.expression(scope, Bool, depth)),
            11 => format!("CAST({} AS BIGINT)", self.expression(scope, Numeric, depth)),
            12 => format!("CAST({} AS INT)", self.of(&["'12'", "' 7 '", "'-3'"])),
            13 => format!("strpos({}, {})", self.expression(scope, Text, depth), self.literal(Text)),
            14 => format!("({} - {})", self.expression(scope, Date, depth), self.expression(scope, Date, depth)),
            15 => {
                let part = self.of(&[
                    "year", "month", "day", "hour", "minute", "dow", "doy", "isodow", "week", "quarter", "isoyear",
                ]);
                let time = self.expression(scope, Timestamp, depth);
                format!("CAST(extract({part} FROM {time}) AS INT)")
            }
            16 => format!("({left} {} {})", self.of(&["&", "|"]), self.expression(scope, Int, depth)),
            17 => format!("gcd({left}, {})", 1 + self.below(7)),
            18 => format!("octet_length({})", self.expression(scope, Text, depth)),
            19 => format!("CAST(CAST({left} AS TEXT) AS BIGINT)"),
            21 => format!("ascii({})", self.expression(scope, Text, depth)),
            22 => format!("({})[{left}]", self.array(scope, Int, depth)),
            23 => format!("array_position({}, {})", self.array(scope, Text, depth), self.literal(Text)),
            24 => format!("cardinality({})", self.array(scope, Text, depth)),
            20 => format!("position({} IN {})", self.literal(Text), self.expression(scope, Text, depth)),
            _ => format!("({} {} {})", self.below(20), self.of(&["<<", ">>"]), self.below(4)),
        }
    }

    fn float(&mut self, scope: &Scope, depth: usize) -> String {
        let left = self.expression(scope, Float, depth);
        match self.below(if self.is_for_postgres() { 16 } else { 4 }) {
            0 => format!("({left} + {})", self.expression(scope, Float, depth)),
            1 => format!("({left} - {})", self.expression(scope, Float, depth)),
            2 => format!("({left} * {}.5)", self.below(3)),
            3 => format!("({left} + {})", self.expression(scope, Int, depth)),
            4 => format!("abs({left})"),
            5 => format!("floor({left})"),
            6 => format!("ceil({left})"),
            7 => format!("round({left})"),
            8 => format!("trunc({left})"),
            9 => format!("({left} / {})", self.of(&["2", "4", "0.5"])),
            10 => format!("power({left}, 2)"),
            11 => format!("sqrt(abs({left}))"),
            12 => format!("CAST({} AS DOUBLE PRECISION)", self.expression(scope, Int, depth)),
            13 => format!("CAST(extract(epoch FROM {}) AS DOUBLE PRECISION)", self.expression(scope, Timestamp, depth)),
            14 => {
                format!("CAST(extract(second FROM {}) AS DOUBLE PRECISION)", self.expression(scope, Timestamp, depth))
            }
            _ => format!("CAST(extract(epoch FROM {}) AS DOUBLE PRECISION)", self.expression(scope, Interval, depth)),
        }
    }

    fn numeric(&mut self, scope: &Scope, depth: usize) -> String {
        let left = self.expression(scope, Numeric, depth);
        match self.below(10) {
            0 => format!("({left} + {})", self.expression(scope, Numeric, depth)),
            1 => format!("({left} - {})", self.expression(scope, Numeric, depth)),
            2 => format!("({left} * {})", 1 + self.below(3)),
            3 => format!("abs({left})"),
            4 => format!("({left} + {})", self.expression(scope, Int, depth)),
            5 => format!("round({left})"),
            6 => format!("round({left}, 1)"),
            7 => format!("mod({left}, 2)"),
            8 => format!("CAST({left} AS DECIMAL(14, 1))"),
            _ => format!("CAST({} AS DECIMAL(20, 2))", self.expression(scope, Int, depth)),
        }
    }

    fn text(&mut self, scope: &Scope, depth: usize) -> String {
        let text = self.expression(scope, Text, depth);
        match self.below(if self.is_for_postgres() { 34 } else { 6 }) {
            0 => format!("({text} || {})", self.expression(scope, Text, depth)),
            1 => format!("upper({text})"),
            2 => format!("substr({text}, {}, {})", 1 + self.below(3), self.below(4)),
            3 => format!("replace({text}, 'a', {})", self.of(&["''", "'bb'"])),
            4 => format!("trim({text})"),
            5 => format!("nullif({text}, {})", self.literal(Text)),
            6 => format!("lower({text})"),
            7 => format!("left({text}, {})", self.below(5) as i64 - 2),
            8 => format!("right({text}, {})", self.below(5) as i64 - 2),
            9 => format!("reverse({text})"),
            10 => format!("repeat({text}, {})", self.below(3)),
            11 => format!("lpad({text}, {}, 'xy')", self.below(6)),
            12 => format!("rpad({text}, {}, '-')", self.below(6)),
            13 => format!("split_part({text}, {}, {})", self.of(&["' '", "'a'", "'_'"]), 1 + self.below(3)),
            14 => format!("initcap({text})"),
            15 => format!("translate({text}, 'ab', {})", self.of(&["'x'", "'xyz'", "''"])),
            16 => format!("concat({text}, {})", self.expression(scope, Text, depth)),
            17 => format!("concat_ws('-', {text}, {})", self.expression(scope, Text, depth)),
            18 => format!("CAST({} AS TEXT)", self.expression(scope, Int, depth)),
            19 => format!("CAST({} AS TEXT)", self.expression(scope, Bool, depth)),
            20 => format!("CAST({} AS TEXT)", self.expression(scope, Float, depth)),
            21 => format!("CAST({} AS TEXT)", self.expression(scope, Date, depth)),
            22 => format!("CAST({} AS TEXT)", self.expression(scope, Timestamp, depth)),
            23 => {
                let pattern = self.of(&[
                    "YYYY-MM-DD",
                    "HH24:MI:SS",
                    "DD.MM.YY",
                    "FMDay, FMMonth",
                    "YYYY-MM-DD HH24:MI:SS.US",
                    "IYYY-IW",
                    "Dy DD Mon",
                    "HH12:MI AM",
                    "DDD Q",
                ]);
                format!("to_char({}, '{pattern}')", self.expression(scope, Timestamp, depth))
            }
            24 => format!("substring({text} FROM {} FOR {})", self.below(4) as i64 - 1, self.below(4)),
            25 => format!("regexp_replace({text}, {}, 'z')", self.of(&["'a'", "'[ab]+'", "'^.'"])),
            26 => format!("({text} || {})", self.expression(scope, Int, depth)),
            27 => format!("concat({text}, {}, {text})", self.expression(scope, Int, depth)),
            28 => format!("md5({text})"),
            29 => format!("quote_literal({text})"),
            30 => self.name_of_type(scope, depth).unwrap_or(text),
            31 => format!("CAST({} AS TEXT)", self.expression(scope, Mood, depth)),
            32 => format!("array_to_string({}, '-', '?')", self.array(scope, Text, depth)),
            _ => format!("btrim({text}, {})", self.of(&["'a'", "'ab'", "' '"])),
        }
    }

    /// The type of a number that is computed from columns of tables. Aggregates have other types in PostgreSQL, and so
    /// have the functions that are left out.
    fn name_of_type(&mut self, scope: &Scope, depth: usize) -> Option<String> {
        let ty = [Int, Float, Numeric][self.below(3)];
        let number = self.expression(scope, ty, depth);
        let is_of_table =
            scope.0.iter().all(|(name, _)| ["l.", "r.", "sub."].iter().any(|from| name.starts_with(from)));
        let differs = ["gcd(", "power(", "sqrt(", "nullif("].iter().any(|function| number.contains(function));
        (is_of_table && !differs).then(|| format!("CAST(pg_typeof({number}) AS TEXT)"))
    }

    fn bytes(&mut self, scope: &Scope, depth: usize) -> String {
        let bytes = self.expression(scope, Bytea, depth);
        match self.below(3) {
            0 => format!("coalesce({bytes}, {})", self.expression(scope, Bytea, depth)),
            1 => format!("decode(encode({bytes}, 'hex'), 'hex')"),
            _ => format!("nullif({bytes}, {})", self.literal(Bytea)),
        }
    }

    fn date(&mut self, scope: &Scope, depth: usize) -> String {
        match self.below(4) {
            0 => format!("CAST({} AS DATE)", self.expression(scope, Timestamp, depth)),
            1 => format!("({} + {})", self.expression(scope, Date, depth), self.below(5)),
            2 => format!("({} - {})", self.expression(scope, Date, depth), self.below(5)),
            _ => format!("CAST({} AS DATE)", self.expression(scope, TimestampTz, depth)),
        }
    }

    fn time(&mut self, scope: &Scope, ty: Type, depth: usize) -> String {
        let time = self.expression(scope, ty, depth);
        match self.below(8) {
            0 | 1 => format!("({time} + {})", self.expression(scope, Interval, 0)),
            2 => format!("({time} - {})", self.expression(scope, Interval, depth)),
            3 | 4 => {
                let unit = self.of(&["hour", "day", "week", "month", "year", "minute", "quarter"]);
                format!("date_trunc('{unit}', {time})")
            }
            5 => format!("CAST({} AS {})", self.expression(scope, Date, depth), super::types::name_of(ty)),
            6 if ty == Timestamp => {
                let width = self.of(&["15 minutes", "6 hours", "7 days"]);
                format!("date_bin(INTERVAL '{width}', {time}, TIMESTAMP '1900-01-01 00:00:00')")
            }
            _ if ty == Timestamp => {
                format!("({} {} {})", self.expression(scope, Date, depth), self.of(&["+", "-"]), self.literal(Interval))
            }
            _ => time,
        }
    }

    fn time_of_day(&mut self, scope: &Scope, depth: usize) -> String {
        let time = self.expression(scope, Time, depth);
        match self.below(5) {
            0 => format!("({time} + {})", self.length_of_time()),
            1 => format!("({time} - {})", self.length_of_time()),
            2 => format!("CAST(CAST({time} AS TEXT) AS TIME)"),
            3 => format!("CAST({} AS TIME)", self.expression(scope, Timestamp, depth)),
            _ => time,
        }
    }

    fn length_of_time(&mut self) -> String {
        let lengths = ["1 day", "24 hours", "90 minutes", "36 hours", "-1 hour", "0.5 seconds", "1 month"];
        format!("INTERVAL '{}'", self.of(&lengths))
    }

    fn uuid(&mut self, scope: &Scope, depth: usize) -> String {
        let uuid = self.expression(scope, Uuid, depth);
        match self.below(3) {
            0 => format!("CAST(CAST({uuid} AS TEXT) AS UUID)"),
            1 => format!("CAST(upper(CAST({uuid} AS TEXT)) AS UUID)"),
            _ => uuid,
        }
    }

    /// An array of constants and an expression.
    pub(crate) fn array(&mut self, scope: &Scope, ty: Type, depth: usize) -> String {
        let count = 1 + self.below(3);
        let mut items: Vec<String> = (0..count).map(|_| value(&mut self.choice, ty)).collect();
        if self.percent(40) {
            items.push(self.expression(scope, ty, depth));
        }
        if self.percent(15) {
            items.push("NULL".to_owned());
        }
        format!("ARRAY[{}]", items.join(", "))
    }

    fn mood(&mut self, scope: &Scope, depth: usize) -> String {
        let mood = self.expression(scope, Mood, depth);
        match self.below(4) {
            0 => format!("CAST(CAST({mood} AS TEXT) AS mood)"),
            1 => format!("{}(CAST(NULL AS mood))", self.of(&["enum_first", "enum_last"])),
            _ => mood,
        }
    }

    fn interval(&mut self, scope: &Scope, depth: usize) -> String {
        match self.below(4) {
            0 | 1 => {
                format!("({} - {})", self.expression(scope, Timestamp, depth), self.expression(scope, Timestamp, depth))
            }
            2 => format!("({} + {})", self.literal(Interval), self.literal(Interval)),
            _ => format!("({} * {})", self.literal(Interval), 1 + self.below(3)),
        }
    }
}
