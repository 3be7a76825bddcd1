//! Columns that become rows.

use crate::support::{refused_with, run, text, with};
use atsdb_core::{ColumnType, TableDefinition, TimeUnit};
use atsdb_import::{Options, UnpivotChoice};

fn unpivoted(columns: &[&str]) -> Options {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    let unpivot = Some(UnpivotChoice { columns, name: "sensor".to_owned(), value: "v".to_owned() });
    Options { unpivot, ..Options::default() }
}

#[test]
fn columns_become_rows() {
    let content = "time,s1,place,s2,\"s\"\"3\"\n2024-01-01,1,a,2.5,NA\n2024-01-02,,b,\"4\",5\n2024-01-03,,,,\n";
    let columns = ["*time date", "place text", "sensor text", "v float64"];
    assert_eq!(with(content, &unpivoted(&["s*"])).columns(), columns);
    let imported = with(content, &unpivoted(&["S1", "s2", "s\"3"]));
    assert_eq!(imported.columns(), columns);
    assert_eq!(imported.texts("time"), ["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"]);
    assert_eq!(imported.texts("place"), ["a", "a", "b", "b"]);
    assert_eq!(imported.texts("sensor"), ["s1", "s2", "s2", "s\"3"]);
    assert_eq!(imported.texts("v"), ["1.0", "2.5", "4.0", "5.0"]);
    // Years stay numbers.
    let years = with("country,2020,2021\nDE,1,2\nFR,3,4\n", &unpivoted(&["20*"]));
    assert_eq!(years.columns(), ["country text", "sensor int64", "v int64"]);
    assert_eq!(years.texts("sensor"), ["2020", "2021", "2020", "2021"]);
}

#[test]
fn rows_of_columns_fit_a_table_and_errors_name_their_lines() {
    let definition = TableDefinition::new("t")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, None)
        .with_column("v", ColumnType::Int64, None)
        .with_time("time", TimeUnit::Second)
        .unwrap();
    let into = |content: &str, options: &Options| run(vec![text("a.csv", content)], options, Some(&definition));
    let mut imported = into("time,a,b\n2024-01-01,1,2\n2024-01-02,,3\n", &unpivoted(&["a", "b"])).unwrap();
    assert_eq!(imported.texts("sensor"), ["a", "b", "b"]);
    let many: String = (0..200_000).map(|number| format!("{number},1,2\n")).collect();
    let options = Options { time_unit: Some(TimeUnit::Second), ..unpivoted(&["a", "b"]) };
    imported = into(&format!("time,a,b\n{many}"), &options).unwrap();
    assert_eq!(imported.report.row_count, 400_000);
    let error =
        into(&format!("time,a,b\n{many}7,1,x\n"), &options).map(|imported| imported.report.row_count).unwrap_err();
    assert!(error.message().contains("line 200002") && error.message().contains("column v"), "{error}");
    let error = refused_with("time,a,b\n2024-01-01,1,2\n", &unpivoted(&["a", "c"]));
    assert!(error.message().contains("no column named c"), "{error}");
    let error = refused_with("time,v,b,c\n2024-01-01,1,2,3\n", &unpivoted(&["b", "c"]));
    assert!(error.message().contains("two columns named v") && error.hint().is_some(), "{error}");
    let json = vec![text("a.json", "{\"time\": 1, \"a\": 2}\n")];
    let error = run(json, &unpivoted(&["a"]), None).map(|imported| imported.report.row_count).unwrap_err();
    assert!(error.message().contains("separated values only"), "{error}");
}
