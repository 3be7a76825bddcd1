//! Evaluates an SQL/JSON path over a document. Items come in the order of PostgreSQL 15: all that follows from one item
//! comes before the next item. Owned here: steps, operands and conditions. Not owned: [how values
//! compare](super::path_values), [numbers](super::path_numbers), [dates and times](super::path_times), and the
//! [limits](super::path_work) of the work.

use super::jsonb::Json;
use super::path_datetime;
use super::path_failures::{PathFailure, quiet};
use super::path_ids::for_each_object;
use super::path_numbers::{PathNumber, double_of, json_of_double, negated, position_of};
use super::path_tree::{
    ArithmeticOperator, Comparison, JsonPath, MemberKey, PathCondition, PathExpression, PathMethod, PathSign,
    PathStart, PathStep, Subscript, member_key,
};
use super::path_values::{
    LastMade, MadeValues, bytes_of, compared, is_array, is_null, number_json, number_of, type_name, weight_of,
};
use super::path_walk::{PathItem, PathParts, Walk, WalkTask};
use super::path_work::{BYTES_OF_STEP, CallSteps, DocumentSteps, STEPS_OF_ITEM, STEPS_OF_VALUE};
use atsdb_core::json_text::quoted;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

type Result<T> = std::result::Result<T, PathFailure>;

/// The factor in ids of `.keyvalue()`: the byte offset of the object in its root, plus the root's number times this.
const ID_FACTOR: i64 = 10_000_000_000;

/// The evaluation of a path over one document.
pub(super) struct Evaluation<'a> {
    path: &'a JsonPath,
    document: &'a Json,
    /// The object of the variables. Without one, each variable is null.
    variables: Option<&'a Json>,
    /// Whether times without a zone are compared with those that have one.
    uses_zone: bool,
    made: LastMade<'a>,
    steps: DocumentSteps<'a>,
    /// The answers of conditions that do not depend on the item, by their numbers.
    answers: Vec<OnceCell<Option<bool>>>,
    /// The byte offsets of the document's objects, by their addresses. Computed for the first `.keyvalue()`.
    document_bytes: OnceCell<HashMap<*const Json, usize>>,
    /// The number of the next root that `.keyvalue()` makes. The document is 0, and the variables are 1.
    next_root: Cell<i64>,
}

/// The context in which an expression is evaluated, apart from the document.
#[derive(Clone, Copy)]
struct PathScope<'a> {
    /// The current item `@`, with the size of the array to which `last` refers.
    item: PathItem<'a>,
    /// Whether missing parts are no errors.
    is_relaxed: bool,
}

impl<'a> Evaluation<'a> {
    /// `values` is new.
    pub(super) fn new(
        path: &'a JsonPath,
        document: &'a Json,
        variables: Option<&'a Json>,
        uses_zone: bool,
        values: &'a MadeValues,
        call_steps: &'a CallSteps,
    ) -> Self {
        Self {
            path,
            document,
            variables,
            uses_zone,
            made: LastMade::new(values),
            steps: DocumentSteps::of(call_steps),
            answers: (0..path.once_count).map(|_| OnceCell::new()).collect(),
            document_bytes: OnceCell::new(),
            next_root: Cell::new(if variables.is_some() { 2 } else { 1 }),
        }
    }

    /// Returns whether the path finds at least one item.
    pub(super) fn exists(&self) -> Result<bool> {
        self.has_items(&self.path.expression, self.scope())
    }

    /// Adds all items that the path finds, up to an error.
    pub(super) fn find(&self, items: &mut Vec<PathItem<'a>>) -> Result<()> {
        self.run(&self.path.expression, self.scope(), Some(items)).map(drop)
    }

