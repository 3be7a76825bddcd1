//! Infers the types of parameters from a plan: from the expressions that they are compared with, from the columns that
//! they are assigned to, from casts, from functions that take one type, or from the other arguments of functions whose
//! arguments are of one type, or are an array and its elements.

use atsdb_codec::{declared_type, is_jsonb};
use atsdb_core::{ColumnType, ElementType};
use atsdb_dialect::functions::session::advisory_locks::lock_argument_type;
use atsdb_dialect::functions::session::sleep::SLEEP;
use atsdb_dialect::text::params::number;
use atsdb_dialect::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, IntervalUnit, TimeUnit};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, Case, InList, ScalarFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan};

/// Functions whose arguments are of one type: of arrays, which the operators `@>`, `<@`, `&&` and `||` are written as,
/// those that return one of their arguments, and `ARRAY[...]`.
const OF_ONE_TYPE: [&str; 8] =
    ["array_has_all", "array_has_any", "array_concat", "coalesce", "nullif", "greatest", "least", "make_array"];

/// Window functions of a value, the distance or the number of its row, and perhaps a value in place of a missing one.
const OF_OTHER_ROWS: [&str; 3] = ["lag", "lead", "nth_value"];

/// The type of numbers of any digits: a value keeps the digits for which its type has no room.
pub(crate) const NUMERIC: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// The digits after the point that an array of decimals has at least if it is a parameter.
const DECIMAL_SCALE_MIN: i8 = 10;

/// The type of the values that the text of a parameter, or each text in its array, stands for. It follows from the
/// column beside the parameter, or from a cast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// A UUID.
    Uuid,
    /// An array of UUIDs.
    Uuids,
    /// JSON as it is written.
    Json,
    /// JSON in its normal form.
    Jsonb,
}

impl TextForm {
    /// The form of the values of a column or of another expression.
    pub(crate) fn of_field(field: &Field) -> Option<Self> {
        match declared_type(field)? {
            ColumnType::Uuid => Some(Self::Uuid),
            ColumnType::Array(ElementType::Uuid) => Some(Self::Uuids),
            ColumnType::Json if is_jsonb(field) => Some(Self::Jsonb),
            ColumnType::Json => Some(Self::Json),
            _ => None,
        }
    }

    /// The form of what a cast reads, by the function that it is planned as.
    fn of_cast(function: &str) -> Option<Self> {
        match function {
            "uuid_of" => Some(Self::Uuid),
            "uuids_of" => Some(Self::Uuids),
            "json_of" => Some(Self::Json),
            "jsonb_of" => Some(Self::Jsonb),
            _ => None,
        }
    }

    /// The Arrow type of such a value.
    fn data_type(self) -> DataType {
        match self {
            Self::Uuids => DataType::new_list(DataType::Utf8, true),
            Self::Uuid | Self::Json | Self::Jsonb => DataType::Utf8,
        }
    }
}

/// The type of a column that a value is assigned to.
pub(crate) type AssignedType = (DataType, Option<TextForm>);

/// The types of parameters by number, as far as they are known.
#[derive(Debug, Clone)]
pub(crate) struct InferredTypes {
    pub(crate) types: Vec<Option<DataType>>,
    /// The form of each parameter's texts; `None` for plain texts, and for types that were not inferred.
    pub(crate) forms: Vec<Option<TextForm>>,
}

impl InferredTypes {
    /// Creates the types of parameters. `None` is a type that may be inferred.
    pub(crate) fn of(types: Vec<Option<DataType>>) -> Self {
        let forms = vec![None; types.len()];
        Self { types, forms }
    }

    /// The same types, with the forms that were inferred before.
    pub(crate) fn after(mut self, earlier: &Self) -> Self {
        for (form, earlier) in self.forms.iter_mut().zip(&earlier.forms) {
            *form = earlier.or(*form);
        }
        self
    }

