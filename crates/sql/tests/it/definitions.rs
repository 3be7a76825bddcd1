//! A definition that is written as `CREATE TABLE` is read back as the same definition.

use atsdb_core::{
    ColumnId, ColumnType, ConflictPolicy, DefaultFunction, Index, MapWidth, Retention, SliceWidth, TableDefinition,
    TimeUnit, Unique, Value,
};
use atsdb_sql::{create_table_sql, parse_create_table};

const NAMES: [&str; 20] = [
    "timestamp",
    "interval",
    "current_date",
    "exists",
    "sensor",
    "PM2.5",
    "select",
    "order",
    "with \"quotes\"",
    "it's",
    "a,b:c",
    "GRÖSSE",
    "key",
    "primary",
    "time zone",
    "1st",
    "value",
    "unsigned",
    "like",
    "a\\b",
];

/// A generator of random definitions.
struct Choice(u64);

impl Choice {
    fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound) as usize
    }
}

fn definition(seed: u64) -> TableDefinition {
    let mut choice = Choice(seed);
    let mut definition = TableDefinition::new(NAMES[choice.below(NAMES.len() as u64)]);
    let first = choice.below(NAMES.len() as u64);
    for offset in 0..1 + choice.below(8) {
        let others = [ColumnType::Time, ColumnType::Uuid, ColumnType::Decimal { precision: 10, scale: 2 }];
        let types = [&ColumnType::PLAIN[..], &others].concat();
        let column_type = types[choice.below(types.len() as u64)];
        let mapped = column_type == ColumnType::Text && choice.below(2) == 0;
        let map = mapped.then(|| MapWidth::ALL[choice.below(3)]);
        definition = definition.with_column(NAMES[(first + offset) % NAMES.len()], column_type, map);
        definition.columns[offset].nullable = choice.below(3) > 0;
    }
    let position = choice.below(definition.columns.len() as u64);
    if definition.columns[position].column_type.can_be_time() && choice.below(4) > 0 {
        let name = definition.columns[position].name.clone();
        definition = definition.with_time(&name, TimeUnit::ALL[choice.below(4)]).unwrap();
        definition.slice = SliceWidth::ALL[choice.below(5)];
        definition.retention = (choice.below(2) == 0).then(|| Retention::parse("36 hours").unwrap());
    }
    let time = definition.time.map(|time| time.column);
    let count = definition.columns.len() as u16;
    definition.key = (0..count).map(ColumnId).filter(|id| Some(*id) != time && choice.below(3) == 0).collect();
    with_constraints(definition, &mut choice)
}

fn with_constraints(mut definition: TableDefinition, choice: &mut Choice) -> TableDefinition {
    let count = definition.columns.len() as u64;
    let some_columns = |choice: &mut Choice| {
        let first = choice.below(count);
        let taken = 1 + choice.below(count);
        (0..taken).map(|offset| ColumnId(((first + offset) % count as usize) as u16)).collect::<Vec<_>>()
    };
    for primary in [true, false, false] {
        if choice.below(3) == 0 {
            let columns = some_columns(choice);
            if primary {
                definition.columns.iter_mut().for_each(|column| column.nullable &= !columns.contains(&column.id));
            }
            let name = (choice.below(2) == 0).then(|| NAMES[choice.below(NAMES.len() as u64)].to_owned());
            let name = name.filter(|name| definition.key_position(name).is_none());
            definition.unique.push(Unique {
                name,
                primary,
                nulls_equal: !primary && choice.below(2) == 0,
                index: !primary && choice.below(2) == 0,
                ..Unique::new(columns)
            });
        }
    }
    if !definition.unique.is_empty() {
        definition.on_conflict = ConflictPolicy::ALL[choice.below(if definition.unique.len() == 1 { 4 } else { 3 })];
    }
    for number in 0..choice.below(3) {
        let name = NAMES[(number * 7 + choice.below(7)) % NAMES.len()].to_owned();
        if definition.key_position(&name).is_some() {
            continue;
        }
        definition.indexes.push(Index { id: definition.next_index_id(), name, columns: some_columns(choice) });
        definition.indexes_given += 1;
    }
    for column in &mut definition.columns {
        let function = DefaultFunction::ALL[choice.below(8)];
        match choice.below(4) {
            0 | 1 => column.default = Some(some_value(column.column_type, choice)),
            2 if function.fits(column.column_type) => column.default_function = Some(function),
            _ => {}
        }
    }
    definition
}

