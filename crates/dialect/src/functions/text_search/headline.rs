//! Excerpts of a document around the words that a query found: `ts_headline`.

use super::dictionaries::Configuration;
use super::excerpt::{Excerpt, Looks};
use super::headline_options::{DEFAULTS, HeadlineOptions};
use super::query::Query;
use super::token_kinds::TokenKind;
use atsdb_core::Result;
use std::ops::RangeInclusive;

/// A token of the document.
struct HeadlineWord<'a> {
    kind: TokenKind,
    text: &'a str,
    position: u32,
    /// The node of the query that found it.
    node: Option<usize>,
    /// Whether it stands for the word before it, which another node found, too.
    is_repeated: bool,
    is_shown: bool,
}

impl HeadlineWord<'_> {
    /// Returns whether the token counts as a word of the headline.
    fn is_word(&self) -> bool {
        !self.kind.has_parts() && !matches!(self.kind, TokenKind::Blank | TokenKind::Tag)
    }

    fn is_interesting(&self) -> bool {
        self.node.is_some() && !self.is_repeated
    }

    /// Returns whether a headline should not begin or end with the token.
    fn is_bad_end(&self, short: usize) -> bool {
        use TokenKind as T;
        let is_number = matches!(self.kind, T::ScientificFloat | T::Version | T::Float)
            || matches!(self.kind, T::Integer | T::UnsignedInteger | T::Protocol);
        (!self.is_word() || is_number || self.text.len() <= short) && !self.is_interesting()
    }
}

/// A document in which a query is looked for.
struct HeadlineText<'a> {
    words: Vec<HeadlineWord<'a>>,
    /// The positions among these words of those that the query found, in ascending order.
    found: Vec<usize>,
    excerpt: Excerpt<'a>,
    options: &'a HeadlineOptions,
    looks: Looks,
}

/// The excerpts of a text around the words of a query.
pub(super) fn headline(
    configuration: Configuration,
    text: &str,
    query: &Query,
    options: Option<&HeadlineOptions>,
) -> Result<String> {
    let options = options.unwrap_or(&DEFAULTS);
    let mut text = HeadlineText::of(configuration, text, query, options)?;
    if text.words.is_empty() {
        return Ok(String::new());
    }
    if text.options.highlights_all {
        text.show(0..=text.words.len() - 1);
    } else if text.options.fragments_max > 0 {
        text.show_fragments()?;
    } else {
        text.show_best()?;
    }
    Ok(text.written())
}

impl<'a> HeadlineText<'a> {
    fn of(configuration: Configuration, text: &'a str, query: &'a Query, options: &'a HeadlineOptions) -> Result<Self> {
        let mut words: Vec<HeadlineWord<'a>> = Vec::new();
        let mut looks = Looks::of("ts_headline");
        for (token, position, normal) in configuration.tokens(text) {
            let mut nodes = Vec::new();
            if let Some(normal) = normal {
                nodes.extend(query.words().filter(|(_, word)| word.finds(&normal)).map(|(node, _)| node));
            }
            looks.count(query.nodes().len())?;
            looks.count_kept(nodes.len().saturating_sub(1))?;
            let first = nodes.first().copied();
            let word = |node, is_repeated| HeadlineWord {
                kind: token.kind,
                text: token.text,
                position: u32::from(position),
                node,
                is_repeated,
                is_shown: false,
            };
            words.push(word(first, false));
            words.extend(nodes.iter().skip(1).map(|node| word(Some(*node), true)));
        }
        let found = (0..words.len()).filter(|at| words[*at].node.is_some()).collect();
        Ok(Self { words, found, excerpt: Excerpt::of(query), options, looks })
    }

    /// The first word from a position that a node found.
    fn next_found(&self, from: usize) -> Option<usize> {
        self.found.get(self.found.partition_point(|at| *at < from)).copied()
    }

