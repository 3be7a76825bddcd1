//! The items that an SQL/JSON path is at, and the tasks that are left at each of its steps. The tasks are a stack, so
//! that long paths and deep documents need no recursion.

use super::jsonb::Json;
use super::path_times::PathTime;
use super::path_tree::{LEVEL_LAST, MemberKey, PathSign, PathStep};
use super::path_values::string_of;
use std::borrow::Cow;
use std::collections::btree_map;

/// A part of a document, or a value that was made.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathItem<'a> {
    pub(super) value: &'a Json,
    /// The date or time that `.datetime()` has parsed from the value; `None` for other items. An item with a time does
    /// not count as a string.
    pub(super) time: Option<PathTime>,
    /// The root that contains the value: the document, the variables, or an object that `.keyvalue()` has made. The
    /// root and its number make the ids of `.keyvalue()`. Neither matters for a scalar.
    pub(super) root: &'a Json,
    pub(super) root_number: i64,
    /// The number of elements of the array to which `last` refers; 0 until a subscript is evaluated.
    pub(super) array_size: usize,
}

impl<'a> PathItem<'a> {
    pub(super) fn of_document(document: &'a Json) -> Self {
        Self { value: document, time: None, root: document, root_number: 0, array_size: 0 }
    }

    /// A part of the same root, a scalar, or the same value.
    pub(super) fn with(self, value: &'a Json) -> Self {
        let time = self.time.filter(|_| std::ptr::eq(self.value, value));
        Self { value, time, ..self }
    }

    /// A date or a time, and its text as JSON.
    pub(super) fn with_time(self, time: PathTime, value: &'a Json) -> Self {
        Self { value, time: Some(time), ..self }
    }

    /// The characters of a string; `None` for other items.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        if self.time.is_some() { None } else { string_of(self.value) }
    }

    /// A root.
    pub(super) fn with_root(self, root: &'a Json, root_number: i64) -> Self {
        Self { value: root, time: None, root, root_number, ..self }
    }

    /// The elements of an array. Another value is wrapped.
    pub(super) fn elements(self) -> &'a [Json] {
        match self.value {
            Json::Array(elements) => elements,
            value => std::slice::from_ref(value),
        }
    }

    /// The elements or the values of the members. A scalar has none.
    pub(super) fn parts(self) -> PathParts<'a> {
        match self.value {
            Json::Array(elements) => PathParts::Elements(elements.iter()),
            Json::Object(members) => PathParts::Members(members.values()),
            Json::Scalar(_) => PathParts::Elements(std::slice::Iter::default()),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum PathParts<'a> {
    Elements(std::slice::Iter<'a, Json>),
    Members(btree_map::Values<'a, MemberKey, Json>),
}

impl<'a> Iterator for PathParts<'a> {
    type Item = &'a Json;

    fn next(&mut self) -> Option<&'a Json> {
        match self {
            Self::Elements(elements) => elements.next(),
            Self::Members(values) => values.next(),
        }
    }
}

/// A task of the walk that has not been done yet.
#[derive(Debug)]
pub(super) enum WalkTask<'a> {
    /// Takes a step from an item. If it `opens`, a step for single items is taken from the elements of an array.
    Step { at: usize, item: PathItem<'a>, opens: bool },
    /// Takes a step from each part of an item.
    Each(EachPart<'a>),
    /// Takes the step after subscripts from the elements at the next one.
    Subscripts { at: usize, item: PathItem<'a>, next: usize },
    /// Takes a step from an object for each member.
    Pairs { at: usize, item: PathItem<'a>, members: btree_map::Iter<'a, MemberKey, Json>, id: i64 },
    /// Takes the first step from each operand with a sign. Without steps, operands that are no numbers are skipped.
    Signed { sign: PathSign, operands: std::vec::IntoIter<PathItem<'a>>, is_bare: bool },
}

#[derive(Debug)]
pub(super) struct EachPart<'a> {
    at: usize,
    item: PathItem<'a>,
    parts: PathParts<'a>,
    opens: bool,
    /// The level of the parts, and the first and the last one that are wanted.
    levels: Option<[u32; 3]>,
}

/// A way along some steps.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub(super) steps: &'a [PathStep],
    /// The last task is next.
    pub(super) tasks: Vec<WalkTask<'a>>,
    is_lax: bool,
    /// The step after which missing parts are no errors; `None` without such a step. If the walk `is_relaxed`, they
    /// never are.
    descent: Option<usize>,
    is_relaxed: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(steps: &'a [PathStep], is_lax: bool, is_relaxed: bool) -> Self {
        let descent = steps.iter().position(|step| matches!(step, PathStep::Descendants { .. }));
        Self { steps, tasks: Vec::new(), is_lax, descent, is_relaxed }
    }

    /// Returns whether a step ignores missing members and elements instead of reporting an error.
    pub(super) fn is_relaxed(&self, at: usize) -> bool {
        self.is_relaxed || self.descent.is_some_and(|descent| descent < at)
    }

    /// Takes a step from an item.
    pub(super) fn push_step(&mut self, at: usize, item: PathItem<'a>) {
        self.tasks.push(WalkTask::Step { at, item, opens: self.is_lax });
    }

    /// Takes a step from each of some parts of an item.
    pub(super) fn each(&mut self, at: usize, item: PathItem<'a>, parts: PathParts<'a>) {
        self.tasks.push(WalkTask::Each(EachPart { at, item, parts, opens: self.is_lax, levels: None }));
    }

    /// Takes a step from each element of an array, which is not opened further.
    pub(super) fn open(&mut self, at: usize, item: PathItem<'a>) {
        self.tasks.push(WalkTask::Each(EachPart { at, item, parts: item.parts(), opens: false, levels: None }));
    }

    /// Takes a step from what is so many levels below an item.
    pub(super) fn descend(&mut self, at: usize, item: PathItem<'a>, first: u32, last: u32) {
        if last > 0 {
            let levels = Some([1, first, last]);
            self.tasks.push(WalkTask::Each(EachPart { at, item, parts: item.parts(), opens: self.is_lax, levels }));
        }
        if first == 0 {
            self.push_step(at, item);
        }
    }

    pub(super) fn take_each(&mut self, mut each: EachPart<'a>) {
        let Some(value) = each.parts.next() else { return };
        let EachPart { at, opens, levels, .. } = each;
        let item = each.item.with(value);
        self.tasks.push(WalkTask::Each(each));
        let is_wanted = levels.is_none_or(|[level, first, last]| {
            let is_leaf = matches!(value, Json::Scalar(_));
            level >= first || first == LEVEL_LAST && last == LEVEL_LAST && is_leaf
        });
        if let Some([level, first, last]) = levels
            && level < last
        {
            let levels = Some([level + 1, first, last]);
            self.tasks.push(WalkTask::Each(EachPart { at, item, parts: item.parts(), opens, levels }));
        }
        if is_wanted {
            self.tasks.push(WalkTask::Step { at, item, opens });
        }
    }
}