fn some_value(column_type: ColumnType, choice: &mut Choice) -> Value {
    let far = [i64::MIN, -1, 0, 1, 1_709_251_200_123_456, i64::MAX][choice.below(6)];
    let float = [0.0, -0.0, 0.1, -1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY][choice.below(7)];
    let narrow = [0.0_f32, -0.0, 0.1, 1e-40, f32::MIN, f32::INFINITY][choice.below(6)];
    let text = ["", "it's", "a\\b", "\"x\"", "é\n\t", "NULL", "$x", "a,b"][choice.below(8)];
    match column_type {
        ColumnType::Bool => Value::Bool(choice.below(2) == 0),
        ColumnType::Int8 => Value::Int([-128, 127][choice.below(2)]),
        ColumnType::Int16 => Value::Int([-32_768, 32_767][choice.below(2)]),
        ColumnType::Int32 => Value::Int([i64::from(i32::MIN), i64::from(i32::MAX)][choice.below(2)]),
        ColumnType::Date => Value::Int([i64::from(i32::MIN), -719_529, 19_000, i64::from(i32::MAX)][choice.below(4)]),
        ColumnType::Int64 | ColumnType::Timestamp(_) => Value::Int(far),
        ColumnType::UInt8 => Value::UInt(255),
        ColumnType::UInt16 => Value::UInt(65_535),
        ColumnType::UInt32 => Value::UInt(u64::from(u32::MAX)),
        ColumnType::UInt64 => Value::UInt([0, u64::MAX][choice.below(2)]),
        ColumnType::Float32 => Value::Float(f64::from(narrow)),
        ColumnType::Float64 => Value::Float(float),
        ColumnType::Text => Value::Text(text.to_owned()),
        ColumnType::Binary => Value::Bytes(text.as_bytes().to_vec()),
        ColumnType::Decimal { .. } => Value::Text(["0.50", "-12345678.90"][choice.below(2)].to_owned()),
        ColumnType::Time => Value::Text(["00:00:00", "23:59:59.999999"][choice.below(2)].to_owned()),
        ColumnType::Uuid => Value::Text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11".to_owned()),
        ColumnType::Json => Value::Text(["{\"it's\": [1.50]}", "null"][choice.below(2)].to_owned()),
        ColumnType::Interval => Value::Text(["1 mon -2 days", "-00:00:00.5"][choice.below(2)].to_owned()),
        ColumnType::Array(_) => Value::Text(["{}", "{NULL}"][choice.below(2)].to_owned()),
    }
}

#[test]
fn every_definition_comes_back_from_its_text() {
    for seed in 0..5_000 {
        let definition = definition(seed);
        let sql = create_table_sql(&definition);
        let parsed = parse_create_table(&sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
        assert_eq!(parsed, definition, "{sql}");
    }
}

#[test]
fn a_declaration_cut_anywhere_is_read_or_refused() {
    let text = "CREATE TABLE IF NOT EXISTS [my t] (`a b` bigint(20) NOT NULL default '-1' COMMENT 'x', [c] text COLLATE utf8_bin \
                DEFAULT 'x', PRIMARY KEY (`a b`), KEY k (c(10)) USING BTREE) ENGINE=InnoDB, DEFAULT CHARACTER SET = utf8 \
                AUTO_INCREMENT=5 WITHOUT ROWID WITH (sort = 'c') COMMENT='[é';";
    for (end, _) in text.char_indices() {
        for cut in [text[..end].to_owned(), format!("{}]", &text[..end]), format!("{})", &text[..end])] {
            let _ = parse_create_table(&cut);
        }
        let _ = parse_create_table(&text[end..]);
    }
    let definition = parse_create_table(text).unwrap();
    assert_eq!((definition.name.as_str(), definition.columns.len(), definition.indexes.len()), ("my t", 2, 1));
}