    /// The first part from a position that matches the query: its first and its last word.
    fn next_cover(&mut self, from: usize) -> Result<Option<(usize, usize)>> {
        let longest = (self.options.words_max * 10).max(100) * self.options.fragments_max.max(1);
        let mut first = self.next_found(from);
        while let Some(begin) = first {
            self.excerpt.clear();
            let mut end = begin;
            first = self.next_found(begin + 1);
            while end - begin < longest {
                let word = &self.words[end];
                if let Some(node) = word.node {
                    self.excerpt.add(node, word.position);
                }
                if self.excerpt.matches(&mut self.looks)? {
                    return Ok(Some((begin, end)));
                }
                let Some(next) = self.next_found(end + 1) else { break };
                end = next;
            }
        }
        Ok(None)
    }

    fn is_bad_end(&self, at: usize) -> bool {
        self.words[at].is_bad_end(self.options.short_word)
    }

    fn show(&mut self, range: RangeInclusive<usize>) {
        for word in &mut self.words[range] {
            word.is_shown = !word.is_repeated;
        }
    }

    /// The end of the first words, where nothing is found.
    fn beginning(&self) -> usize {
        let (mut count, mut end) = (0, 0);
        for (at, word) in self.words.iter().enumerate() {
            if count >= self.options.words_min {
                break;
            }
            count += usize::from(word.is_word());
            end = at;
        }
        end
    }

    /// Shows the best part of the document.
    fn show_best(&mut self) -> Result<()> {
        let mut best: Option<Excerpted> = None;
        let mut from = 0;
        while let Some((first, last)) = self.next_cover(from)? {
            let found = self.around(first, last);
            self.looks.count(found.end.saturating_sub(found.begin))?;
            if best.as_ref().is_none_or(|best| self.is_better(&found, best)) {
                best = Some(found);
            }
            from = first + 1;
        }
        let range = best.map_or_else(|| 0..=self.beginning(), |best| best.begin..=best.end);
        self.show(range);
        Ok(())
    }

    fn is_better(&self, one: &Excerpted, other: &Excerpted) -> bool {
        let rank = |of: &Excerpted| (of.has_cover, of.interesting);
        match rank(one).cmp(&rank(other)) {
            std::cmp::Ordering::Equal => !self.is_bad_end(one.end) && self.is_bad_end(other.end),
            order => order.is_gt(),
        }
    }

    /// The part of the document around a cover.
    fn around(&self, first: usize, last: usize) -> Excerpted {
        let (least, most) = (self.options.words_min, self.options.words_max);
        let (mut begin, mut end, mut count, mut interesting) = (first, first, 0, 0);
        let mut at = first;
        while at <= last && count < most {
            count += usize::from(self.words[at].is_word());
            interesting += usize::from(self.words[at].is_interesting());
            end = at;
            at += 1;
        }
        if count < most {
            // It becomes longer, to the right and then to the left.
            at -= 1;
            while at < self.words.len() && count < most {
                if at > last {
                    count += usize::from(self.words[at].is_word());
                    interesting += usize::from(self.words[at].is_interesting());
                }
                end = at;
                if !self.is_bad_end(at) && count >= least {
                    break;
                }
                at += 1;
            }
            if count < least {
                begin = 0;
                for at in (0..first).rev() {
                    count += usize::from(self.words[at].is_word());
                    interesting += usize::from(self.words[at].is_interesting());
                    if count >= most || (!self.is_bad_end(at) && count >= least) {
                        begin = at;
                        break;
                    }
                }
            }
        } else {
            // It becomes shorter, if it ends badly.
            at = at.min(last);
            while count > least && self.is_bad_end(at) {
                count -= usize::from(self.words[at].is_word());
                interesting -= usize::from(self.words[at].is_interesting());
                end = at.saturating_sub(1);
                at = end;
            }
        }
        Excerpted { begin, end, interesting, has_cover: begin <= first && end >= last }
    }

