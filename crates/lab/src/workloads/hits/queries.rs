//! The 43 queries. Column names are in lower case, because some databases convert them to it and others do not. Braces
//! contain the parts that differ between dialects, or depend on the rows: the user, the hashes, and the number of rows
//! that counts as many. The original queries have constants of the original data there.

use crate::contestant::Dialect;
use crate::failure::Failure;
use crate::generator::hits::{SITE, front_page, text_hash, user_id};
use crate::workloads::questions::{ComparedPart, Question};

/// Days since the epoch: the first and the last of July 2013, the 14th and the 15th.
const MONTH: (i64, i64) = (15_887, 15_917);
const TWO_DAYS: (i64, i64) = (15_900, 15_901);
/// A user with many views, but not the most.
const USER: u64 = 7;
/// A group is large if it has more than one row in this many.
const MANY: u64 = 1_000;
/// The number of sums in the query of sums.
const SUMS: i64 = 90;

pub(super) struct HitsQuery {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    text: &'static str,
    decided: ComparedPart,
}

const fn query(name: &'static str, title: &'static str, decided: ComparedPart, text: &'static str) -> HitsQuery {
    HitsQuery { name, title, text, decided }
}

const ALL: ComparedPart = ComparedPart::All;
const ROWS: ComparedPart = ComparedPart::Columns(&[]);
const COLUMN_1: ComparedPart = ComparedPart::Columns(&[1]);
const COLUMN_2: ComparedPart = ComparedPart::Columns(&[2]);
const COLUMN_3: ComparedPart = ComparedPart::Columns(&[3]);
const COLUMN_4: ComparedPart = ComparedPart::Columns(&[4]);
const COLUMN_5: ComparedPart = ComparedPart::Columns(&[5]);

/// The condition that the queries about one site share.
const OF_SITE: &str = "counterid = 62 AND eventdate >= {first} AND eventdate <= {last} AND isrefresh = 0";

