//! One page view, from which its columns are computed.

use crate::data::digest::text_cell;
use crate::generator::random::Random;
use crate::generator::words::{WORDS, word_of};
use atsdb::time::DAY_SECONDS;

/// The first second: 2013-07-01T00:00:00Z, since the epoch.
const START_SECONDS: i64 = 1_372_636_800;
const MONTH_SECONDS: i64 = 31 * DAY_SECONDS;

/// The site that queries ask about, and its share of all views, as a fraction.
pub const SITE: u64 = 62;
const SITE_SHARE: (u64, u64) = (1, 20);
/// The number of other sites.
const SITES: u64 = 6_500;
/// The number of pages of a site; [`SITE`] has more.
const PAGES: u64 = 300;
/// Views for each user, on the average, if all users came.
const VIEWS_OF_A_USER: u64 = 5;
/// Views for each search phrase, likewise.
const VIEWS_OF_A_PHRASE: u64 = 15;

/// A page view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageView {
    /// The time in seconds since the epoch.
    pub time: i64,
    /// The unique number of the view.
    pub watch: i64,
    /// The number of the user.
    pub user: i64,
    /// 64 random bits that determine the user's properties.
    pub traits: u64,
    /// 64 random bits that determine the properties of this view.
    pub bits: u64,
    /// 64 further random bits.
    pub more: u64,
    /// The site.
    pub counter: u64,
    /// The address of the page.
    pub url: String,
    /// The title of the page; may be empty.
    pub title: String,
    /// The address of the previous page; may be empty.
    pub referer: String,
    /// The search phrase; mostly empty.
    pub phrase: String,
}

/// Makes page views, in the order of their time.
#[derive(Debug, Clone)]
pub struct HitsGenerator {
    random: Random,
    rows: u64,
    next: u64,
}

/// Sixty-four bits that belong to a number, in one of several roles.
fn bits_of(number: u64, role: u64) -> u64 {
    Random::new(number, role).bits()
}

const USER_ID: u64 = 61;
const USER_TRAITS: u64 = 62;
const SITE_NAME: u64 = 63;
const PAGE: u64 = 64;
const PHRASE: u64 = 65;

/// The identifier of the user with this number; the smaller the number, the more views.
pub fn user_id(number: u64) -> i64 {
    (bits_of(number, USER_ID) >> 1) as i64
}

/// The hash of a text for `urlhash` and `refererhash`.
pub fn text_hash(text: &str) -> i64 {
    (text_cell(text.as_bytes()) >> 1) as i64
}

/// The front page of a site.
pub fn front_page(site: u64) -> String {
    let bits = bits_of(site, SITE_NAME);
    let start = ["http://", "http://www.", "https://www."][(bits >> 32) as usize % 3];
    let end = [".ru", ".com", ".net", ".com.tr"][(bits >> 40) as usize % 4];
    format!("{start}{}{}{end}/", word_of(bits % WORDS), word_of((bits >> 16) % 400))
}

/// `count` words that are determined by these bits.
fn words(mut bits: u64, count: u64, between: &str) -> String {
    let mut text = String::new();
    for position in 0..count {
        if position > 0 {
            text.push_str(between);
        }
        bits = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        text.push_str(&word_of((bits >> 8) % WORDS));
    }
    text
}

/// A page of a site: its URL and its title.
fn page(site: u64, number: u64) -> (String, String) {
    let bits = bits_of((site << 32) | number, PAGE);
    let front = front_page(site);
    let section = word_of((bits >> 4) % 40);
    let url = match bits % 500 {
        0 => format!("{front}{section}/google-{number}.html"),
        1..350 => format!("{front}{section}/{}-{number}.html", words(bits, 1 + (bits >> 20) % 3, "-")),
        _ => format!("{front}{section}/?id={number}&view={}", words(bits, 1, "")),
    };
    let title = match (bits >> 12) & 0xff {
        0..20 => String::new(),
        20 => format!("{} Google {}", words(bits, 2, " "), words(bits, 3, " ")),
        _ => words(bits, 3 + (bits >> 24) % 7, " "),
    };
    (url, title)
}

impl HitsGenerator {
    /// Creates the generator of a seed, for a table of this many rows.
    pub fn new(seed: u64, rows: u64) -> Self {
        Self { random: Random::new(seed, 60), rows: rows.max(1), next: 0 }
    }

    /// Returns a number below `end`; smaller numbers are more likely.
    fn skewed(&mut self, end: u64) -> u64 {
        let below = self.random.below(end) + 1;
        self.random.below(below)
    }

    fn site(&mut self) -> u64 {
        if self.random.chance(SITE_SHARE.0, SITE_SHARE.1) {
            return SITE;
        }
        let below = self.skewed(SITES) + 1;
        // Numbers of sites are scattered.
        SITE + 1 + self.random.below(below) * 31
    }

    fn page_of(&mut self, site: u64) -> (String, String) {
        let pages = PAGES + if site == SITE { self.rows / 100 } else { 0 };
        match self.random.chance(1, 20) {
            true => (front_page(site), words(bits_of(site, SITE_NAME), 4, " ")),
            false => page(site, self.skewed(pages)),
        }
    }

    fn phrase(&mut self) -> String {
        if !self.random.chance(1, 8) {
            return String::new();
        }
        let bits = bits_of(self.skewed(self.rows / VIEWS_OF_A_PHRASE + 100), PHRASE);
        words(bits, 1 + (bits >> 40) % 5, " ")
    }

    fn referer(&mut self, site: u64, phrase: &str) -> String {
        if !phrase.is_empty() {
            let engine = ["http://yandex.ru/yandsearch?text=", "http://www.google.com/search?q="];
            return format!("{}{}", engine[self.random.below(2) as usize], phrase.replace(' ', "+"));
        }
        match self.random.below(20) {
            0..8 => String::new(),
            8..10 => front_page(site),
            10..17 => self.page_of(site).0,
            _ => {
                let other = self.site();
                self.page_of(other).0
            }
        }
    }
}

impl Iterator for HitsGenerator {
    type Item = PageView;

    fn next(&mut self) -> Option<PageView> {
        let start = (u128::from(self.next) * MONTH_SECONDS as u128 / u128::from(self.rows)) as i64;
        self.next += 1;
        let user = self.skewed(self.rows / VIEWS_OF_A_USER + 20);
        let counter = self.site();
        let (url, title) = self.page_of(counter);
        let phrase = self.phrase();
        let referer = self.referer(counter, &phrase);
        Some(PageView {
            time: START_SECONDS + start.min(MONTH_SECONDS - 1),
            watch: (self.random.bits() >> 1) as i64,
            user: user_id(user),
            traits: bits_of(user, USER_TRAITS),
            bits: self.random.bits(),
            more: self.random.bits(),
            counter,
            url,
            title,
            referer,
            phrase,
        })
    }
}
