//! The columns of the table, in ClickBench's order and with its types, and the property of a page view that each
//! contains.

use super::page_view::{PageView, text_hash};
use crate::data::digest::text_cell;
use arrow::array::{
    ArrayRef, Date32Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampSecondArray,
};
use atsdb::time::DAY_SECONDS;
use atsdb::{ColumnType, MapWidth, TimeUnit};
use std::sync::Arc;

const REGIONS: u64 = 9_000;
const MODELS: [&str; 12] =
    ["iPad", "iPhone", "iPhone 2", "A1", "C2", "G2", "N1", "T55", "S7", "nokia 52", "E71", "x10"];
/// Screens: widths with their heights.
const WIDTHS: [i64; 12] = [1366, 1366, 1280, 1024, 1920, 1920, 1600, 1440, 1680, 1638, 320, 2560];
const HEIGHTS: [i64; 12] = [768, 768, 1024, 768, 1080, 1080, 900, 900, 1050, 1658, 480, 1440];
const OPENSTAT: [&str; 64] = of_64("direct", "market");
const SOURCES: [&str; 64] = of_64("vk", "mail");
const MEDIA: [&str; 64] = of_64("cpc", "banner");

/// Two texts among 64, of which the others are empty.
const fn of_64(first: &'static str, second: &'static str) -> [&'static str; 64] {
    let mut texts = [""; 64];
    texts[20] = first;
    texts[40] = second;
    texts
}

/// A column: its name, its type, and its values.
#[derive(Clone, Copy)]
struct HitColumn {
    name: &'static str,
    column_type: ColumnType,
    values: HitValues,
}

/// The property of a page view that a column contains.
#[derive(Clone, Copy)]
enum HitValues {
    Number(fn(&PageView) -> i64),
    Text(fn(&PageView) -> &str),
    /// One of few texts.
    Mapped(fn(&PageView) -> &str),
}

const fn number(name: &'static str, column_type: ColumnType, value: fn(&PageView) -> i64) -> HitColumn {
    HitColumn { name, column_type, values: HitValues::Number(value) }
}

const fn small(name: &'static str, value: fn(&PageView) -> i64) -> HitColumn {
    number(name, ColumnType::Int16, value)
}

const fn integer(name: &'static str, value: fn(&PageView) -> i64) -> HitColumn {
    number(name, ColumnType::Int32, value)
}

const fn long(name: &'static str, value: fn(&PageView) -> i64) -> HitColumn {
    number(name, ColumnType::Int64, value)
}

const fn moment(name: &'static str, value: fn(&PageView) -> i64) -> HitColumn {
    number(name, ColumnType::Timestamp(TimeUnit::Second), value)
}

const fn date(name: &'static str, value: fn(&PageView) -> i64) -> HitColumn {
    number(name, ColumnType::Date, value)
}

const fn text(name: &'static str, value: fn(&PageView) -> &str) -> HitColumn {
    HitColumn { name, column_type: ColumnType::Text, values: HitValues::Text(value) }
}

const fn mapped(name: &'static str, value: fn(&PageView) -> &str) -> HitColumn {
    HitColumn { name, column_type: ColumnType::Text, values: HitValues::Mapped(value) }
}