#[rustfmt::skip]
pub(super) const QUERIES: [HitsQuery; 43] = [
    query("q1", "count", ALL, "SELECT count(*) FROM hits"),
    query("q2", "count where", ALL, "SELECT count(*) FROM hits WHERE advengineid <> 0"),
    query("q3", "sum, count, mean", ALL, "SELECT sum(advengineid), count(*), avg(resolutionwidth) FROM hits"),
    query("q4", "mean of large integers", ComparedPart::Fractions, "SELECT {mean} FROM hits"),
    query("q5", "users", ALL, "SELECT count(DISTINCT userid) FROM hits"),
    query("q6", "phrases", ALL, "SELECT count(DISTINCT searchphrase) FROM hits"),
    query("q7", "first and last date", ALL, "SELECT {first_date}, {last_date} FROM hits"),
    query("q8", "views by advertisement", ALL,
        "SELECT advengineid, count(*) FROM hits WHERE advengineid <> 0 GROUP BY advengineid ORDER BY count(*) DESC"),
    query("q9", "users by region", COLUMN_1,
        "SELECT regionid, count(DISTINCT userid) AS u FROM hits GROUP BY regionid ORDER BY u DESC LIMIT 10"),
    query("q10", "five figures by region", COLUMN_2,
        "SELECT regionid, sum(advengineid), count(*) AS c, avg(resolutionwidth), count(DISTINCT userid) FROM hits \
         GROUP BY regionid ORDER BY c DESC LIMIT 10"),
    query("q11", "users by phone model", COLUMN_1,
        "SELECT mobilephonemodel, count(DISTINCT userid) AS u FROM hits WHERE mobilephonemodel <> '' \
         GROUP BY mobilephonemodel ORDER BY u DESC LIMIT 10"),
    query("q12", "users by phone and model", COLUMN_2,
        "SELECT mobilephone, mobilephonemodel, count(DISTINCT userid) AS u FROM hits WHERE mobilephonemodel <> '' \
         GROUP BY mobilephone, mobilephonemodel ORDER BY u DESC LIMIT 10"),
    query("q13", "views by phrase", COLUMN_1,
        "SELECT searchphrase, count(*) AS c FROM hits WHERE searchphrase <> '' \
         GROUP BY searchphrase ORDER BY c DESC LIMIT 10"),
    query("q14", "users by phrase", COLUMN_1,
        "SELECT searchphrase, count(DISTINCT userid) AS u FROM hits WHERE searchphrase <> '' \
         GROUP BY searchphrase ORDER BY u DESC LIMIT 10"),
    query("q15", "views by search engine and phrase", COLUMN_2,
        "SELECT searchengineid, searchphrase, count(*) AS c FROM hits WHERE searchphrase <> '' \
         GROUP BY searchengineid, searchphrase ORDER BY c DESC LIMIT 10"),
    query("q16", "views by user", COLUMN_1,
        "SELECT userid, count(*) FROM hits GROUP BY userid ORDER BY count(*) DESC LIMIT 10"),
    query("q17", "views by user and phrase", COLUMN_2,
        "SELECT userid, searchphrase, count(*) FROM hits GROUP BY userid, searchphrase ORDER BY count(*) DESC LIMIT 10"),
    query("q18", "any ten of them", ROWS,
        "SELECT userid, searchphrase, count(*) FROM hits GROUP BY userid, searchphrase LIMIT 10"),
    query("q19", "views by user, minute, phrase", COLUMN_3,
        "SELECT userid, {minute_of_hour} AS m, searchphrase, count(*) FROM hits \
         GROUP BY userid, m, searchphrase ORDER BY count(*) DESC LIMIT 10"),
    query("q20", "one user", ALL, "SELECT userid FROM hits WHERE userid = {user}"),
    query("q21", "a part of a URL", ALL, "SELECT count(*) FROM hits WHERE url LIKE '%google%'"),
    query("q22", "phrases by a part of a URL", COLUMN_2,
        "SELECT searchphrase, min(url), count(*) AS c FROM hits WHERE url LIKE '%google%' AND searchphrase <> '' \
         GROUP BY searchphrase ORDER BY c DESC LIMIT 10"),
    query("q23", "phrases by a part of a title", COLUMN_3,
        "SELECT searchphrase, min(url), min(title), count(*) AS c, count(DISTINCT userid) FROM hits \
         WHERE title LIKE '%Google%' AND url NOT LIKE '%.google.%' AND searchphrase <> '' \
         GROUP BY searchphrase ORDER BY c DESC LIMIT 10"),
    query("q24", "all columns, the first ten", COLUMN_4,
        "SELECT * FROM hits WHERE url LIKE '%google%' ORDER BY eventtime LIMIT 10"),
    query("q25", "phrases by time", ROWS,
        "SELECT searchphrase FROM hits WHERE searchphrase <> '' ORDER BY eventtime LIMIT 10"),
    query("q26", "phrases in order", ALL,
        "SELECT searchphrase FROM hits WHERE searchphrase <> '' ORDER BY searchphrase LIMIT 10"),
    query("q27", "phrases by time, in order", ALL,
        "SELECT searchphrase FROM hits WHERE searchphrase <> '' ORDER BY eventtime, searchphrase LIMIT 10"),
    query("q28", "length of URLs by site", COLUMN_1,
        "SELECT counterid, avg(length(url)) AS l, count(*) AS c FROM hits WHERE url <> '' \
         GROUP BY counterid {of_many} ORDER BY l DESC LIMIT 25"),
    query("q29", "length of referers by host", COLUMN_1,
        "SELECT {url_host} AS k, avg(length(referer)) AS l, count(*) AS c, min(referer) FROM hits WHERE referer <> '' \
         GROUP BY k {of_many} ORDER BY l DESC LIMIT 25"),
    query("q30", "90 sums", ALL, "SELECT {sums} FROM hits"),
    query("q31", "views by search engine and address", COLUMN_2,
        "SELECT searchengineid, clientip, count(*) AS c, sum(isrefresh), avg(resolutionwidth) FROM hits \
         WHERE searchphrase <> '' GROUP BY searchengineid, clientip ORDER BY c DESC LIMIT 10"),
    query("q32", "views by number and address, of searches", COLUMN_2,
        "SELECT watchid, clientip, count(*) AS c, sum(isrefresh), avg(resolutionwidth) FROM hits \
         WHERE searchphrase <> '' GROUP BY watchid, clientip ORDER BY c DESC LIMIT 10"),
    query("q33", "views by number and address", COLUMN_2,
        "SELECT watchid, clientip, count(*) AS c, sum(isrefresh), avg(resolutionwidth) FROM hits \
         GROUP BY watchid, clientip ORDER BY c DESC LIMIT 10"),
    query("q34", "views by URL", COLUMN_1, "SELECT url, count(*) AS c FROM hits GROUP BY url ORDER BY c DESC LIMIT 10"),
    query("q35", "views by URL and a constant", COLUMN_2,
        "SELECT 1, url, count(*) AS c FROM hits GROUP BY 1, url ORDER BY c DESC LIMIT 10"),
    query("q36", "views by address, four times", COLUMN_4,
        "SELECT clientip, clientip - 1, clientip - 2, clientip - 3, count(*) AS c FROM hits \
         GROUP BY clientip, clientip - 1, clientip - 2, clientip - 3 ORDER BY c DESC LIMIT 10"),
    query("q37", "a site's URLs", COLUMN_1,
        "SELECT url, count(*) AS pageviews FROM hits WHERE {of_site} AND dontcounthits = 0 AND url <> '' \
         GROUP BY url ORDER BY pageviews DESC LIMIT 10"),
    query("q38", "a site's titles", COLUMN_1,
        "SELECT title, count(*) AS pageviews FROM hits WHERE {of_site} AND dontcounthits = 0 AND title <> '' \
         GROUP BY title ORDER BY pageviews DESC LIMIT 10"),
    query("q39", "a site's links, from the 1,000th", COLUMN_1,
        "SELECT url, count(*) AS pageviews FROM hits WHERE {of_site} AND islink <> 0 AND isdownload = 0 \
         GROUP BY url ORDER BY pageviews DESC {10_from_1000}"),
    query("q40", "a site's traffic, from the 1,000th", COLUMN_5,
        "SELECT traficsourceid, searchengineid, advengineid, \
         CASE WHEN searchengineid = 0 AND advengineid = 0 THEN referer ELSE '' END AS src, url AS dst, \
         count(*) AS pageviews FROM hits WHERE {of_site} \
         GROUP BY traficsourceid, searchengineid, advengineid, src, dst ORDER BY pageviews DESC {10_from_1000}"),
    query("q41", "a site's URLs by date, from the 100th", COLUMN_2,
        "SELECT urlhash, eventdate, count(*) AS pageviews FROM hits \
         WHERE {of_site} AND traficsourceid IN (-1, 6) AND refererhash = {hash} \
         GROUP BY urlhash, eventdate ORDER BY pageviews DESC {10_from_100}"),
    query("q42", "a page's windows, from the 10,000th", COLUMN_2,
        "SELECT windowclientwidth, windowclientheight, count(*) AS pageviews FROM hits \
         WHERE {of_site} AND dontcounthits = 0 AND urlhash = {hash} \
         GROUP BY windowclientwidth, windowclientheight ORDER BY pageviews DESC {10_from_10000}"),
    query("q43", "a site's minutes, from the 1,000th", ALL,
        "SELECT {minute} AS m, count(*) AS pageviews FROM hits \
         WHERE counterid = 62 AND eventdate >= {from} AND eventdate <= {to} AND isrefresh = 0 AND dontcounthits = 0 \
         GROUP BY {minute} ORDER BY {minute} {10_from_1000}"),
];

