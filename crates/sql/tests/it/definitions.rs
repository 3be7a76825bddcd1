//! A definition written as `CREATE TABLE` comes back as the same definition.

use atsdb_core::{ColumnId, ColumnType, MapWidth, Retention, SliceWidth, TableDefinition, TimeUnit};
use atsdb_sql::{create_table_sql, parse_create_table};

const NAMES: [&str; 16] = [
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

/// A small generator: which definition a number stands for.
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
        let column_type = ColumnType::ALL[choice.below(ColumnType::ALL.len() as u64)];
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
    definition
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
