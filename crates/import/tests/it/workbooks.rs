//! Workbooks and zip archives. `tests/workbooks/make.py` wrote the workbooks, with openpyxl and LibreOffice.

use crate::support::{Imported, KeptRows, run, text};
use atsdb_core::{Error, ErrorKind};
use atsdb_import::{Format, Input, Options, Progress, import};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workbooks").join(name)
}

fn input(name: &str) -> Input {
    Input::Path(path(name))
}

fn book(name: &str) -> Imported {
    run(vec![input(name)], &Options::default(), None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn part(input: Input, part: &str) -> Input {
    Input::Part(Box::new(input), part.to_owned())
}

fn refused(inputs: Vec<Input>, options: &Options) -> Error {
    run(inputs, options, None).map(|imported| imported.columns()).unwrap_err()
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// All values of the table that three programs' files have in common.
fn check_types(name: &str) {
    let imported = book(name);
    let wanted = [
        "*time timestamp_us",
        "day date",
        "clock text",
        "worked text",
        "group text",
        "n int64",
        "x float64",
        "share float64",
        if name.ends_with("ods") { "ok int64" } else { "ok bool" },
        "note of a day text",
        "code text",
        "result float64",
    ];
    assert_eq!(imported.columns(), wanted, "{name}");
    let texts = |column: &str| imported.texts(column);
    assert_eq!(texts("time")[..2], ["2024-02-28T22:30:15.250Z", "2024-02-28T23:30:15.250Z"], "{name}");
    assert_eq!(texts("day")[..3], ["2024-02-28", "2024-02-28", "2024-02-29"], "{name}");
    assert_eq!(texts("clock")[0], "06:45:10", "{name}");
    assert_eq!(texts("worked"), ["20:15:00", "21:15:00", "22:15:00", "23:15:00", "24:15:00", "25:15:00"], "{name}");
    assert_eq!(texts("group"), ["a", "a", "a", "a", "b", "b"], "{name}");
    assert_eq!(texts("n"), ["-2", "-1", "0", "1", "2", "3"], "{name}");
    assert_eq!(texts("x"), ["0.1", "1e-7", "-2.5", "1e300", "123456789.125", "0.3"], "{name}");
    assert_eq!(texts("share")[1], "0.125", "{name}");
    // LibreOffice writes them as numbers.
    let ok = if name.ends_with("ods") { ["1", "0"] } else { ["true", "false"] };
    assert_eq!(texts("ok")[..2], ok, "{name}");
    let notes = ["plain", "two\nlines", "tab\tand \\ and \"quotes\"", "∅", " padded ", "=no formula"];
    assert_eq!(texts("note of a day"), notes, "{name}");
    assert_eq!(texts("code")[..2], ["000", "001"], "{name}");
    assert_eq!(texts("result"), ["0.0", "∅", "3.0", "4.5", "∅", "7.5"], "{name}");
    let noted = imported.report.notes.join("\n");
    // The first one is in row 6, behind an empty column.
    assert!(noted.contains("errors are NULL: #DIV/0! once, #N/A once; the first is in N6"), "{name}: {noted}");
    assert!(noted.contains("left out 2 lines before the header, the first is \"Readings of a week"), "{name}: {noted}");
    assert!(noted.contains("taken as NULL: \"NA\" once (note of a day)"), "{name}: {noted}");
    assert!(noted.contains("the value of merged cells is taken for each of their rows, 4 times"), "{name}: {noted}");
    assert_eq!(imported.report.bytes_read, std::fs::metadata(path(name)).unwrap().len());
}

#[test]
fn values_of_excel_keep_their_types() {
    check_types("types.xlsx");
}

#[test]
fn values_of_excel_97_keep_their_types() {
    check_types("types.xls");
}

#[test]
fn values_of_opendocument_keep_their_types() {
    check_types("types.ods");
}

#[test]
fn values_of_excels_binary_form_keep_their_types() {
    let imported = book("small.xlsb");
    assert_eq!(imported.columns(), ["*time timestamp_us", "v float64", "name text"]);
    assert_eq!(imported.texts("time")[..2], ["2024-02-29T06:00:00Z", "2024-03-01T06:00:00Z"]);
    assert_eq!(imported.texts("v"), ["1.5", "∅", "-2.0"]);
    assert_eq!(imported.texts("name"), ["one", "two", "one"]);
}

#[test]
fn merged_cells_of_excels_binary_form_are_found() {
    let mut archive = zip::ZipArchive::new(Cursor::new(std::fs::read(path("small.xlsb")).unwrap())).unwrap();
    let mut files = Vec::new();
    for name in archive.file_names().map(|name| name.unwrap().to_string()).collect::<Vec<_>>() {
        let mut bytes = Vec::new();
        archive.by_name(&name).unwrap().read_to_end(&mut bytes).unwrap();
        if name == "xl/worksheets/sheet1.bin" {
            // BrtMergeCell: the value of the column `v` in the first row of data also stands for the second one.
            bytes.extend([&[0xb0_u8, 1, 16][..], &[1_u32, 2, 1, 1].map(u32::to_le_bytes).concat()].concat());
        }
        files.push((name, bytes));
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let imported = run(vec![text("small.xlsb", zip(&files))], &Options::default(), None).unwrap();
    assert_eq!(imported.texts("v"), ["1.5", "1.5", "-2.0"]);
    assert!(
        imported.report.notes.join("\n").contains("the value of merged cells is taken for each of their rows, once")
    );
}

#[test]
fn reading_a_workbook_reports_how_far_it_is() {
    let row = |row| format!("<row r=\"{row}\"><c r=\"A{row}\" t=\"inlineStr\"><is><t>x</t></is></c></row>");
    let rows: String = (1..=9_000).map(row).collect();
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(4 << 20)
    .collect();
    let book = workbook(&format!("<sheetData>{rows}</sheetData>"), &[("xl/media/noise.bin", &noise)]);
    let seen = std::cell::RefCell::new(Vec::new());
    let mut sink = KeptRows::default();
    let input = vec![text("a.xlsx", book)];
    let report = |progress: Progress| seen.borrow_mut().push(progress);
    import("t", input, &Options::default(), None, &mut sink, &report).unwrap();
    let seen = seen.into_inner();
    let is_scan = |progress: &&Progress| progress.bytes_total > 0 && progress.row_count == 0;
    assert!(seen.iter().filter(is_scan).count() > 2, "{seen:?}");
    assert!(seen.iter().any(|progress| progress.row_count == 8_192 && progress.bytes_total > 0), "{seen:?}");
}

#[test]
fn days_count_from_1904_where_the_workbook_says_so() {
    assert_eq!(book("from1904.xlsx").texts("time"), ["2024-02-29T12:00:00Z", "1904-01-02T06:00:00Z"]);
}

#[test]
fn the_first_sheet_with_rows_is_read_unless_one_is_named() {
    let imported = book("several.xlsx");
    assert_eq!(imported.texts("v"), ["1", "2", "3"]);
    let noted = imported.report.notes.join("\n");
    assert!(
        noted.contains("several.xlsx#Jan: read sheet Jan; --sheet NAME reads another: Lists, Empty, Feb #2"),
        "{noted}"
    );
    assert!(noted.contains("sheet Jan: formulas without a stored value are NULL, once"), "{noted}");
    for inputs in [vec![part(input("several.xlsx"), "Feb #2")], vec![part(input("several.xlsx"), "feb #2")]] {
        let named = run(inputs, &Options::default(), None).unwrap();
        assert_eq!((named.texts("v"), named.report.notes.len()), (vec!["100".into(), "101".into(), "102".into()], 0));
    }
    let options = |sheet: &str| Options { sheet: Some(sheet.to_owned()), ..Options::default() };
    assert_eq!(run(vec![input("several.xlsx")], &options("Feb #2"), None).unwrap().texts("v")[0], "100");
    let error = refused(vec![input("several.xlsx")], &options("Fab #2"));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.hint().unwrap().contains("available: Lists, Empty, Jan, Feb #2"), "{error}");
    let error = refused(vec![text("a.csv", "a\n1\n")], &options("Jan"));
    assert!(error.message().contains("a.csv has no sheet or file \"Jan\""), "{error}");
}

#[test]
fn sheets_of_one_workbook_are_one_table() {
    let options = Options { file_column: Some("month".to_owned()), ..Options::default() };
    let inputs = vec![part(input("several.xlsx"), "Jan"), part(input("several.xlsx"), "Feb #2")];
    let imported = run(inputs, &options, None).unwrap();
    assert_eq!(imported.texts("month"), ["Jan", "Jan", "Jan", "Feb #2", "Feb #2", "Feb #2"]);
    assert_eq!(imported.texts("sum"), ["∅"; 6]);
}

#[test]
fn a_bad_cell_is_named_by_its_row() {
    let imported = run(vec![input("types.xlsx")], &Options { time: vec!["clock".into()], ..Options::default() }, None);
    let error = imported.map(|imported| imported.columns()).unwrap_err();
    // The header is in row 4.
    assert!(error.message().contains("as \"06:45:10\" in line 5"), "{error}");
}

#[test]
fn a_zip_archive_of_one_file_is_that_file() {
    let csv: &[u8] = b"time,v\n2024-01-01,1\n";
    for files in [vec![("day.csv", csv)], vec![("__MACOSX/._day.csv", b"x"), ("d/.hidden", b"x"), ("d/day.csv", csv)]] {
        let imported = run(vec![text("a.zip", zip(&files))], &Options::default(), None).unwrap();
        assert_eq!(imported.columns(), ["*time date", "v int64"]);
    }
    let inner = std::fs::read(path("several.xlsx")).unwrap();
    let outer = || text("a.zip", zip(&[("several.xlsx", &inner)]));
    assert_eq!(run(vec![part(outer(), "Feb #2")], &Options::default(), None).unwrap().texts("v")[0], "100");
    assert_eq!(run(vec![outer()], &Options::default(), None).unwrap().texts("v")[0], "1");
}

#[test]
fn a_zip_archive_of_several_files_needs_the_name_of_one() {
    let two = || text("a.zip", zip(&[("x/jan.csv", b"v\n1\n"), ("x/feb.csv", b"v\n2\n")]));
    for name in ["x/feb.csv", "feb.csv", "FEB.csv"] {
        assert_eq!(run(vec![part(two(), name)], &Options::default(), None).unwrap().texts("v"), ["2"]);
    }
    let error = refused(vec![two()], &Options::default());
    assert!(error.hint().unwrap().contains("a.zip#x/jan.csv; available: x/jan.csv, x/feb.csv"), "{error}");
    let error = refused(vec![part(two(), "mar.csv")], &Options::default());
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let nested = zip(&[("b.zip", &zip(&[("a.csv", b"v\n1\n")]))]);
    let error = refused(vec![text("a.zip", nested)], &Options::default());
    assert!(error.message().contains("zip archive in a zip archive"), "{error}");
}

#[test]
fn what_is_no_workbook_is_refused_with_its_kind() {
    let compound = [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], &[0; 600]].concat();
    let odt = zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"<a/>")]);
    let docx = zip(&[("[Content_Types].xml", b"<a/>"), ("word/document.xml", b"<a/>")]);
    for (bytes, wanted) in [
        (zip(&[]), "is a zip archive without files"),
        (b"PK\x03\x04xxxx".to_vec(), "cannot read it as a zip archive"),
        (compound, "cannot read it as a workbook of Excel"),
        (odt, "is a document, but not a spreadsheet"),
        (docx, "is a document, but not a spreadsheet"),
        (zip(&[("Index/Document.iwa", b"x")]), "is a document of Numbers"),
        (zip(&[("[Content_Types].xml", b"<a/>"), ("xl/workbook.xml", b"<a/>")]), "cannot read it as a workbook"),
    ] {
        let error = refused(vec![text("a.bin", bytes)], &Options::default());
        assert!(error.message().contains("a.bin") && error.message().contains(wanted), "{error}");
    }
    let options = Options { format: Some(Format::Sheet), ..Options::default() };
    assert!(refused(vec![text("a.csv", "a\n1\n")], &options).message().contains("is not a workbook"));
}