impl HitsQuery {
    /// Converts the query to a question for a contestant, on a table with this many rows.
    pub(super) fn of(&self, dialect: Dialect, rows: u64) -> Question {
        Question { measure: self.name, text: self.text(dialect, rows), decided: self.decided }
    }

    fn text(&self, dialect: Dialect, rows: u64) -> Result<String, Failure> {
        let mut text = self.text.replace("{of_site}", OF_SITE);
        if text.contains("{url_host}") {
            text = text.replace("{url_host}", &dialect.url_host("referer")?);
        }
        if text.contains("{sums}") {
            let sums: Vec<String> = (0..SUMS).map(|number| format!("sum(resolutionwidth + {number})")).collect();
            text = text.replace("{sums}", &sums.join(", "));
        }
        if let Some((groups, order)) = text.split_once(" {of_many}") {
            text = dialect.having(groups, "count(*)", "c", &format!("> {}", rows / MANY)) + order;
        }
        let values = [
            ("{10_from_100}", dialect.limit(10, 100)),
            ("{10_from_1000}", dialect.limit(10, 1_000)),
            ("{10_from_10000}", dialect.limit(10, 10_000)),
            ("{first_date}", dialect.date_answer("min(eventdate)")),
            ("{last_date}", dialect.date_answer("max(eventdate)")),
            ("{mean}", dialect.mean("userid")),
            ("{minute_of_hour}", dialect.minute_of_hour("eventtime")),
            ("{minute}", dialect.minute("eventtime")),
            ("{first}", dialect.date(MONTH.0)),
            ("{last}", dialect.date(MONTH.1)),
            ("{from}", dialect.date(TWO_DAYS.0)),
            ("{to}", dialect.date(TWO_DAYS.1)),
            ("{user}", user_id(USER).to_string()),
            ("{hash}", text_hash(&front_page(SITE)).to_string()),
        ];
        Ok(values.iter().fold(text, |text, (name, value)| text.replace(name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_in_braces() {
        for (query, dialect) in
            QUERIES.iter().flat_map(|query| [Dialect::Duckdb, Dialect::Questdb].map(|it| (query, it)))
        {
            let text = query.text(dialect, 1_000_000).expect("a text");
            assert!(!text.contains(['{', '}']), "{text}");
        }
        assert!(QUERIES.iter().any(|query| query.text.contains("counterid = 62")) && SITE == 62);
    }

    #[test]
    fn the_dates_are_those_of_july_2013() {
        assert_eq!(Dialect::Postgres.date(MONTH.0), "'2013-07-01'");
        assert_eq!(Dialect::Postgres.date(MONTH.1), "'2013-07-31'");
        assert_eq!(Dialect::Postgres.date(TWO_DAYS.0), "'2013-07-14'");
    }
}