#[rustfmt::skip]
const COLUMNS: [HitColumn; 105] = [
    long("watchid", |v| v.watch),
    small("javaenable", |v| flag(v.traits, 0, 230)),
    text("title", |v| &v.title),
    small("goodevent", |_| 1),
    moment("eventtime", |v| v.time),
    date("eventdate", |v| v.time / DAY_SECONDS),
    integer("counterid", |v| v.counter as i64),
    integer("clientip", |v| part(v.traits, 0, 40_000) * 50_021 + 16_777_216),
    integer("regionid", |v| region(v.traits)),
    long("userid", |v| v.user),
    small("counterclass", |v| flag(v.counter, 0, 20)),
    small("os", |v| choice(v.traits, 4, &[44, 44, 44, 2, 2, 3, 5, 7, 109, 225])),
    small("useragent", |v| choice(v.traits, 8, &[5, 5, 7, 7, 3, 82, 2, 13, 89])),
    text("url", |v| &v.url),
    text("referer", |v| &v.referer),
    small("isrefresh", |v| flag(v.bits, 0, 38)),
    small("referercategoryid", |v| if v.referer.is_empty() { 0 } else { part(text_bits(&v.referer), 0, 140) }),
    integer("refererregionid", |v| if v.referer.is_empty() { 0 } else { region(text_bits(&v.referer)) }),
    small("urlcategoryid", |v| part(v.counter.wrapping_mul(77), 0, 140)),
    integer("urlregionid", |v| region(v.counter.wrapping_mul(7_919))),
    small("resolutionwidth", |v| choice(v.traits, 12, &WIDTHS)),
    small("resolutionheight", |v| choice(v.traits, 12, &HEIGHTS)),
    small("resolutiondepth", |v| choice(v.traits, 16, &[24, 32, 32, 37])),
    small("flashmajor", |v| choice(v.traits, 20, &[11, 11, 11, 10, 0])),
    small("flashminor", |v| part(v.traits, 20, 9)),
    mapped("flashminor2", |v| pick(v.traits, 24, &["", "", "700", "800", "1.5", "300"])),
    small("netmajor", |v| choice(v.traits, 28, &[0, 0, 2, 3])),
    small("netminor", |v| choice(v.traits, 28, &[0, 0, 0, 5])),
    small("useragentmajor", |v| 9 + part(v.traits, 32, 22)),
    mapped("useragentminor", |v| pick(v.traits, 36, &["", "0", "0", "D2", "2", "1", "57", "16"])),
    small("cookieenable", |v| flag(v.traits, 40, 253)),
    small("javascriptenable", |v| flag(v.traits, 41, 255)),
    small("ismobile", |v| i64::from(is_mobile(v))),
    small("mobilephone", |v| if is_mobile(v) { phone(v) % 80 + 1 } else { 0 }),
    mapped("mobilephonemodel", |v| if is_mobile(v) { MODELS[phone(v) as usize % MODELS.len()] } else { "" }),
    mapped("params", |_| ""),
    integer("ipnetworkid", |v| 1_000_000 + part(v.traits, 0, 40_000) * 83),
    small("traficsourceid", |v| if v.phrase.is_empty() { choice(v.bits, 4, &[-1, -1, -1, 0, 1, 6, 5]) } else { 2 }),
    small("searchengineid", |v| if v.phrase.is_empty() { 0 } else { choice(v.bits, 8, &[2, 2, 2, 3, 3, 13, 7, 38]) }),
    text("searchphrase", |v| &v.phrase),
    small("advengineid", |v| flag(v.bits, 12, 2) * choice(v.bits, 20, &[2, 2, 2, 27, 13, 45, 44, 3, 62])),
    small("isartifical", |v| flag(v.bits, 13, 3)),
    small("windowclientwidth", |v| 200 + part(v.bits, 16, 1_720)),
    small("windowclientheight", |v| 200 + part(v.bits, 32, 880)),
    small("clienttimezone", |v| choice(v.traits, 44, &[-1, 4, 4, 4, 3, 3, 2, 6])),
    moment("clienteventtime", |v| v.time + skew(v)),
    small("silverlightversion1", |v| choice(v.traits, 48, &[0, 0, 4, 5])),
    small("silverlightversion2", |v| choice(v.traits, 48, &[0, 0, 0, 1])),
    integer("silverlightversion3", |v| choice(v.traits, 48, &[0, 0, 60_310, 10_411])),
    small("silverlightversion4", |_| 0),
    mapped("pagecharset", |v| pick(v.counter, 0, &["windows-1251;charset", "utf-8", "windows"])),
    integer("codeversion", |v| choice(v.counter, 2, &[1_601, 1_601, 291, 0])),
    small("islink", |v| flag(v.bits, 24, 40)),
    small("isdownload", |v| flag(v.bits, 28, 2)),
    small("isnotbounce", |v| flag(v.bits, 36, 30)),
    long("funiqid", |v| (v.traits >> 2) as i64),
    text("originalurl", |v| if flag(v.bits, 44, 90) == 1 { &v.url } else { "" }),
    integer("hid", |v| (v.more >> 34) as i64),
    small("isoldcounter", |_| 0),
    small("isevent", |v| flag(v.bits, 48, 10)),
    small("isparameter", |v| flag(v.bits, 49, 2)),
    small("dontcounthits", |v| flag(v.bits, 50, 8)),
    small("withhash", |_| 0),
    mapped("hitcolor", |v| pick(v.bits, 54, &["5", "5", "5", "5", "D", "T", "R", "F"])),
    moment("localeventtime", |v| v.time + 4 * 3_600 + skew(v)),
    small("age", |v| choice(v.traits, 52, &[0, 0, 16, 22, 31, 39, 50, 55])),
    small("sex", |v| choice(v.traits, 54, &[0, 1, 2, 2])),
    small("income", |v| choice(v.traits, 56, &[0, 0, 2, 3])),
    small("interests", |v| part(v.traits, 40, 17_000)),
    small("robotness", |v| choice(v.traits, 58, &[0, 0, 3, 4])),
    integer("remoteip", |v| part(v.traits, 8, 40_000) * 50_021 + 16_777_216),
    integer("windowname", |v| part(v.more, 0, 30_000) * 70_001),
    integer("openername", |v| if flag(v.more, 4, 60) == 1 { part(v.more, 8, 30_000) * 70_001 } else { -1 }),
    small("historylength", |v| part(v.more, 12, 15) * part(v.more, 14, 4)),
    mapped("browserlanguage", |v| pick(v.traits, 60, &["S0", "nA", "5v", "S0"])),
    mapped("browsercountry", |v| pick(v.traits, 57, &["q1", "h1", "nA", "uh", "oc"])),
    mapped("socialnetwork", |_| ""),
    mapped("socialaction", |_| ""),
    small("httperror", |_| 0),
    integer("sendtiming", |v| part(v.more, 16, 300) * flag(v.more, 2, 200)),
    integer("dnstiming", |v| part(v.more, 20, 120) * flag(v.more, 3, 100)),
    integer("connecttiming", |v| part(v.more, 24, 400) * flag(v.more, 2, 200)),
    integer("responsestarttiming", |v| part(v.more, 28, 900) * flag(v.more, 2, 200)),
    integer("responseendtiming", |v| part(v.more, 32, 3_000) * flag(v.more, 2, 200)),
    integer("fetchtiming", |v| part(v.more, 36, 9_000) * flag(v.more, 2, 200)),
    small("socialsourcenetworkid", |v| if v.bits >> 56 < 3 { part(v.more, 40, 7) } else { 0 }),
    mapped("socialsourcepage", |_| ""),
    long("paramprice", |_| 0),
    mapped("paramorderid", |_| ""),
    mapped("paramcurrency", |_| "NH1"),
    small("paramcurrencyid", |_| 0),
    mapped("openstatservicename", |v| pick(v.more >> 40, 0, &OPENSTAT)),
    mapped("openstatcampaignid", |_| ""),
    mapped("openstatadid", |v| pick(v.more >> 40, 0, &OPENSTAT)),
    mapped("openstatsourceid", |_| ""),
    mapped("utmsource", |v| pick(v.more >> 48, 0, &SOURCES)),
    mapped("utmmedium", |v| pick(v.more >> 48, 0, &MEDIA)),
    mapped("utmcampaign", |_| ""),
    mapped("utmcontent", |_| ""),
    mapped("utmterm", |_| ""),
    mapped("fromtag", |_| ""),
    small("hasgclid", |v| flag(v.more, 52, 2)),
    long("refererhash", |v| text_hash(&v.referer)),
    long("urlhash", |v| text_hash(&v.url)),
    integer("clid", |_| 0),];