    /// Infers unknown types from a plan whose parameters are placeholders. `columns` are the types of the columns that
    /// the plan's rows are assigned to, if any.
    pub(crate) fn infer(&mut self, plan: &LogicalPlan, columns: &[Option<AssignedType>]) -> Result<()> {
        self.of_columns(plan, columns);
        plan.dyn_apply_with_subqueries(|node| {
            if let LogicalPlan::Limit(limit) = node {
                for expr in limit.skip.iter().chain(&limit.fetch) {
                    self.note(expr, &DataType::Int64);
                }
            }
            let inputs = merge_schema(&node.inputs());
            node.dyn_apply_expressions(|expr| {
                expr.dyn_apply(|expr| {
                    self.of_expression(expr, &inputs);
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })
        .map(drop)
    }

    /// Infers the types of parameters that are parts of an expression over these inputs.
    fn of_expression(&mut self, expr: &Expr, inputs: &DFSchema) {
        match expr {
            Expr::Cast(cast) => self.note(&cast.expr, cast.field.data_type()),
            Expr::TryCast(cast) => self.note(&cast.expr, cast.field.data_type()),
            Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
                self.note_beside(left, right);
                self.note_beside(right, left);
                self.note_bounded(left, right, inputs);
                self.note_bounded(right, left, inputs);
            }
            Expr::Between(Between { expr, low, high, .. }) => {
                [low, high].into_iter().for_each(|number| self.note_beside(expr, number));
            }
            Expr::InList(InList { expr, list, .. }) => {
                list.iter().for_each(|number| self.note_beside(expr, number));
            }
            Expr::ScalarFunction(ScalarFunction { func, args }) if OF_ONE_TYPE.contains(&func.name()) => {
                self.note_arguments(args.iter().collect(), inputs);
            }
            Expr::ScalarFunction(ScalarFunction { func, args }) => self.of_function(func.name(), args, inputs),
            Expr::WindowFunction(call) => self.of_window_function(call.fun.name(), &call.params.args, inputs),
            Expr::Not(condition) => self.note(condition, &DataType::Boolean),
            Expr::Case(Case { expr, when_then_expr, else_expr }) => {
                let whens = when_then_expr.iter().map(|(when, _)| when.as_ref());
                match expr {
                    Some(compared) => {
                        let compared = std::iter::once(compared.as_ref()).chain(whens);
                        self.note_arguments(compared.collect(), inputs);
                    }
                    None => whens.for_each(|when| self.note(when, &DataType::Boolean)),
                }
                let results = when_then_expr.iter().map(|(_, result)| result).chain(else_expr);
                self.note_arguments(results.map(AsRef::as_ref).collect(), inputs);
            }
            Expr::Placeholder(placeholder) => {
                if let Some(field) = &placeholder.field {
                    self.note_as(expr, field.data_type(), TextForm::of_field(field));
                }
            }
            _ => {}
        }
    }

    /// Infers the types of parameters that are arguments of a function.
    fn of_function(&mut self, function: &str, arguments: &[Expr], inputs: &DFSchema) {
        if let Some(form) = TextForm::of_cast(function) {
            arguments.iter().for_each(|argument| self.note_as(argument, &form.data_type(), Some(form)));
        }
        for (position, argument) in arguments.iter().enumerate() {
            if let Some(data_type) = argument_type(function, arguments.len(), position) {
                self.note(argument, &data_type);
            }
        }
        self.note_elements(function, arguments, inputs);
        match (function, arguments) {
            ("generate_series", _) => self.note_series(arguments, inputs),
            ("width_bucket", [numbers @ .., _]) if numbers.len() == 3 => self.note_numbers(numbers, inputs),
            _ => {}
        }
    }

    /// Infers the types of parameters that are arguments of a window function.
    fn of_window_function(&mut self, function: &str, arguments: &[Expr], inputs: &DFSchema) {
        match (function, arguments) {
            ("ntile", counts) => counts.iter().for_each(|count| self.note(count, &DataType::Int32)),
            (name, [value, distance, default @ ..]) if OF_OTHER_ROWS.contains(&name) => {
                self.note(distance, &DataType::Int32);
                if let Some(data_type) = known_type(value, inputs) {
                    default.iter().for_each(|default| self.note(default, &data_type));
                }
            }
            _ => {}
        }
    }

    /// Infers the types of parameters that are columns of the answer.
    fn of_columns(&mut self, plan: &LogicalPlan, columns: &[Option<AssignedType>]) {
        let rows: &[Vec<Expr>] = match plan {
            LogicalPlan::Projection(projection) => std::slice::from_ref(&projection.expr),
            LogicalPlan::Values(values) => &values.values,
            LogicalPlan::Union(union) => {
                union.inputs.iter().for_each(|input| self.of_columns(input, columns));
                return;
            }
            LogicalPlan::Limit(_) | LogicalPlan::Sort(_) | LogicalPlan::SubqueryAlias(_) => {
                plan.inputs().into_iter().for_each(|input| self.of_columns(input, columns));
                return;
            }
            _ => return,
        };
        for (expr, column) in rows.iter().flat_map(|row| row.iter().zip(columns)) {
            if let Some((data_type, form)) = column {
                self.note_as(expr, data_type, *form);
            }
        }
    }

    /// Notes the type of a parameter beside a decimal in the text of the statement: a number of any digits, for which a
    /// decimal type has no room.
    fn note_beside(&mut self, expr: &Expr, number: &Expr) {
        if matches!(number, Expr::Literal(ScalarValue::Decimal128(..), _)) {
            self.note(expr, &DataType::Float64);
        }
    }

    /// Notes the type of parameters among arguments of one type. A literal says little about it: of `0` and `0.5`, a
    /// parameter may have more digits; neither may a parameter have only the digits of a column of decimals.
    fn note_arguments(&mut self, arguments: Vec<&Expr>, inputs: &DFSchema) {
        let known = arguments.iter().filter(|argument| !matches!(argument, Expr::Literal(..)));
        let mut types = known.filter_map(|argument| argument.get_type(inputs).ok());
        if let Some(data_type) = types.find(|data_type| !data_type.is_null() && !data_type.is_decimal()) {
            arguments.into_iter().for_each(|argument| self.note(argument, &data_type));
        }
    }

    /// Notes the types of parameters among the arguments of a function of an array and its elements, such as
    /// `array_has`, which `x = ANY (a)` is planned as.
    fn note_elements(&mut self, function: &str, arguments: &[Expr], inputs: &DFSchema) {
        let (array, elements, positions): (&Expr, &[Expr], &[Expr]) = match (function, arguments) {
            ("array_prepend", [element, array]) => (array, std::slice::from_ref(element), &[]),
            ("array_replace" | "array_replace_all", [array, elements @ ..]) => (array, elements, &[]),
            ("array_length", [array, dimensions @ ..]) => (array, &[], dimensions),
            ("width_bucket", [element, bounds]) => (bounds, std::slice::from_ref(element), &[]),
            (
                "array_append" | "array_has" | "array_position" | "array_positions" | "array_remove"
                | "array_remove_all",
                [array, element, positions @ ..],
            ) => (array, std::slice::from_ref(element), positions),
            _ => return,
        };
        let element_type = elements.iter().find_map(|element| known_type(element, inputs));
        match (known_type(array, inputs), element_type) {
            (Some(DataType::List(field)), _) => {
                elements.iter().for_each(|element| self.note(element, field.data_type()));
            }
            (None, Some(element)) => {
                let are_uuids = elements.iter().any(|element| form_of(element, inputs) == Some(TextForm::Uuid));
                if are_uuids {
                    self.note_as(array, &TextForm::Uuids.data_type(), Some(TextForm::Uuids));
                } else {
                    self.note_array(array, &element);
                }
            }
            _ => {}
        }
        positions.iter().for_each(|position| self.note(position, &DataType::Int32));
    }

    /// Notes the types of parameters in a series: two times of one type and a step, or numbers of one type.
    fn note_series(&mut self, arguments: &[Expr], inputs: &DFSchema) {
        let known = arguments.iter().filter_map(|argument| match argument {
            Expr::Literal(ScalarValue::Int64(Some(number)), _) if i32::try_from(*number).is_ok() => {
                Some(DataType::Int32)
            }
            other => known_type(other, inputs),
        });
        let known: Vec<DataType> = known.collect();
        let time = known.iter().find(|data_type| matches!(data_type, DataType::Timestamp(..) | DataType::Date32));
        match (time, arguments) {
            (Some(time), [first, last, step]) => {
                [first, last].into_iter().for_each(|bound| self.note(bound, time));
                self.note(step, &DataType::Interval(IntervalUnit::MonthDayNano));
            }
            _ => {
                let number = number_in_series(&known);
                arguments.iter().for_each(|argument| self.note(argument, &number));
            }
        }
    }

    /// Notes the type of parameters among numbers that are decimals if one of them is, and otherwise floats.
    fn note_numbers(&mut self, numbers: &[Expr], inputs: &DFSchema) {
        let known: Vec<DataType> = numbers.iter().filter_map(|number| known_type(number, inputs)).collect();
        let are_decimals = known.iter().any(DataType::is_decimal) && !known.iter().any(DataType::is_floating);
        let data_type = if are_decimals { NUMERIC } else { DataType::Float64 };
        numbers.iter().for_each(|number| self.note(number, &data_type));
    }

    /// Notes the type of a parameter whose least or greatest element is compared: `x > ANY ($1)` is planned so.
    fn note_bounded(&mut self, bound: &Expr, other: &Expr, inputs: &DFSchema) {
        if let Expr::ScalarFunction(call) = bound
            && matches!(call.name(), "array_min" | "array_max")
            && let [array] = call.args.as_slice()
            && let Some(element) = known_type(other, inputs)
        {
            self.note_array(array, &element);
        }
    }

    /// Notes the type of an array by the type of the values that are looked up in it. A decimal may have more digits
    /// than those.
    fn note_array(&mut self, array: &Expr, element: &DataType) {
        let element = match plain_type(element) {
            Some(DataType::Decimal128(_, scale)) => {
                DataType::Decimal128(DECIMAL128_MAX_PRECISION, (*scale).max(DECIMAL_SCALE_MIN))
            }
            Some(element) if !element.is_nested() => element.clone(),
            _ => return,
        };
        self.note(array, &DataType::new_list(element, true));
    }

    /// Notes the type of an expression, which may be a parameter whose type is unknown.
    fn note(&mut self, expr: &Expr, data_type: &DataType) {
        self.note_as(expr, data_type, None);
    }

    /// Notes the type of an expression like [`note`](Self::note), and what its texts are.
    fn note_as(&mut self, expr: &Expr, data_type: &DataType, form: Option<TextForm>) {
        match expr {
            Expr::Placeholder(placeholder) => self.set(&placeholder.id, data_type, form),
            Expr::Alias(alias) => self.note_as(&alias.expr, data_type, form),
            _ => {}
        }
    }

    /// Sets the type of a parameter, unless it has one already.
    pub(crate) fn note_id(&mut self, id: &str, data_type: &DataType) {
        self.set(id, data_type, None);
    }

    fn set(&mut self, id: &str, data_type: &DataType, form: Option<TextForm>) {
        let Some(at) = number(id).map(|number| number - 1) else { return };
        if let (Some(slot @ None), Some(data_type)) = (self.types.get_mut(at), plain_type(data_type)) {
            *slot = Some(data_type.clone());
            if let Some(slot) = self.forms.get_mut(at) {
                *slot = form;
            }
        }
    }
}

/// The type of parameters in a series of numbers whose other arguments have these types. As in PostgreSQL, they are
/// INTs beside INTs.
pub(crate) fn number_in_series(others: &[DataType]) -> DataType {
    use DataType::{Int8, Int16, Int32, UInt8, UInt16};
    let is_int = |data_type: &DataType| matches!(data_type, Int8 | Int16 | Int32 | UInt8 | UInt16);
    if others.iter().any(DataType::is_decimal) {
        NUMERIC
    } else if !others.is_empty() && others.iter().all(is_int) {
        DataType::Int32
    } else {
        DataType::Int64
    }
}

/// The type that a parameter has in PostgreSQL as the argument of a function at a position, from 0. `None` if it takes
/// texts there, or if its other arguments decide.
fn argument_type(function: &str, argument_count: usize, position: usize) -> Option<DataType> {
    match (function, position) {
        ("left" | "right" | "repeat" | "lpad" | "rpad" | "round" | "trunc", 1)
        | ("substr", 1 | 2)
        | ("split_part", 2)
        | ("overlay", 2 | 3)
        | ("chr", 0)
        | ("width_bucket", 3)
        | ("make_date", _) => Some(DataType::Int32),
        ("int4range", 0 | 1) if argument_count > 1 => Some(DataType::Int32),
        ("int8range", 0 | 1) if argument_count > 1 => Some(DataType::Int64),
        ("numrange", 0 | 1) if argument_count > 1 => Some(NUMERIC),
        ("daterange", 0 | 1) if argument_count > 1 => Some(DataType::Date32),
        ("tsrange", 0 | 1) if argument_count > 1 => Some(DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("tstzrange", 0 | 1) if argument_count > 1 => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))
        }
        ("regexp_replace", 3 | 4) if argument_count > 4 => Some(DataType::Int32),
        (SLEEP | "setseed" | "power" | "atan2" | "log", _) => Some(DataType::Float64),
        (
            "abs" | "sign" | "floor" | "ceil" | "round" | "trunc" | "sqrt" | "cbrt" | "exp" | "ln" | "log10"
            | "degrees" | "radians" | "sin" | "cos" | "tan" | "cot" | "asin" | "acos" | "atan" | "sinh" | "cosh"
            | "tanh" | "asinh" | "acosh" | "atanh",
            0,
        ) => Some(DataType::Float64),
        (name, _) => lock_argument_type(name, argument_count),
    }
}

/// The type of an expression, unless it is a parameter whose type is unknown, or NULL.
fn known_type(expr: &Expr, inputs: &DFSchema) -> Option<DataType> {
    expr.get_type(inputs).ok().filter(|data_type| !data_type.is_null())
}

/// Returns the form of an expression's texts; `None` if they are plain texts, or no texts.
fn form_of(expr: &Expr, inputs: &DFSchema) -> Option<TextForm> {
    let (_, field) = expr.to_field(inputs).ok()?;
    TextForm::of_field(&field)
}

/// The type in which a value is passed; `None` if no value can be passed in it.
fn plain_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Null => None,
        DataType::Dictionary(_, values) => plain_type(values),
        other if other.is_string() => Some(&DataType::Utf8),
        other => Some(other),
    }
}