    fn scope(&self) -> PathScope<'a> {
        PathScope { item: PathItem::of_document(self.document), is_relaxed: self.path.is_lax }
    }

    fn charge(&self, steps: usize) -> Result<()> {
        self.steps.charge(steps)
    }

    /// Charges the reading of the texts of some values, or of keys.
    fn charge_bytes(&self, bytes: usize) -> Result<()> {
        self.charge(bytes / BYTES_OF_STEP)
    }

    fn make(&self, json: Json) -> Result<&'a Json> {
        self.charge(STEPS_OF_VALUE)?;
        self.charge_bytes(bytes_of(&json))?;
        Ok(self.made.add(json))
    }

    /// Returns whether an expression has items. In the mode strict, all are found, because each may be an error.
    fn has_items(&self, expression: &'a PathExpression, scope: PathScope<'a>) -> Result<bool> {
        if self.path.is_lax {
            return self.run(expression, scope, None);
        }
        self.run(expression, scope, Some(&mut Vec::new()))
    }

    fn listed(&self, expression: &'a PathExpression, scope: PathScope<'a>) -> Result<Vec<PathItem<'a>>> {
        let mut items = Vec::new();
        self.run(expression, scope, Some(&mut items))?;
        Ok(items)
    }

    /// The items of an operand. In the mode lax, arrays are opened.
    fn opened(&self, expression: &'a PathExpression, scope: PathScope<'a>) -> Result<Vec<PathItem<'a>>> {
        let items = self.listed(expression, scope)?;
        if !self.path.is_lax || !items.iter().any(|item| is_array(item.value)) {
            return Ok(items);
        }
        let mut opened = Vec::with_capacity(items.len());
        for item in items {
            let elements = item.elements();
            self.charge(elements.len().saturating_mul(STEPS_OF_ITEM))?;
            opened.extend(elements.iter().map(|element| item.with(element)));
        }
        Ok(opened)
    }

    /// Adds the items of an expression to a list; without one, stops at the first item. Returns whether there is any.
    fn run(
        &self,
        expression: &'a PathExpression,
        scope: PathScope<'a>,
        mut items: Option<&mut Vec<PathItem<'a>>>,
    ) -> Result<bool> {
        let mut walk = Walk::new(&expression.steps, self.path.is_lax, scope.is_relaxed);
        if let PathStart::Signed(sign, operand) = &expression.start {
            let is_bare = expression.steps.is_empty() && items.is_none();
            let operands = self.opened(operand, scope)?.into_iter();
            walk.tasks.push(WalkTask::Signed { sign: *sign, operands, is_bare });
        } else {
            walk.push_step(0, self.start(&expression.start, scope)?);
        }
        let mut has_any = false;
        while let Some(task) = walk.tasks.pop() {
            self.charge(1)?;
            match task {
                WalkTask::Step { at, item, opens } => match expression.steps.get(at) {
                    Some(step) => self.take_step(&mut walk, at, step, item, opens)?,
                    None => {
                        has_any = true;
                        let Some(items) = items.as_deref_mut() else { return Ok(true) };
                        self.charge(STEPS_OF_ITEM)?;
                        items.push(item);
                    }
                },
                WalkTask::Each(each) => walk.take_each(each),
                WalkTask::Subscripts { at, item, next } => self.take_subscript(&mut walk, at, item, next, scope)?,
                WalkTask::Pairs { at, item, mut members, id } => {
                    if let Some(((_, key), value)) = members.next() {
                        walk.tasks.push(WalkTask::Pairs { at, item, members, id });
                        walk.push_step(at, self.pair(item, key, value, id)?);
                    }
                }
                WalkTask::Signed { sign, mut operands, is_bare } => {
                    if let Some(operand) = operands.next() {
                        walk.tasks.push(WalkTask::Signed { sign, operands, is_bare });
                        match number_of(operand.value) {
                            Some(number) => walk.push_step(0, operand.with(self.signed(sign, operand.value, number)?)),
                            None if is_bare => {}
                            None => return Err(PathFailure::wrong_signed(sign.symbol())),
                        }
                    }
                }
            }
        }
        Ok(has_any)
    }

    /// The item at which an expression starts.
    fn start(&self, start: &'a PathStart, scope: PathScope<'a>) -> Result<PathItem<'a>> {
        let item = scope.item;
        Ok(match start {
            PathStart::Document => item.with_root(self.document, 0),
            PathStart::Item | PathStart::Signed(..) => item,
            PathStart::Last => {
                let last = i64::try_from(item.array_size).unwrap_or(i64::MAX) - 1;
                item.with(self.make(number_json(last))?)
            }
            PathStart::Variable(key) => self.variable(key, item)?,
            PathStart::Literal(json) => item.with(json),
            PathStart::Arithmetic(first, rest) => item.with(self.make(self.arithmetic(first, rest, scope)?)?),
            PathStart::Condition(condition) => {
                let text = self.holds(condition, scope)?.map_or("null", |holds| if holds { "true" } else { "false" });
                item.with(self.make(Json::Scalar(text.to_owned()))?)
            }
        })
    }

    fn variable(&self, key: &'a MemberKey, item: PathItem<'a>) -> Result<PathItem<'a>> {
        let Some(variables) = self.variables else { return Ok(item.with(self.make(Json::Scalar("null".to_owned()))?)) };
        self.charge_bytes(key.0)?;
        let value = match variables {
            Json::Object(members) => members.get(key),
            _ => None,
        };
        let value = value.ok_or_else(|| PathFailure::unknown_variable(&key.1))?;
        Ok(item.with_root(variables, 1).with(value))
    }

    fn signed(&self, sign: PathSign, value: &'a Json, number: &str) -> Result<&'a Json> {
        match sign {
            PathSign::Plus => Ok(value),
            PathSign::Minus => self.make(Json::Scalar(negated(number))),
        }
    }

    fn take_step(
        &self,
        walk: &mut Walk<'a>,
        at: usize,
        step: &'a PathStep,
        item: PathItem<'a>,
        opens: bool,
    ) -> Result<()> {
        let (next, is_lax, is_relaxed) = (at + 1, self.path.is_lax, walk.is_relaxed(at));
        match (step, item.value) {
            (step, Json::Array(_)) if opens && step.is_about_single_items() => walk.open(at, item),
            (PathStep::Member(key), Json::Object(members)) => {
                self.charge_bytes(key.0)?;
                match members.get(key) {
                    Some(value) => walk.push_step(next, item.with(value)),
                    None if is_relaxed => {}
                    None => return Err(PathFailure::no_key(&key.1)),
                }
            }
            (PathStep::Members, Json::Object(_)) => walk.each(next, item, item.parts()),
            (PathStep::Elements, Json::Array(_)) => walk.each(next, item, item.parts()),
            (PathStep::Elements, _) if is_lax => walk.push_step(next, item),
            (PathStep::Subscripts(_), value) if is_lax || is_array(value) => {
                let item = PathItem { array_size: item.elements().len(), ..item };
                walk.tasks.push(WalkTask::Subscripts { at, item, next: 0 });
            }
            (PathStep::Descendants { first, last }, _) => walk.descend(next, item, *first, *last),
            (PathStep::Filter(condition), _) => {
                if self.holds(condition, PathScope { item, is_relaxed })? == Some(true) {
                    walk.push_step(next, item);
                }
            }
            (PathStep::Datetime(template), _) => walk.push_step(next, self.time_of(item, template.as_deref())?),
            (PathStep::Method(PathMethod::KeyValue), Json::Object(members)) => {
                let id = self.id_of(item)?;
                walk.tasks.push(WalkTask::Pairs { at: next, item, members: members.iter(), id });
            }
            (PathStep::Method(method), value) if is_lax || *method != PathMethod::Size || is_array(value) => {
                walk.push_step(next, item.with(self.computed(*method, item)?));
            }
            _ if is_relaxed => {}
            (PathStep::Member(_), _) => return Err(PathFailure::not_an_object("member accessor")),
            (PathStep::Members, _) => return Err(PathFailure::not_an_object("wildcard member accessor")),
            (PathStep::Elements, _) => return Err(PathFailure::not_an_array("wildcard array accessor")),
            (PathStep::Subscripts(_), _) => return Err(PathFailure::not_an_array("array accessor")),
            (PathStep::Method(method), _) => return Err(PathFailure::wrong_for_method(method.name(), "an array")),
        }
        Ok(())
    }

    /// Takes the step after subscripts from the elements that one of them means.
    fn take_subscript(
        &self,
        walk: &mut Walk<'a>,
        at: usize,
        item: PathItem<'a>,
        next: usize,
        scope: PathScope<'a>,
    ) -> Result<()> {
        let steps = walk.steps;
        let Some(PathStep::Subscripts(subscripts)) = steps.get(at) else { return Ok(()) };
        let Some(Subscript { from, to }) = subscripts.get(next) else { return Ok(()) };
        walk.tasks.push(WalkTask::Subscripts { at, item, next: next + 1 });
        let is_relaxed = walk.is_relaxed(at);
        let inner = PathScope { item: PathItem { array_size: item.array_size, ..scope.item }, is_relaxed };
        let from = self.position(from, inner)?;
        let to = to.as_ref().map_or(Ok(from), |to| self.position(to, inner))?;
        let elements = item.elements();
        let count = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        if !is_relaxed && (from < 0 || from > to || to >= count) {
            return Err(PathFailure::out_of_bounds());
        }
        let ends = (usize::try_from(from.max(0)), usize::try_from(to.saturating_add(1).min(count)));
        if let (Ok(first), Ok(behind)) = ends {
            let chosen = elements.get(first..behind).unwrap_or_default();
            walk.each(at + 1, item, PathParts::Elements(chosen.iter()));
        }
        Ok(())
    }

    /// The number that is the only item.
    fn single_number(&self, items: &[PathItem<'a>]) -> Result<Option<&'a str>> {
        let [item] = items else { return Ok(None) };
        self.charge_bytes(bytes_of(item.value))?;
        Ok(number_of(item.value))
    }

    fn position(&self, expression: &'a PathExpression, scope: PathScope<'a>) -> Result<i64> {
        let items = self.listed(expression, scope)?;
        let number = self.single_number(&items)?.ok_or_else(PathFailure::no_position)?;
        position_of(number).ok_or_else(PathFailure::position_out_of_range)
    }

    /// Makes a date or a time of a string.
    fn time_of(&self, item: PathItem<'a>, template: Option<&str>) -> Result<PathItem<'a>> {
        let text = item.text().ok_or_else(|| PathFailure::wrong_for_method("datetime", "a string"))?;
        self.charge(STEPS_OF_VALUE + template.map_or(0, str::len))?;
        self.charge_bytes(text.len())?;
        let time = path_datetime::read(&text, template)?;
        Ok(item.with_time(time, self.make(Json::Scalar(quoted(&time.to_string())))?))
    }

    /// Applies a method to one item.
    fn computed(&self, method: PathMethod, item: PathItem<'a>) -> Result<&'a Json> {
        let value = item.value;
        self.charge_bytes(bytes_of(value))?;
        let wrong = |wanted| PathFailure::wrong_for_method(method.name(), wanted);
        let number = || number_of(value).ok_or_else(|| wrong("a numeric value"));
        let json = match method {
            PathMethod::Type => Json::Scalar(quoted(item.time.map_or(type_name(value), |time| time.time_type.name()))),
            PathMethod::Size => match value {
                Json::Array(elements) => number_json(elements.len()),
                _ => number_json(1),
            },
            PathMethod::Abs => Json::Scalar(number()?.trim_start_matches('-').to_owned()),
            PathMethod::Floor => PathNumber::parse(number()?)?.rounded(false)?.to_json(),
            PathMethod::Ceiling => PathNumber::parse(number()?)?.rounded(true)?.to_json(),
            PathMethod::Double => match (number_of(value), item.text()) {
                (Some(number), _) if double_of(number).is_some() => return Ok(value),
                (Some(_), _) => return Err(PathFailure::number_is_no_double()),
                (None, Some(text)) => json_of_double(double_of(&text).ok_or_else(PathFailure::string_is_no_double)?),
                (None, None) => return Err(wrong("a string or numeric value")),
            },
            PathMethod::KeyValue => return Err(wrong("an object")),
        };
        self.make(json)
    }

    /// The id of an object.
    fn id_of(&self, item: PathItem<'a>) -> Result<i64> {
        let mut found = None;
        if std::ptr::eq(item.root, self.document) {
            let bytes = self.document_bytes.get_or_init(|| {
                let mut bytes: HashMap<*const Json, usize> = HashMap::new();
                for_each_object(self.document, &mut |object, byte| {
                    bytes.insert(std::ptr::from_ref(object), byte);
                });
                bytes
            });
            found = bytes.get(&std::ptr::from_ref(item.value)).copied();
        } else {
            self.charge_bytes(weight_of(item.root))?;
            for_each_object(item.root, &mut |object, byte| {
                if std::ptr::eq(object, item.value) {
                    found = Some(byte);
                }
            });
        }
        Ok(i64::try_from(found.unwrap_or(0)).unwrap_or(0) + item.root_number.saturating_mul(ID_FACTOR))
    }

    /// A member of an object, as an object.
    fn pair(&self, item: PathItem<'a>, key: &str, value: &'a Json, id: i64) -> Result<PathItem<'a>> {
        self.charge_bytes(key.len() + weight_of(value))?;
        let members = [
            (member_key("id".to_owned()), number_json(id)),
            (member_key("key".to_owned()), Json::Scalar(quoted(key))),
            (member_key("value".to_owned()), value.clone()),
        ];
        let root_number = self.next_root.get();
        self.next_root.set(root_number + 1);
        Ok(item.with_root(self.make(Json::Object(members.into()))?, root_number))
    }

    fn arithmetic(
        &self,
        first: &'a PathExpression,
        rest: &'a [(ArithmeticOperator, PathExpression)],
        scope: PathScope<'a>,
    ) -> Result<Json> {
        let lefts = self.opened(first, scope)?;
        let mut computed: Option<PathNumber> = None;
        for (operator, right) in rest {
            let rights = self.opened(right, scope)?;
            let wrong = |side| PathFailure::wrong_operand(side, operator.symbol());
            let left = match computed {
                Some(number) => number,
                None => PathNumber::parse(self.single_number(&lefts)?.ok_or_else(|| wrong("left"))?)?,
            };
            let right = PathNumber::parse(self.single_number(&rights)?.ok_or_else(|| wrong("right"))?)?;
            computed = Some(left.computed(*operator, right)?);
        }
        Ok(computed.map_or_else(|| Json::Scalar("null".to_owned()), PathNumber::to_json))
    }

    /// Returns whether a condition holds; `None` if that is unknown.
    fn holds(&self, condition: &'a PathCondition, scope: PathScope<'a>) -> Result<Option<bool>> {
        self.charge(1)?;
        match condition {
            PathCondition::Any(conditions) => self.is_any(conditions, true, scope),
            // All hold unless any does not.
            PathCondition::All(conditions) => self.is_any(conditions, false, scope),
            PathCondition::Not(inner) => Ok(self.holds(inner, scope)?.map(|holds| !holds)),
            PathCondition::IsUnknown(inner) => Ok(Some(self.holds(inner, scope)?.is_none())),
            PathCondition::Exists(path) => quiet(self.has_items(path, scope)),
            PathCondition::Once(number, inner) => {
                let answer = self.answers.get(*number);
                if let Some(known) = answer.and_then(OnceCell::get) {
                    return Ok(*known);
                }
                let holds = self.holds(inner, scope)?;
                Ok(answer.map_or(holds, |answer| *answer.get_or_init(|| holds)))
            }
            PathCondition::Compare(left, comparison, right) => {
                let Some(lefts) = quiet(self.opened(left, scope))? else { return Ok(None) };
                let Some(rights) = quiet(self.opened(right, scope))? else { return Ok(None) };
                self.any_pair(&lefts, &rights, |left, right| {
                    self.charge_bytes(bytes_of(left.value) + bytes_of(right.value))?;
                    match (left.time, right.time) {
                        (None, None) => Ok(compared(left.value, *comparison, right.value)),
                        (Some(one), Some(other)) => {
                            Ok(one.ordering(other, self.uses_zone)?.map(|ordering| comparison.holds(ordering)))
                        }
                        _ => {
                            let has_null = is_null(left.value) || is_null(right.value);
                            Ok(has_null.then_some(*comparison == Comparison::Unequal))
                        }
                    }
                })
            }
            PathCondition::StartsWith(left, start) => {
                let Some(lefts) = quiet(self.opened(left, scope))? else { return Ok(None) };
                let Some(starts) = quiet(self.listed(start, scope))? else { return Ok(None) };
                self.any_pair(&lefts, &starts, |text, start| {
                    self.charge_bytes(bytes_of(text.value) + bytes_of(start.value))?;
                    Ok(text.text().zip(start.text()).map(|(text, start)| text.starts_with(&*start)))
                })
            }
            PathCondition::LikeRegex(operand, regex) => {
                let Some(texts) = quiet(self.opened(operand, scope))? else { return Ok(None) };
                self.any_pair(&texts, &[scope.item], |text, _| {
                    self.charge(bytes_of(text.value).saturating_mul(1 + regex.pattern.len() / BYTES_OF_STEP))?;
                    Ok(text.text().map(|text| regex.is_match(&text)))
                })
            }
        }
    }

    /// The answer `decisive` if any condition has it, then unknown if any is, and the other answer otherwise.
    fn is_any(&self, conditions: &'a [PathCondition], decisive: bool, scope: PathScope<'a>) -> Result<Option<bool>> {
        let mut answer = Some(!decisive);
        for condition in conditions {
            match self.holds(condition, scope)? {
                Some(holds) if holds == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => answer = None,
            }
        }
        Ok(answer)
    }

    /// Returns whether a test is true for any pair. In the mode strict, that is unknown if it is unknown for any
    /// pair.
    fn any_pair(
        &self,
        lefts: &[PathItem<'a>],
        rights: &[PathItem<'a>],
        test: impl Fn(PathItem<'a>, PathItem<'a>) -> Result<Option<bool>>,
    ) -> Result<Option<bool>> {
        let mut answer = Some(false);
        for left in lefts {
            for right in rights {
                self.charge(1)?;
                match (test(*left, *right)?, self.path.is_lax) {
                    (Some(true), true) => return Ok(Some(true)),
                    (Some(true), false) => answer = Some(true),
                    (Some(false), _) => {}
                    (None, true) => answer = None,
                    (None, false) => return Ok(None),
                }
            }
        }
        Ok(answer)
    }
}