/// A number below `end` from the 16 bits that begin at `shift`.
fn part(bits: u64, shift: u32, end: u64) -> i64 {
    (((bits.rotate_right(shift) & 0xffff) * end) >> 16) as i64
}

/// 1 for `of_256` of 256 values, otherwise 0.
fn flag(bits: u64, shift: u32, of_256: u64) -> i64 {
    i64::from(bits.rotate_right(shift) & 0xff < of_256)
}

fn choice(bits: u64, shift: u32, numbers: &[i64]) -> i64 {
    numbers[part(bits, shift, numbers.len() as u64) as usize]
}

fn pick(bits: u64, shift: u32, texts: &[&'static str]) -> &'static str {
    texts[part(bits, shift, texts.len() as u64) as usize]
}

/// The smaller, the more likely.
fn region(bits: u64) -> i64 {
    let end = part(bits, 3, REGIONS) as u64 + 1;
    part(bits, 31, end) + 1
}

fn text_bits(text: &str) -> u64 {
    text_cell(text.as_bytes())
}

fn is_mobile(view: &PageView) -> bool {
    flag(view.traits, 25, 14) == 1
}

fn phone(view: &PageView) -> i64 {
    let end = part(view.traits, 33, 160) as u64 + 1;
    part(view.traits, 5, end)
}

/// The error of the user's clock in seconds.
fn skew(view: &PageView) -> i64 {
    part(view.traits, 47, 600) - 300 + part(view.more, 44, 3)
}

/// The columns of the table: name, type, and how wide the indices are of a column of few texts.
pub fn columns() -> impl Iterator<Item = (&'static str, ColumnType, Option<MapWidth>)> {
    COLUMNS.iter().map(|column| {
        let map = matches!(column.values, HitValues::Mapped(_)).then_some(MapWidth::U8);
        (column.name, column.column_type, map)
    })
}

/// Page views as a batch.
pub fn hits_batch(views: &[PageView]) -> RecordBatch {
    let columns = COLUMNS.iter().map(|column| (column.name, column.array(views)));
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

impl HitColumn {
    fn array(&self, views: &[PageView]) -> ArrayRef {
        let value = match self.values {
            HitValues::Number(value) => value,
            HitValues::Text(text) | HitValues::Mapped(text) => {
                return Arc::new(StringArray::from_iter_values(views.iter().map(text)));
            }
        };
        let values = views.iter().map(value);
        match self.column_type {
            ColumnType::Int16 => Arc::new(Int16Array::from_iter_values(values.map(|value| value as i16))),
            ColumnType::Int32 => Arc::new(Int32Array::from_iter_values(values.map(|value| value as i32))),
            ColumnType::Date => Arc::new(Date32Array::from_iter_values(values.map(|value| value as i32))),
            ColumnType::Timestamp(_) => Arc::new(TimestampSecondArray::from_iter_values(values).with_timezone("UTC")),
            _ => Arc::new(Int64Array::from_iter_values(values)),
        }
    }
}
