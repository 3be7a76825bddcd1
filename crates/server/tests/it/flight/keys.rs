//! Keys of tables, as the protocol's definition describes the answers.

use super::client::{Client, Status, connect, descriptor, served, status};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int32Type};
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
fn there_are_no_foreign_keys() {
    let served = served(&[]);
    let mut client = connect(&served);
    let (catalog, db_schema, table) = (None, None, "sensors".to_owned());
    let imported =
        CommandGetImportedKeys { catalog: catalog.clone(), db_schema: db_schema.clone(), table: table.clone() };
    let exported = CommandGetExportedKeys { catalog, db_schema, table };
    let cross = CommandGetCrossReference {
        pk_catalog: None,
        pk_db_schema: None,
        pk_table: "sensors".to_owned(),
        fk_catalog: None,
        fk_db_schema: None,
        fk_table: "readings".to_owned(),
    };
    for command in [imported.as_any(), exported.as_any(), cross.as_any()] {
        let found = asked(&mut client, &command).unwrap();
        assert_eq!(found.num_rows(), 0);
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
    }
}