/// A workbook of one sheet with this content, and other parts.
fn workbook(content: &str, others: &[(&str, &[u8])]) -> Vec<u8> {
    workbook_of(&[content], others)
}

/// A workbook of sheets with these contents, named S1 and so on, and other parts.
fn workbook_of(contents: &[&str], others: &[(&str, &[u8])]) -> Vec<u8> {
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006/relationships";
    let related = |kind: &str, targets: &[String]| {
        let one = |(number, target): (usize, &String)| {
            format!("<Relationship Id=\"r{number}\" Type=\"{relation}/{kind}\" Target=\"{target}\"/>")
        };
        let all: String = (1..).zip(targets).map(one).collect();
        format!("<Relationships xmlns=\"{package}\">{all}</Relationships>")
    };
    let numbers = 1..=contents.len();
    let listed = |number: usize| format!("<sheet name=\"S{number}\" sheetId=\"{number}\" r:id=\"r{number}\"/>");
    let list: String = numbers.clone().map(listed).collect();
    let workbook = format!("<workbook xmlns:r=\"{relation}\"><sheets>{list}</sheets></workbook>");
    let targets: Vec<String> = numbers.map(|number| format!("worksheets/sheet{number}.xml")).collect();
    let (root, parts) = (related("officeDocument", &["xl/workbook.xml".to_owned()]), related("worksheet", &targets));
    let sheet = |(target, content): (&String, &&str)| {
        (format!("xl/{target}"), format!("<worksheet>{content}</worksheet>").into_bytes())
    };
    let sheets: Vec<(String, Vec<u8>)> = targets.iter().zip(contents).map(sheet).collect();
    let own: [(&str, &[u8]); 5] = [
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", root.as_bytes()),
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/_rels/workbook.xml.rels", parts.as_bytes()),
        ("xl/sharedStrings.xml", b"<sst uniqueCount=\"1\"><si><t>a</t></si></sst>"),
    ];
    let sheets = sheets.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
    zip(&own.into_iter().chain(sheets).chain(others.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_sheet_of_one_row_is_read_only_if_no_other_has_more() {
    let rows = |texts: &[&str]| -> String {
        let row = |(number, text): (usize, &&str)| {
            format!("<row r=\"{number}\"><c r=\"A{number}\" t=\"str\"><v>{text}</v></c></row>")
        };
        format!("<sheetData>{}</sheetData>", (1..).zip(texts).map(row).collect::<String>())
    };
    let (cover, data) = (rows(&["Read me"]), rows(&["v", "1", "2"]));
    let read =
        |sheets: &[&str]| run(vec![text("a.xlsx", workbook_of(sheets, &[]))], &Options::default(), None).unwrap();
    let both = read(&[cover.as_str(), data.as_str()]);
    assert_eq!(both.texts("v"), ["1", "2"]);
    assert!(both.report.notes.join("\n").contains("read sheet S2"), "{:?}", both.report.notes);
    assert_eq!(read(&[cover.as_str()]).columns(), ["Read me text"]);
}

#[test]
fn a_second_table_of_a_sheet_is_refused_with_what_to_do() {
    let row = |(number, [a, b]): (usize, [&str; 2])| {
        let cell = |column: &str, text: &str| format!("<c r=\"{column}{number}\" t=\"str\"><v>{text}</v></c>");
        format!("<row r=\"{number}\">{}{}</row>", cell("A", a), cell("B", b))
    };
    let rows = [(1, ["n", "t"]), (2, ["1", "2"]), (4, ["n", "h"]), (5, ["1", "3"])];
    let sheet = format!("<sheetData>{}</sheetData>", rows.map(row).concat());
    let error = refused(vec![text("a.xlsx", workbook(&sheet, &[]))], &Options::default());
    assert!(error.message().contains("line 4: another table begins"), "{error}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains("--skip 3 reads it alone, and what is above it needs a sheet of its own"), "{hint}");
}

#[test]
fn a_workbook_that_is_made_to_fill_the_memory_is_refused() {
    let sheet = |content: &str| workbook(content, &[]);
    let rows = |cells: &str| format!("<sheetData><row r=\"1\"><c r=\"A1\"><v>1</v></c></row>{cells}</sheetData>");
    let good = sheet(&rows("<row r=\"3\"><c r=\"B3\" t=\"e\"><v>#SPILL!</v></c><c r=\"C3\"><v>2</v></c></row>"));
    let imported = run(vec![text("a.xlsx", good)], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["column1 int64", "column2 int64"]);
    assert!(imported.report.notes.join("\n").contains("#SPILL! once"), "{:?}", imported.report.notes);
    // Far corners take no room, and what is beyond them is refused.
    let far = sheet(&rows("<row r=\"1048576\"><c r=\"XFD1048576\"><v>2</v></c></row>"));
    assert_eq!(run(vec![text("a.xlsx", far)], &Options::default(), None).unwrap().report.row_count, 2);
    for bad in [
        rows("<row r=\"1048577\"><c r=\"A1048577\"><v>2</v></c></row>"),
        rows("<row r=\"2\"><c r=\"XFE2\"><v>2</v></c></row>"),
        format!(
            "<sheetData><row r=\"1\"><c t=\"inlineStr\"><is><t>{}</t></is></c></row></sheetData>",
            "x".repeat(80 << 20)
        ),
    ] {
        let error = refused(vec![text("a.xlsx", sheet(&bad))], &Options::default());
        assert!(error.message().contains("a.xlsx"), "{error}");
    }
}