    /// Shows several parts of the document.
    fn show_fragments(&mut self) -> Result<()> {
        let mut fragments = Vec::new();
        let mut from = 0;
        while let Some((first, last)) = self.next_cover(from)? {
            let mut begin = first;
            while begin <= last {
                let fragment = self.fragment(begin, last);
                begin = fragment.end + 1;
                fragments.push(fragment);
                self.looks.count_kept(1)?;
            }
            from = first + 1;
        }
        for shown in 0..self.options.fragments_max {
            self.looks.count(fragments.len())?;
            let best =
                fragments.iter().min_by_key(|fragment| (std::cmp::Reverse(fragment.interesting), fragment.count));
            let Some(best) = best else {
                if shown == 0 {
                    self.show(0..=self.beginning());
                }
                break;
            };
            let (begin, end) = self.stretched(best);
            self.show(begin..=end);
            fragments.retain(|other| other.end < begin || other.begin > end);
        }
        Ok(())
    }

    /// A fragment of a cover that is not too long. It begins and ends with interesting words.
    fn fragment(&self, begin: usize, last: usize) -> Fragment {
        let begin = (begin..=last).find(|at| self.words[*at].is_interesting()).unwrap_or(last);
        let (mut end, mut count, mut interesting) = (begin, 0, 0);
        while end <= last && count < self.options.words_max {
            count += usize::from(self.words[end].is_word());
            interesting += usize::from(self.words[end].is_interesting());
            end += 1;
        }
        if last <= end {
            return Fragment { begin, end: last, count, interesting };
        }
        while end > begin && !self.words[end].is_interesting() {
            count = count.saturating_sub(usize::from(self.words[end].is_word()));
            end -= 1;
        }
        Fragment { begin, end, count, interesting }
    }

    /// A fragment with words around it.
    fn stretched(&self, fragment: &Fragment) -> (usize, usize) {
        let most = self.options.words_max;
        let Fragment { mut begin, mut end, mut count, .. } = *fragment;
        if count >= most {
            return (begin, end);
        }
        let stretch_max = (most - count) / 2;
        let (mut stretch, mut at) = (0, begin);
        while at > 0 && stretch < stretch_max && !self.words[at - 1].is_shown {
            at -= 1;
            stretch += usize::from(self.words[at].is_word());
        }
        count += stretch;
        while at < begin && self.is_bad_end(at) {
            count -= usize::from(self.words[at].is_word());
            at += 1;
        }
        begin = at;
        at = end;
        while at + 1 < self.words.len() && count < most && !self.words[at + 1].is_shown {
            at += 1;
            count += usize::from(self.words[at].is_word());
        }
        while at > end && self.is_bad_end(at) {
            at -= 1;
        }
        end = at;
        (begin, end)
    }

    /// The headline with the marks of the options.
    fn written(&self) -> String {
        let options = self.options;
        let mut headline = String::new();
        let (mut is_inside, mut is_first) = (false, true);
        for word in self.words.iter().filter(|word| !word.is_repeated) {
            if !word.is_shown {
                is_inside = false;
                continue;
            }
            if !is_inside && !is_first {
                headline.push_str(&options.delimiter);
            }
            (is_inside, is_first) = (true, false);
            if word.kind == TokenKind::Tag && !options.highlights_all {
                headline.push(' ');
            } else if !word.kind.has_parts() {
                if word.node.is_some() {
                    headline.push_str(&options.start);
                }
                headline.push_str(word.text);
                if word.node.is_some() {
                    headline.push_str(&options.stop);
                }
            }
        }
        headline
    }
}

/// A part of the document that may be the headline.
struct Excerpted {
    begin: usize,
    end: usize,
    interesting: usize,
    /// Whether it has the whole cover.
    has_cover: bool,
}

/// A part of the document that may be one of several.
struct Fragment {
    begin: usize,
    end: usize,
    /// The number of its words.
    count: usize,
    interesting: usize,
}
