//! Keys of tables, as the protocol's definition describes the answers.

use super::client::{Client, Status, connect, descriptor, served, status};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int32Type, UInt8Type};
use arrow_flight::sql::{
    Any, CommandGetCrossReference, CommandGetExportedKeys, CommandGetImportedKeys, CommandGetPrimaryKeys,
    ProstMessageExt,
};
use futures::TryStreamExt;

/// The rows that a command asks for. Their columns are those that were described.
fn asked(client: &mut Client, command: &Any) -> Result<RecordBatch, Status> {
    let mut flight = client.sql.inner_mut().clone();
    let info = client.runtime.block_on(flight.get_flight_info(descriptor(command)))?.into_inner();
    let described = info.clone().try_decode_schema().unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let batches: Vec<RecordBatch> = client.runtime.block_on(async {
        let rows = client.sql.do_get(ticket).await.map_err(status)?;
        rows.try_collect().await.map_err(status)
    })?;
    let schema = std::sync::Arc::new(described);
    let rows = arrow::compute::concat_batches(&schema, &batches).unwrap();
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    Ok(rows)
}

fn columns(rows: &RecordBatch) -> Vec<String> {
    let schema = rows.schema();
    let name = |field: &arrow::datatypes::FieldRef| {
        let kind = match field.data_type() {
            DataType::Utf8 => "utf8",
            DataType::Int32 => "int32",
            DataType::UInt8 => "uint8",
            _ => "other",
        };
        format!("{} {kind}{}", field.name(), if field.is_nullable() { "" } else { " not null" })
    };
    schema.fields().iter().map(name).collect()
}

#[test]
fn primary_keys_are_listed_in_their_order() {
    let served = served(&[]);
    served.database.sql("CREATE TABLE pairs (b INT, a TEXT, PRIMARY KEY (a, b))").unwrap();
    let mut client = connect(&served);
    let mut keys = |table: &str, schema: Option<&str>| {
        let command =
            CommandGetPrimaryKeys { catalog: None, db_schema: schema.map(str::to_owned), table: table.to_owned() };
        asked(&mut client, &command.as_any()).unwrap()
    };
    let found = keys("pairs", Some("public"));
    assert_eq!(
        columns(&found),
        [
            "catalog_name utf8",
            "db_schema_name utf8",
            "table_name utf8 not null",
            "column_name utf8 not null",
            "key_name utf8",
            "key_sequence int32 not null",
        ]
    );
    let texts = |at: usize| found.column(at).as_string::<i32>().iter().flatten().collect::<Vec<_>>().join(" ");
    assert_eq!([texts(0), texts(1), texts(2)], ["atsdb atsdb", "public public", "pairs pairs"]);
    assert_eq!([texts(3), texts(4)], ["a b", "pairs_pkey pairs_pkey"]);
    assert_eq!(found.column(5).as_primitive::<Int32Type>().values(), &[1, 2]);
    for (table, schema) in [("pairs", Some("other")), ("readings", None), ("nothing", None)] {
        assert_eq!(keys(table, schema).num_rows(), 0, "{table}");
    }
}

#[test]
fn foreign_keys_are_listed_from_both_sides() {
    let served = served(&[]);
    served.database.sql("CREATE TABLE pairs (b INT, a TEXT, UNIQUE (a, b))").unwrap();
    let declared = "CREATE TABLE refers (x TEXT, y INT, FOREIGN KEY (y, x) REFERENCES pairs (b, a) ON DELETE SET NULL)";
    served.database.sql(declared).unwrap();
    let mut client = connect(&served);
    let imported =
        |table: &str| CommandGetImportedKeys { catalog: None, db_schema: None, table: table.to_owned() }.as_any();
    let exported = |table: &str| {
        CommandGetExportedKeys { catalog: None, db_schema: Some("public".to_owned()), table: table.to_owned() }.as_any()
    };
    let cross = |parent: &str, child: &str| {
        let command = CommandGetCrossReference {
            pk_catalog: None,
            pk_db_schema: None,
            pk_table: parent.to_owned(),
            fk_catalog: None,
            fk_db_schema: None,
            fk_table: child.to_owned(),
        };
        command.as_any()
    };
    for command in [imported("refers"), exported("pairs"), cross("pairs", "refers")] {
        let found = asked(&mut client, &command).unwrap();
        assert_eq!(
            columns(&found),
            [
                "pk_catalog_name utf8",
                "pk_db_schema_name utf8",
                "pk_table_name utf8 not null",
                "pk_column_name utf8 not null",
                "fk_catalog_name utf8",
                "fk_db_schema_name utf8",
                "fk_table_name utf8 not null",
                "fk_column_name utf8 not null",
                "key_sequence int32 not null",
                "fk_key_name utf8",
                "pk_key_name utf8",
                "update_rule uint8 not null",
                "delete_rule uint8 not null",
            ]
        );
        let texts = |at: usize| found.column(at).as_string::<i32>().iter().flatten().collect::<Vec<_>>().join(" ");
        assert_eq!([texts(2), texts(3), texts(6), texts(7)], ["pairs pairs", "b a", "refers refers", "y x"]);
        assert_eq!([texts(9), texts(10)], ["refers_y_x_fkey refers_y_x_fkey", "pairs_a_b_key pairs_a_b_key"]);
        assert_eq!(found.column(8).as_primitive::<Int32Type>().values(), &[1, 2]);
        assert_eq!(found.column(11).as_primitive::<UInt8Type>().values(), &[3, 3]);
        assert_eq!(found.column(12).as_primitive::<UInt8Type>().values(), &[2, 2]);
    }
    for command in [imported("pairs"), exported("refers"), cross("refers", "pairs"), exported("nothing")] {
        assert_eq!(asked(&mut client, &command).unwrap().num_rows(), 0);
    }
}
