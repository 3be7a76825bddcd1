"""Writes the workbooks that tests import, once: they are committed. Needs openpyxl and LibreOffice (soffice).

    python make.py
"""

import datetime as dt
import pathlib
import struct
import subprocess
import zipfile

import openpyxl
from openpyxl.styles import Font
from openpyxl.utils.datetime import CALENDAR_MAC_1904

HERE = pathlib.Path(__file__).parent
HEADER = ["time", "day", "clock", "worked", "group", "n", "x", "share", "ok", "note\nof a day", "code", "result"]


def rows():
    notes = ["plain", "two\nlines", "tab\tand \\ and \"quotes\"", "NA", " padded ", "=no formula"]
    for number in range(6):
        time = dt.datetime(2024, 2, 28, 22, 30, 15, 250_000) + dt.timedelta(hours=number)
        result = {1: "#N/A", 4: "#DIV/0!"}.get(number, number * 1.5)
        yield [
            time,
            time.date(),
            dt.time(6 + number, 45, 10),
            dt.timedelta(hours=20 + number, minutes=15),
            "a" if number == 0 else "b" if number == 4 else None,
            number - 2,
            [0.1, 1e-7, -2.5, 1e300, 123456789.125, 0.3][number],
            number / 8,
            number % 2 == 0,
            notes[number],
            f"00{number}",
            result,
        ]


def fill(sheet):
    """Titles in merged cells, an empty row, then a table from column B on, with an empty column in it."""
    sheet["B2"] = "Readings of a week"
    sheet["B2"].font = Font(bold=True)
    sheet.merge_cells("B2:F2")
    places = [2 + column + (column > 8) for column in range(len(HEADER))]
    for place, name in zip(places, HEADER):
        sheet.cell(4, place, name)
    for number, row in enumerate(rows()):
        for place, value in zip(places, row):
            cell = sheet.cell(5 + number, place, value)
            if isinstance(value, str) and value.startswith("=no"):
                cell.data_type = "s"
            if isinstance(value, dt.timedelta):
                cell.number_format = "[h]:mm:ss"
            if isinstance(value, dt.datetime):
                cell.number_format = "yyyy-mm-dd hh:mm:ss.000"
            if place == places[7]:
                cell.number_format = "0.0%"
    group = places[4]
    sheet.merge_cells(start_row=5, end_row=8, start_column=group, end_column=group)
    sheet.merge_cells(start_row=9, end_row=10, start_column=group, end_column=group)


def types():
    book = openpyxl.Workbook()
    book.active.title = "Week"
    fill(book.active)
    book.save(HERE / "types.xlsx")


def several():
    """A hidden sheet and an empty one come before those with rows."""
    book = openpyxl.Workbook()
    book.active.title = "Lists"
    book.active["A1"] = "hidden"
    book.active.sheet_state = "hidden"
    book.create_sheet("Empty")
    for name, first in [("Jan", 1), ("Feb #2", 100)]:
        sheet = book.create_sheet(name)
        sheet.append(["time", "v"])
        for number in range(3):
            sheet.append([dt.datetime(2024, 1, 1, number), first + number])
    book["Jan"]["C1"] = "sum"
    book["Jan"]["C2"] = "=B2+1"  # openpyxl stores no value of it.
    book.save(HERE / "several.xlsx")


def from_1904():
    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    book.active.append(["time", "v"])
    book.active.append([dt.datetime(2024, 2, 29, 12), 1])
    book.active.append([dt.datetime(1904, 1, 2, 6), 2])
    book.save(HERE / "from1904.xlsx")


def converted():
    for ending, filter in [("ods", "ods"), ("xls", "xls:MS Excel 97")]:
        subprocess.run(
            ["soffice", "--headless", "--convert-to", filter, "--outdir", HERE, HERE / "types.xlsx"], check=True
        )
        assert (HERE / f"types.{ending}").exists()


def record(kind, data=b""):
    """A record of Excel's binary form: its kind and its length, seven bits in each byte."""
    head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    length, left = b"", len(data)
    while True:
        length += bytes([left & 127 | (128 if left > 127 else 0)])
        left >>= 7
        if not left:
            return head + length + data


def wide(text):
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def binary():
    """The least that a workbook in Excel's binary form needs: no program at hand writes one."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    styles = record(0x0267, struct.pack("<I", 1))
    styles += record(0x002C, struct.pack("<H", 164) + wide("yyyy-mm-dd hh:mm")) + record(0x0268)
    styles += record(0x0269, struct.pack("<I", 2))
    for number_format in (0, 164):
        styles += record(0x002F, struct.pack("<HHHHHBBI", 0xFFFF, number_format, 0, 0, 0, 0, 0, 0)[:16])
    styles += record(0x026A)
    book = record(0x0083) + record(0x0099, struct.pack("<III", 0, 0, 0)) + record(0x008F)
    book += record(0x009C, struct.pack("<II", 0, 1) + wide("rId1") + wide("Binary")) + record(0x0090) + record(0x0084)
    texts = ["time", "v", "name", "one", "two"]
    shared = record(0x009F, struct.pack("<II", len(texts), len(texts)))
    shared += b"".join(record(0x0013, b"\0" + wide(text)) for text in texts) + record(0x00A0)

    def cell(kind, column, data, style=0):
        return record(kind, struct.pack("<II", column, style) + data)

    sheet = record(0x0081) + record(0x0094, struct.pack("<IIII", 0, 3, 0, 2)) + record(0x0091)
    sheet += record(0x0000, struct.pack("<IIHBBBI", 0, 0, 300, 0, 0, 0, 0))
    sheet += b"".join(cell(0x0007, column, struct.pack("<I", column)) for column in range(3))
    for number, value in enumerate([struct.pack("<d", 1.5), None, struct.pack("<d", -2.0)]):
        sheet += record(0x0000, struct.pack("<IIHBBBI", number + 1, 0, 300, 0, 0, 0, 0))
        sheet += cell(0x0005, 0, struct.pack("<d", 45351.25 + number), 1)
        sheet += cell(0x0005, 1, value) if value else cell(0x0003, 1, b"\x2a")
        sheet += cell(0x0007, 2, struct.pack("<I", 3 + number % 2))
    sheet += record(0x0092) + record(0x0082)
    kind = "application/vnd.ms-excel"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="bin" '
        f'ContentType="{kind}.sheet.binary.macroEnabled.main"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{relation}/officeDocument" Target="xl/workbook.bin"/></Relationships>',
        "xl/workbook.bin": book,
        "xl/_rels/workbook.bin.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{relation}/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
        "xl/styles.bin": styles,
        "xl/sharedStrings.bin": shared,
        "xl/worksheets/sheet1.bin": sheet,
    }
    with zipfile.ZipFile(HERE / "small.xlsb", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    types()
    several()
    from_1904()
    converted()
    binary()
